package e2etest

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Result is what a tool call answered, whichever way it was called. Its fields
// are all that the tools in use can say; Raw is the answer itself.
type Result struct {
	OK           bool    `json:"ok"`
	Error        *string `json:"error"`
	ErrorCode    string  `json:"errorCode"`
	TransferID   string  `json:"transferId"`
	BytesWritten int64   `json:"bytesWritten"`
	Hash         *string `json:"hash"`
	Path         string  `json:"path"`
	DirName      string  `json:"dirName"`
	Feet         []struct {
		Name          string   `json:"name"`
		OS            string   `json:"os"`
		ClientVersion string   `json:"clientVersion"`
		Access        string   `json:"access"`
		Grants        []Grant  `json:"grants"`
		Features      []string `json:"features"`
		Since         string   `json:"since"`
	} `json:"feet"`

	Raw json.RawMessage `json:"-"`
}

// Grant is a granted folder in client_list.
type Grant struct{ Name, Access string }

func (r Result) String() string { return string(r.Raw) }

// Caller is a way to call a Brain's tools.
type Caller interface {
	Call(t testing.TB, tool string, args any) Result
}

// Agent is an LLM client's session: the official MCP client over HTTP.
type Agent struct {
	*mcp.ClientSession
}

// ConnectAgent opens a session at a Brain's /mcp. protocol picks the revision
// of MCP, "" the newest of the SDK.
func ConnectAgent(t testing.TB, url, tokenFile, protocol string) *Agent {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2etest", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{
		Endpoint:   url + "/mcp",
		HTTPClient: &http.Client{Transport: bearer{readToken(t, tokenFile)}},
	}
	session, err := client.Connect(Bounded(t), transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Logf("closing the MCP session: %v", err) // the Brain may be gone already
		}
	})
	return &Agent{session}
}

// Call calls a tool, checks that the answer keeps the promises made for every
// tool, and returns it.
func (a *Agent) Call(t testing.TB, tool string, args any) Result {
	t.Helper()
	answer, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	raw, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	result := readResult(t, tool, raw)
	if answer.IsError == result.OK {
		t.Errorf("%s: isError is %v and ok is %v", tool, answer.IsError, result.OK)
	}
	if text := contentText(answer); text == "" || strings.Contains(text, "\n") {
		t.Errorf("%s: the text beside the result is %q, want one line", tool, text)
	}
	return result
}

func contentText(answer *mcp.CallToolResult) string {
	var texts []string
	for _, content := range answer.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Command is `brain call`.
type Command struct {
	Brain     *Brain
	TokenFile string
}

// Call runs the command and checks its exit code and streams.
func (c Command) Call(t testing.TB, tool string, args any) Result {
	t.Helper()
	input, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := c.Brain.Run(t, "call", tool, string(input), "--url", c.Brain.URL, "--token-file", c.TokenFile)
	line, rest, ended := strings.Cut(stdout, "\n")
	if !ended || rest != "" {
		t.Fatalf("brain call %s: exit code %d, stdout %q is not one line, stderr:\n%s", tool, code, stdout, stderr)
	}
	result := readResult(t, tool, []byte(line))
	if (code == 0) != result.OK || code > 1 {
		t.Errorf("brain call %s: exit code %d with ok %v", tool, code, result.OK)
	}
	return result
}

func readResult(t testing.TB, tool string, raw []byte) Result {
	t.Helper()
	var result Result
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatalf("%s answered %q: %v", tool, raw, err)
	}
	result.Raw = raw
	if problem := invalidOutput(tool, raw); problem != "" {
		t.Errorf("the answer of %s is not what its schema says: %s\n%s", tool, problem, raw)
	}
	if !result.OK && (result.Error == nil || *result.Error == "" || result.ErrorCode == "") {
		t.Errorf("%s failed without an error text and a code: %s", tool, raw)
	}
	return result
}

// bearer adds a token to every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func readToken(t testing.TB, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}
