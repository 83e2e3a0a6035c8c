package e2etest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The snippets of the page are its contract with people: they are read from it
// and run with nothing changed but the places a reader has to change.
const connectingPage = "../../docs/connecting-an-llm.md"

// snippets returns the fenced blocks of a language on the page.
func snippets(t testing.TB, language string) []string {
	t.Helper()
	page, err := os.ReadFile(connectingPage)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		found = append(found, block[1])
	}
	return found
}

// servers are the page's configurations, adapted to a Brain.
func servers(t testing.TB, b *Brain, tokenFile string) map[string]Server {
	t.Helper()
	found := map[string]Server{}
	for _, snippet := range snippets(t, "json") {
		for place, actual := range map[string]string{
			"http://127.0.0.1:9990": b.URL, "/usr/local/bin/brain": b.binaries.Brain,
			"/home/you/agent.token": tokenFile, "TOKEN\"": readToken(t, tokenFile) + `"`,
		} {
			snippet = strings.ReplaceAll(snippet, place, strings.ReplaceAll(actual, `\`, `\\`))
		}
		var config struct{ McpServers map[string]Server }
		if err := json.Unmarshal([]byte(snippet), &config); err != nil || len(config.McpServers) != 1 {
			t.Fatalf("%v: not a configuration of one server:\n%s", err, snippet)
		}
		s := config.McpServers["vancetope"]
		kind := "stdio"
		switch {
		case s.URL != "":
			kind = "http"
		case s.Env != nil:
			kind = "stdio from the environment"
		}
		if _, twice := found[kind]; twice {
			t.Errorf("the page has two snippets for %s", kind)
		}
		found[kind] = s
	}
	if len(found) != 3 {
		t.Fatalf("the page has snippets for %d ways, want 3", len(found))
	}
	return found
}

// eachClient runs a test with a client of each SDK in each generation, in each
// of the ways.
func eachClient(t *testing.T, all map[string]Server, ways []string, test func(t *testing.T, name string, c func(testing.TB) MCPClient)) {
	for _, sdk := range []string{"go", "typescript"} {
		for _, generation := range []string{"legacy", "modern"} {
			for _, way := range ways {
				name := strings.ReplaceAll(strings.Join([]string{sdk, generation, way}, "-"), " ", "-")
				t.Run(name, func(t *testing.T) {
					test(t, name, func(t testing.TB) MCPClient { return ConnectMCP(t, sdk, generation, all[way]) })
				})
			}
		}
	}
}

// Each tool that is listed is called by each client: a new one fails here until
// it has a case.
func TestTheClientsOfTheOfficialSDKsDriveEveryTool(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	hash := WriteFile(t, w.AtFoot("in.bin"), 300_000, 0o644, time.Now())
	direct := w.Agent
	eachClient(t, servers(t, w.Brain, w.AgentToken), []string{"http", "stdio"}, func(t *testing.T, name string, connect func(testing.TB) MCPClient) {
		c := connect(t)
		told := c.Tools(t)
		sameTools(t, told, (&goClient{Agent: direct}).Tools(t))
		if !strings.Contains(c.Instructions(t), "client_file_upload") {
			t.Error("the instructions do not arrive")
		}
		d := &drive{t: t, w: w, c: c, dir: name, hash: hash}
		for tool := range told {
			if toolCases[tool] == nil {
				t.Errorf("%s is listed and has no case in this test", tool)
			}
		}
		for _, tool := range toolOrder {
			if told[tool] == nil {
				t.Errorf("%s is not listed", tool)
				continue
			}
			toolCases[tool](d)
		}
		failed := c.Call(t, "client_file_upload", map[string]any{"localPath": "missing", "dirName": "nowhere", "remotePath": "x"})
		if failed.OK || failed.ErrorCode != "dir_not_found" {
			t.Errorf("an upload to nowhere: %s", failed)
		}
		if surprised := c.Call(t, "client_list", map[string]any{"surprise": true}); surprised.ErrorCode != "invalid_request" {
			t.Errorf("an unknown argument: %s", surprised)
		}
	})
}

// sameTools checks that a client was told the tools as they are.
func sameTools(t testing.TB, got, want map[string]json.RawMessage) {
	t.Helper()
	for name, raw := range want {
		var a, b any
		if json.Unmarshal(got[name], &a) != nil || json.Unmarshal(raw, &b) != nil {
			t.Errorf("%s is not listed", name)
			continue
		}
		x, _ := json.Marshal(a) // what was decoded from JSON
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Errorf("%s was told as\n%s\nwant\n%s", name, x, y)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d tools are listed, want %d", len(got), len(want))
	}
}

// drive is one client's way through the tools.
type drive struct {
	t        *testing.T
	w        *World
	c        MCPClient
	dir      string // a RootDir of its own
	hash     string // of in.bin
	transfer string // the id of its upload
}

// good calls a tool that has to succeed and reads its answer.
func (d *drive) good(tool string, args map[string]any, into any) Result {
	d.t.Helper()
	r := d.c.Call(d.t, tool, args)
	if !r.OK {
		d.t.Fatalf("%s: %s", tool, r)
	}
	if into != nil {
		if err := json.Unmarshal(r.Raw, into); err != nil {
			d.t.Fatal(err)
		}
	}
	return r
}

var toolOrder = []string{
	"client_list", "workspace_create_ephemeral_dir", "workspace_list_dirs", "client_file_upload", "workspace_list_files",
	"workspace_read_file", "workspace_write_file", "client_file_download", "transfer_status", "transfer_cancel",
	"workspace_close_dir", "workspace_close_scope",
}

var toolCases = map[string]func(*drive){
	"client_list": func(d *drive) {
		if r := d.good("client_list", map[string]any{}, nil); len(r.Feet) != 1 || r.Feet[0].Name != "laptop" {
			d.t.Errorf("client_list: %s", r)
		}
	},
	"workspace_create_ephemeral_dir": func(d *drive) {
		r := d.good("workspace_create_ephemeral_dir", map[string]any{"dirName": d.dir, "label": "a test", "metadata": []string{"made by " + d.dir}}, nil)
		if r.DirName != d.dir {
			d.t.Errorf("created %s", r)
		}
	},
	"workspace_list_dirs": func(d *drive) {
		var told struct {
			Dirs []struct{ DirName, Label, Creator string }
		}
		d.good("workspace_list_dirs", map[string]any{}, &told)
		for _, dir := range told.Dirs {
			if dir.DirName == d.dir && dir.Label == "a test" {
				if strings.HasSuffix(d.dir, "stdio") != strings.Contains(dir.Creator, ":bridge-") {
					d.t.Errorf("the creator of %s is %s", d.dir, dir.Creator)
				}
				return
			}
		}
		d.t.Errorf("%s is not listed: %+v", d.dir, told)
	},
	"client_file_upload": func(d *drive) {
		r := d.good("client_file_upload", map[string]any{"localPath": "in.bin", "dirName": d.dir, "remotePath": "sub/in.bin"}, nil)
		if *r.Hash != d.hash || HashFile(d.t, d.w.AtBrain(d.dir, "sub/in.bin")) != d.hash {
			d.t.Errorf("the upload damaged the file: %s", r)
		}
		d.transfer = r.TransferID
	},
	"workspace_list_files": func(d *drive) {
		var told struct {
			Entries []struct {
				Path string
				Size int64
			}
		}
		r := d.good("workspace_list_files", map[string]any{"dirName": d.dir, "recursive": true}, &told)
		if !strings.Contains(string(r.Raw), `"sub/in.bin"`) {
			d.t.Errorf("workspace_list_files: %s", r)
		}
	},
	"workspace_read_file": func(d *drive) { // as much as fits into one answer
		var told struct{ Content string }
		d.good("workspace_read_file", map[string]any{"dirName": d.dir, "path": "sub/in.bin", "encoding": "base64", "length": 256 << 10}, &told)
		content, err := os.ReadFile(d.w.AtFoot("in.bin"))
		if err != nil {
			d.t.Fatal(err)
		}
		if told.Content != base64.StdEncoding.EncodeToString(content[:256<<10]) {
			d.t.Errorf("%d characters were read, and not the file's", len(told.Content))
		}
	},
	"workspace_write_file": func(d *drive) { // as much as fits into one call, in characters that grow
		text := strings.Repeat("ä\n", 350_000)
		r := d.good("workspace_write_file", map[string]any{"dirName": d.dir, "path": "big.txt", "content": text}, nil)
		if r.BytesWritten != int64(len(text)) {
			d.t.Errorf("workspace_write_file: %s", r)
		}
		d.good("workspace_write_file", map[string]any{"path": "note.txt", "content": "into the temp RootDir"}, nil)
	},
	"client_file_download": func(d *drive) {
		r := d.good("client_file_download", map[string]any{"localPath": d.dir + "/out.bin", "dirName": d.dir, "remotePath": "sub/in.bin"}, nil)
		if *r.Hash != d.hash || HashFile(d.t, d.w.AtFoot(d.dir+"/out.bin")) != d.hash {
			d.t.Errorf("the download damaged the file: %s", r)
		}
	},
	"transfer_status": func(d *drive) {
		var told struct{ Transfers []struct{ State string } }
		d.good("transfer_status", map[string]any{"transferId": d.transfer}, &told)
		if len(told.Transfers) != 1 || told.Transfers[0].State != "complete" {
			d.t.Errorf("transfer_status: %+v", told)
		}
	},
	"transfer_cancel": func(d *drive) {
		var told struct{ State string }
		d.good("transfer_cancel", map[string]any{"transferId": d.transfer}, &told)
		if told.State != "complete" {
			d.t.Errorf("an ended transfer was cancelled: %+v", told)
		}
	},
	"workspace_close_dir": func(d *drive) {
		d.good("workspace_close_dir", map[string]any{"dirName": d.dir}, nil)
		if _, err := os.Stat(d.w.AtBrain(d.dir, "")); !os.IsNotExist(err) {
			d.t.Errorf("the closed dir is still there: %v", err)
		}
	},
	"workspace_close_scope": func(d *drive) {
		d.good("workspace_create_ephemeral_dir", map[string]any{"dirName": d.dir + "-2", "scope": "scope-" + d.dir}, nil)
		var told struct{ Closed []string }
		d.good("workspace_close_scope", map[string]any{"scope": "scope-" + d.dir}, &told)
		if !slices.Equal(told.Closed, []string{d.dir + "-2"}) {
			d.t.Errorf("workspace_close_scope closed %v", told.Closed)
		}
	},
}

func TestCancellingAndProgressPassThroughEveryClient(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	WriteFile(t, w.AtFoot("slow.bin"), 96<<20, 0o644, time.Now())
	dir := w.NewDir(t)
	eachClient(t, servers(t, w.Brain, w.AgentToken), []string{"http", "stdio"}, func(t *testing.T, name string, connect func(testing.TB) MCPClient) {
		c := connect(t)
		c.Cancelled(t, "client_file_upload", map[string]any{"localPath": "slow.bin", "dirName": dir, "remotePath": name})
		Eventually(t, func() string {
			var told struct {
				Transfers []struct{ Path, State string }
			}
			r := c.Call(t, "transfer_status", map[string]any{})
			if err := json.Unmarshal(r.Raw, &told); err != nil {
				return err.Error()
			}
			for _, s := range told.Transfers {
				if strings.HasSuffix(s.Path, name) && s.State == "cancelled" {
					return ""
				}
			}
			return "the cancelled call's transfer goes on: " + r.String()
		})
	})
}

func TestTwoHundredTransfersGoThroughBrainMCP(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	const files, rounds = 4, 25 // of an upload and a download each
	c := ConnectMCP(t, "go", "modern", servers(t, w.Brain, w.AgentToken)["stdio"])
	made := c.Call(t, "workspace_create_ephemeral_dir", map[string]any{})
	var all sync.WaitGroup
	for f := range files {
		all.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("f%d-%d", f, i)
				hash := WriteFile(t, w.AtFoot(name), int64(f*70_000+i), 0o644, time.Now())
				up := c.Call(t, "client_file_upload", map[string]any{"localPath": name, "dirName": made.DirName, "remotePath": name})
				down := c.Call(t, "client_file_download", map[string]any{"localPath": "back/" + name, "dirName": made.DirName, "remotePath": name})
				if !up.OK || !down.OK {
					t.Errorf("%s: %s %s", name, up, down)
				} else if HashFile(t, w.AtFoot("back/"+name)) != hash || *up.Hash != hash {
					t.Errorf("%s came back as another file", name)
				}
			}
		})
	}
	all.Wait()
	if err := c.Close(); err != nil {
		t.Errorf("the bridge ended with %v", err)
	}
	if _, err := os.Stat(w.AtBrain(made.DirName, "")); !os.IsNotExist(err) {
		t.Errorf("the RootDir outlives its bridge: %v", err)
	}
}

func TestARestartOfTheBrainInTheMiddleIsSurvivedOrTold(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	hash := WriteFile(t, w.AtFoot("in.bin"), 500_000, 0o644, time.Now())
	dir := w.NewDir(t)
	type driver struct {
		name string
		c    MCPClient
	}
	var drivers []driver
	all := servers(t, w.Brain, w.AgentToken)
	for _, sdk := range []string{"go", "typescript"} {
		for generation := range Generations {
			for _, way := range []string{"http", "stdio"} {
				drivers = append(drivers, driver{sdk + "-" + generation + "-" + way, ConnectMCP(t, sdk, generation, all[way])})
			}
		}
	}
	again := make(chan struct{})
	begun := make(chan struct{}, 100*len(drivers))
	var running sync.WaitGroup
	for _, d := range drivers {
		// Before, while and after: each call is answered, or it is said why not.
		running.Go(func() {
			for i := 0; ; i++ {
				args := map[string]any{"localPath": "in.bin", "dirName": dir, "remotePath": fmt.Sprintf("%s-%d", d.name, i)}
				r, err := d.c.Try("client_file_upload", args)
				select {
				case begun <- struct{}{}:
				default:
				}
				if err == nil && !r.OK && !slices.Contains([]string{"cancelled", "connection_lost", "draining", "no_foot"}, r.ErrorCode) {
					t.Errorf("%s: %s", d.name, r)
				}
				if err != nil && strings.HasSuffix(d.name, "stdio") {
					t.Errorf("%s: the bridge does not tell of the restart by an answer: %v", d.name, err)
				}
				select {
				case <-again:
					return
				default:
				}
				if err != nil {
					<-again
					return
				}
			}
		})
	}
	for range 3 * len(drivers) {
		<-begun
	}
	w.Brain.Restart(t)
	w.Foot.AwaitEvent(t, "connected")
	close(again)
	running.Wait()
	for _, d := range drivers {
		c := d.c
		if strings.HasSuffix(d.name, "legacy-http") {
			// Its session is gone, which it has to hear; a new one works.
			if _, err := c.Try("client_list", map[string]any{}); err == nil && strings.HasPrefix(d.name, "typescript") {
				t.Errorf("%s: a session outlived the Brain", d.name)
			}
			c = ConnectMCP(t, strings.TrimSuffix(d.name, "-legacy-http"), "legacy", all["http"])
		}
		r := c.Call(t, "client_file_upload", map[string]any{"localPath": "in.bin", "dirName": dir, "remotePath": "after-" + d.name})
		if !r.OK || *r.Hash != hash {
			t.Errorf("%s after the restart: %s", d.name, r)
		}
	}
}

func TestATokenThatMayOnlyReadIsToldAndGivenOnlyThat(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	reader := w.Brain.Token(t, w.Tenant, w.Project, "agent", "reader", "--access", "read")
	c := ConnectMCP(t, "go", "modern", servers(t, w.Brain, reader)["stdio"])
	told := c.Tools(t)
	for _, tool := range []string{"client_file_upload", "workspace_create_ephemeral_dir", "workspace_close_dir", "workspace_close_scope", "workspace_write_file"} {
		if told[tool] != nil {
			t.Errorf("%s is listed", tool)
		}
	}
	if told["workspace_read_file"] == nil || told["client_file_download"] == nil {
		t.Errorf("%d tools are listed", len(told))
	}
	if r := c.Call(t, "workspace_create_ephemeral_dir", map[string]any{}); r.ErrorCode != "access_denied" {
		t.Errorf("a call of what is not listed: %s", r)
	}
	if err := c.Close(); err != nil {
		t.Errorf("the bridge ended with %v", err)
	}
}
