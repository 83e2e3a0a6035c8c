package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/gen/common"
)

// Agent is an LLM client's session at a Brain.
type Agent struct {
	session *mcp.ClientSession
}

// ConnectAgent opens a session at the Brain's /mcp.
func ConnectAgent(ctx context.Context, endpoint, token string) (*Agent, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "vancetope-conformance", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: bearer{token}}}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, err
	}
	return &Agent{session}, nil
}

// Close ends the session.
func (a *Agent) Close() { _ = a.session.Close() } // the Brain may be gone

// Tools returns the names of the tools there are.
func (a *Agent) Tools(ctx context.Context) ([]string, error) {
	var names []string
	for tool, err := range a.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

// Result is what is read of any tool's answer.
type Result struct {
	OK           bool             `json:"ok"`
	Error        *string          `json:"error"`
	ErrorCode    common.ErrorCode `json:"errorCode"`
	TransferID   string           `json:"transferId"`
	BytesWritten int64            `json:"bytesWritten"`
	Hash         *string          `json:"hash"`
	Path         string           `json:"path"`
	DirName      string           `json:"dirName"`
	State        string           `json:"state"`
	Feet         []struct {
		Name          string   `json:"name"`
		OS            string   `json:"os"`
		ClientVersion string   `json:"clientVersion"`
		Features      []string `json:"features"`
	} `json:"feet"`
	Transfers []struct {
		TransferID string `json:"transferId"`
		State      string `json:"state"`
		Bytes      int64  `json:"bytes"`
	} `json:"transfers"`

	Raw     json.RawMessage `json:"-"`
	Problem string          `json:"-"` // what is wrong with the form of the answer
}

func (r *Result) String() string { return Brief(r.Raw) }

// Call calls a tool. An error means that there was no result at all.
func (a *Agent) Call(ctx context.Context, tool string, args any) (*Result, error) {
	answer, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		return nil, err
	}
	r := &Result{Raw: raw}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("the structured content of %s: %w: %s", tool, err, Brief(raw))
	}
	r.Problem = formProblem(tool, answer, r)
	return r, nil
}

// formProblem says what is wrong with the form of a result: every one is
// structured content by its schema, beside one line of text, marked as an error
// when it failed.
func formProblem(tool string, answer *mcp.CallToolResult, r *Result) string {
	switch {
	case answer.IsError == r.OK:
		return fmt.Sprintf("isError is %v and ok is %v", answer.IsError, r.OK)
	case !r.OK && (r.Error == nil || *r.Error == "" || r.ErrorCode == ""):
		return fmt.Sprintf("a failure without error and errorCode: %s", r)
	case len(answer.Content) == 0:
		return "no line of text beside the structured content"
	}
	if problem := BreaksSchema("tools/"+tool+".output", r.Raw); problem != "" {
		return "the result breaks its schema: " + problem
	}
	return ""
}

// bearer adds a token to every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}
