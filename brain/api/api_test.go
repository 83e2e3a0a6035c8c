package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/api"
	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

var research = workspace.Project{Tenant: "acme", ProjectID: "research"}

// brain is what the API asks: it knows things of one project only.
type brain struct {
	feet      []common.ConnectedFoot
	transfers []common.TransferStatus
	dirs      []common.RootDir
	cancelled []common.TransferID
	err       error
}

func (b *brain) Feet(p workspace.Project) []common.ConnectedFoot {
	if p != research {
		return nil
	}
	return b.feet
}

func (b *brain) Transfers(p workspace.Project) []common.TransferStatus {
	if p != research {
		return nil
	}
	return b.transfers
}

func (b *brain) Cancel(_ context.Context, p workspace.Project, id common.TransferID, owner string) (common.TransferState, error) {
	if p != research || len(b.transfers) == 0 || b.transfers[0].TransferID != id {
		return "", fault.New(common.ErrorCodeNotFound)
	}
	if owner != "" {
		return "", fault.Newf(common.ErrorCodeAccessDenied, "asked for by %s", owner)
	}
	b.cancelled = append(b.cancelled, id)
	return common.TransferStateCancelled, nil
}

func (b *brain) Tell(_ context.Context, p workspace.Project) ([]common.RootDir, error) {
	if p != research {
		return nil, b.err
	}
	return b.dirs, b.err
}

type world struct {
	brain
	handler http.Handler
	tokens  *auth.Tokens
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store, err := state.OpenSQLite(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{tokens: auth.NewTokens(store, nil)}
	w.handler = api.New(api.Options{Tokens: w.tokens, Feet: &w.brain, Dirs: &w.brain})
	return w
}

func (w *world) token(t *testing.T, role auth.Role, tenant, project string) string {
	t.Helper()
	token, err := w.tokens.Create(t.Context(), auth.Grant{Tenant: tenant, Project: project, Role: role, Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// reader is a user who may not edit, and so may cancel only what is his own.
func (w *world) reader(t *testing.T) string {
	t.Helper()
	token, err := w.tokens.Create(t.Context(), auth.Grant{Tenant: research.Tenant, Project: research.ProjectID,
		Role: auth.RoleUser, Name: "n", Access: common.AccessRead})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (w *world) user(t *testing.T) string {
	t.Helper()
	return w.token(t, auth.RoleUser, research.Tenant, research.ProjectID)
}

// ask sends a request and returns status and body.
func (w *world) ask(t *testing.T, method, path, token string) (int, string, http.Header) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	rw := httptest.NewRecorder()
	w.handler.ServeHTTP(rw, r)
	if got := rw.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: content type %q", path, got)
	}
	return rw.Code, rw.Body.String(), rw.Header()
}

const base = "/api/v1/projects/research"

func TestAUserSeesFeetDirsAndTransfersOfTheProject(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	w.feet = []common.ConnectedFoot{{Name: "laptop", Os: common.OsLinux, ClientVersion: "1", Access: common.AccessEdit, Grants: []common.Grant{}, Features: []string{}, Since: at}}
	w.dirs = []common.RootDir{{DirName: "inbox", Type: common.RootDirTypeEphemeral, Creator: "token:x", CreatedAt: at, ExpiresAt: &at, DeleteOnCreatorClose: true, Bytes: 7}}
	w.transfers = []common.TransferStatus{{TransferID: id, Direction: common.DirectionUpload, Foot: "laptop", Path: "in/a", State: common.TransferStateComplete, Bytes: 3, TotalBytes: 3, StartedAt: at}}
	user := w.user(t)
	for path, want := range map[string]string{
		"/feet":      `{"feet":[{"name":"laptop","os":"linux","clientVersion":"1","access":"edit","grants":[],"features":[],"since":"2026-05-01T12:00:00Z"}]}`,
		"/dirs":      `{"dirs":[{"dirName":"inbox","type":"ephemeral","creator":"token:x","createdAt":"2026-05-01T12:00:00Z","expiresAt":"2026-05-01T12:00:00Z","deleteOnCreatorClose":true,"bytes":7}]}`,
		"/transfers": `{"transfers":[{"transferId":"01890a5d-ac96-774b-bcce-b302099a8057","direction":"upload","foot":"laptop","path":"in/a","state":"complete","bytes":3,"totalBytes":3,"bytesPerSecond":0,"startedAt":"2026-05-01T12:00:00Z","error":null}]}`,
	} {
		status, body, _ := w.ask(t, http.MethodGet, base+path, user)
		if status != http.StatusOK || strings.TrimSpace(body) != want {
			t.Errorf("%s: %d\n%s, want\n%s", path, status, body, want)
		}
	}
}

func TestAUserCancelsATransferOfTheProject(t *testing.T) {
	w := newWorld(t)
	id, unknown := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), uuid.New()
	w.transfers = []common.TransferStatus{{TransferID: id}}
	user := w.user(t)
	for name, c := range map[string]struct {
		path, token string
		status      int
		body        string
	}{
		"the transfer":     {base + "/transfers/" + id.String(), user, 200, `{"transferId":"01890a5d-ac96-774b-bcce-b302099a8057","state":"cancelled"}`},
		"an unknown one":   {base + "/transfers/" + unknown.String(), user, 404, `"errorCode":"not_found"`},
		"what is no id":    {base + "/transfers/x", user, 400, `"errorCode":"invalid_request"`},
		"another project":  {"/api/v1/projects/other/transfers/" + id.String(), user, 404, `"errorCode":"not_found"`},
		"a token to read":  {base + "/transfers/" + id.String(), w.reader(t), 403, `"errorCode":"access_denied"`},
		"no token":         {base + "/transfers/" + id.String(), "", 401, `"errorCode":"unauthorized"`},
		"an agent's token": {base + "/transfers/" + id.String(), w.token(t, auth.RoleAgent, "acme", "research"), 403, `"errorCode":"access_denied"`},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(w.cancelled)
			status, body, _ := w.ask(t, http.MethodDelete, c.path, c.token)
			if status != c.status || !strings.Contains(body, c.body) {
				t.Errorf("%d %s, want %d %s", status, body, c.status, c.body)
			}
			if (len(w.cancelled) > before) != (c.status == 200) {
				t.Errorf("cancelled %v", w.cancelled)
			}
		})
	}
}

func TestNothingIsAnEmptyList(t *testing.T) {
	w := newWorld(t)
	user := w.user(t)
	for _, list := range []string{"feet", "dirs", "transfers"} {
		status, body, _ := w.ask(t, http.MethodGet, base+"/"+list, user)
		if want := fmt.Sprintf(`{"%s":[]}`, list); status != http.StatusOK || strings.TrimSpace(body) != want {
			t.Errorf("%d %s, want %s", status, body, want)
		}
	}
}

func TestALimitKeepsTheLatestTransfers(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.transfers = append(w.transfers, common.TransferStatus{TransferID: uuid.New(), Direction: common.DirectionDownload, Foot: "f", Path: fmt.Sprint("d/", i), State: common.TransferStateStreaming, StartedAt: time.Now().UTC()})
	}
	user := w.user(t)
	for limit, want := range map[string]int{"": 3, "?limit=1": 1, "?limit=2": 2, "?limit=3": 3, "?limit=1000": 3} {
		var body struct{ Transfers []struct{ Path string } }
		status, text, _ := w.ask(t, http.MethodGet, base+"/transfers"+limit, user)
		if err := json.Unmarshal([]byte(text), &body); err != nil || status != http.StatusOK || len(body.Transfers) != want || body.Transfers[0].Path != "d/0" {
			t.Errorf("%q: %d %s", limit, status, text)
		}
	}
}

func TestARequestIsRefusedWithItsCode(t *testing.T) {
	w := newWorld(t)
	user := w.user(t)
	agent := w.token(t, auth.RoleAgent, "acme", "research")
	foot := w.token(t, auth.RoleFoot, "acme", "research")
	namesake := w.token(t, auth.RoleUser, "acme", "other")
	const get = http.MethodGet
	for name, c := range map[string]struct {
		method, path, token string
		status              int
		code                common.ErrorCode
	}{
		"no token":                         {get, base + "/feet", "", 401, common.ErrorCodeUnauthorized},
		"unknown token":                    {get, base + "/dirs", user + "x", 401, common.ErrorCodeUnauthorized},
		"an agent's token":                 {get, base + "/transfers", agent, 403, common.ErrorCodeAccessDenied},
		"a Foot's token":                   {get, base + "/feet", foot, 403, common.ErrorCodeAccessDenied},
		"another project":                  {get, "/api/v1/projects/other/feet", user, 404, common.ErrorCodeNotFound},
		"a token of another project":       {get, base + "/feet", namesake, 404, common.ErrorCodeNotFound},
		"no token goes before the project": {get, "/api/v1/projects/other/feet", "", 401, common.ErrorCodeUnauthorized},
		"no token goes before the limit":   {get, base + "/transfers?limit=x", "", 401, common.ErrorCodeUnauthorized},
		"the role goes before the limit":   {get, base + "/transfers?limit=x", agent, 403, common.ErrorCodeAccessDenied},
		"the project before the limit":     {get, "/api/v1/projects/other/transfers?limit=x", user, 404, common.ErrorCodeNotFound},
		"limit is a word":                  {get, base + "/transfers?limit=x", user, 400, common.ErrorCodeInvalidRequest},
		"limit is zero":                    {get, base + "/transfers?limit=0", user, 400, common.ErrorCodeInvalidRequest},
		"limit is negative":                {get, base + "/transfers?limit=-1", user, 400, common.ErrorCodeInvalidRequest},
		"limit is above the largest":       {get, base + "/transfers?limit=1001", user, 400, common.ErrorCodeInvalidRequest},
		"limit has a fraction":             {get, base + "/transfers?limit=1.5", user, 400, common.ErrorCodeInvalidRequest},
		"limit is empty":                   {get, base + "/transfers?limit=", user, 400, common.ErrorCodeInvalidRequest},
		"limit is huge":                    {get, base + "/transfers?limit=99999999999999999999", user, 400, common.ErrorCodeInvalidRequest},
		"an unknown list":                  {get, base + "/secrets", user, 404, common.ErrorCodeNotFound},
		"an unknown path, no token":        {get, "/api/v2/x", "", 404, common.ErrorCodeNotFound},
		"another method":                   {http.MethodPost, base + "/feet", user, 405, common.ErrorCodeInvalidRequest},
		"another method of the login":      {get, "/api/v1/login", "", 405, common.ErrorCodeInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			status, text, header := w.ask(t, c.method, c.path, c.token)
			var body struct{ Error, ErrorCode string }
			if err := json.Unmarshal([]byte(text), &body); err != nil || body.Error == "" {
				t.Fatalf("%d %q, %v", status, text, err)
			}
			if status != c.status || body.ErrorCode != string(c.code) {
				t.Errorf("%d %s, want %d %s", status, text, c.status, c.code)
			}
			if (header.Get("Allow") != "") != (status == 405) {
				t.Errorf("Allow is %q", header.Get("Allow"))
			}
			if (header.Get("WWW-Authenticate") == "Bearer") != (status == 401) {
				t.Errorf("challenge %q", header.Get("WWW-Authenticate"))
			}
		})
	}
}

func TestEqualProjectNamesOfTwoTenantsDoNotMix(t *testing.T) {
	w := newWorld(t)
	w.feet = []common.ConnectedFoot{{Name: "secret", Os: common.OsLinux, ClientVersion: "1", Access: common.AccessEdit, Grants: []common.Grant{}, Features: []string{}, Since: time.Now().UTC()}}
	status, body, _ := w.ask(t, http.MethodGet, base+"/feet", w.token(t, auth.RoleUser, "globex", "research"))
	if status != http.StatusOK || strings.TrimSpace(body) != `{"feet":[]}` {
		t.Errorf("%d %s", status, body)
	}
}

func TestAnInnerErrorIsNotTold(t *testing.T) {
	w := newWorld(t)
	user := w.user(t)
	w.err = errors.New("disk /dev/sda1 is on fire")
	status, body, _ := w.ask(t, http.MethodGet, base+"/dirs", user)
	if status != http.StatusInternalServerError || strings.Contains(body, "sda1") || !strings.Contains(body, `"errorCode":"internal"`) {
		t.Errorf("%d %s", status, body)
	}
	w.err = fault.New(common.ErrorCodeProjectSuspended)
	if _, body, _ := w.ask(t, http.MethodGet, base+"/dirs", user); !strings.Contains(body, `"errorCode":"project_suspended"`) {
		t.Errorf("a fault lost its code: %s", body)
	}
}
