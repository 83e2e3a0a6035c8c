package e2etest

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

func TestTheHTTPAPIAnswersAUserAsItsDocumentSays(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	user := w.Brain.Token(t, w.Tenant, w.Project, "user", "hummel")
	for _, name := range []string{"first", "second"} {
		WriteFile(t, w.AtFoot(name), 1000, 0o644, anHourAgo)
		up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": name, "dirName": dir, "remotePath": name})
		if !up.OK {
			t.Fatal(up)
		}
	}
	failed := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "missing", "dirName": dir, "remotePath": "x"})

	var feet struct {
		Feet []struct{ Name, OS string }
	}
	w.get(t, user, "/feet", "api/feet", &feet)
	if len(feet.Feet) != 1 || feet.Feet[0].Name != "laptop" {
		t.Errorf("feet: %+v", feet)
	}
	var dirs struct {
		Dirs []struct{ DirName, Type string }
	}
	w.get(t, user, "/dirs", "api/dirs", &dirs)
	if len(dirs.Dirs) != 1 || dirs.Dirs[0].DirName != dir || dirs.Dirs[0].Type != "ephemeral" {
		t.Errorf("dirs: %+v", dirs)
	}
	var transfers struct {
		Transfers []struct {
			TransferID, Direction, Foot, Path, State, ErrorCode string
			Bytes, TotalBytes                                   int64
		}
	}
	w.get(t, user, "/transfers", "api/transfers", &transfers)
	if len(transfers.Transfers) != 3 {
		t.Fatalf("transfers: %+v", transfers)
	}
	if newest := transfers.Transfers[0]; newest.TransferID != failed.TransferID || newest.State != "failed" || newest.ErrorCode != "not_found" {
		t.Errorf("the newest transfer is %+v", newest)
	}
	if second := transfers.Transfers[1]; second.Path != "second" || second.State != "complete" || second.Bytes != 1000 ||
		second.TotalBytes != 1000 || second.Direction != "upload" || second.Foot != "laptop" {
		t.Errorf("the second transfer is %+v", second)
	}
	w.get(t, user, "/transfers?limit=1", "api/transfers", &transfers)
	if len(transfers.Transfers) != 1 || transfers.Transfers[0].TransferID != failed.TransferID {
		t.Errorf("with limit=1: %+v", transfers)
	}
}

// get fetches a path below the project as a person's script would.
func (w *World) get(t *testing.T, tokenFile, path, schemaName string, into any) {
	t.Helper()
	request := w.apiRequest(t, tokenFile, w.Project, path)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(answer.Body)
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %d %s %s", path, answer.StatusCode, answer.Header.Get("Content-Type"), body)
	}
	if problem := invalid(schemaName, body); problem != "" {
		t.Errorf("%s is not what its schema says: %s\n%s", path, problem, body)
	}
	if problem := invalidAnswer(request, answer, body); problem != "" {
		t.Errorf("%s is not what the OpenAPI document says: %s\n%s", path, problem, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatal(err)
	}
}

func (w *World) apiRequest(t *testing.T, tokenFile, project, path string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(Bounded(t), "GET", w.Brain.URL+"/api/v1/projects/"+project+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tokenFile != "" {
		request.Header.Set("Authorization", "Bearer "+readToken(t, tokenFile))
	}
	return request
}

func TestTheHTTPAPIRefusesWithAStatusACodeAndAText(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	user := w.Brain.Token(t, w.Tenant, w.Project, "user", "hummel")
	cases := []struct {
		rule, token, project, path string
		status                     int
		code                       string
	}{
		{"no token", "", w.Project, "/feet", 401, "unauthorized"},
		{"an agent's token", w.AgentToken, w.Project, "/dirs", 403, "access_denied"},
		{"a Foot's token", w.FootFile, w.Project, "/transfers", 403, "access_denied"},
		{"another project", user, "another", "/feet", 404, "not_found"},
		{"an unknown path", user, w.Project, "/nonsense", 404, "not_found"},
		{"a limit of 0", user, w.Project, "/transfers?limit=0", 400, "invalid_request"},
		{"a limit above the range", user, w.Project, "/transfers?limit=1001", 400, "invalid_request"},
		{"a limit that is no number", user, w.Project, "/transfers?limit=ten", 400, "invalid_request"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			checkErrorBody(t, w.apiRequest(t, c.token, c.project, c.path), c.status, c.code)
		})
	}
}
