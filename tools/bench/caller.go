package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// caller calls tools by the Model Context Protocol of 2026-07-28, which has no
// sessions: one POST a call. It is no client library, whose costs would be
// measured with the Brain's.
type caller struct {
	endpoint string
	token    string
	client   *http.Client
}

func newCaller(brainURL, token string) *caller {
	return &caller{endpoint: brainURL + "/mcp", token: token,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

const (
	mcpVersion = "2026-07-28"
	metaPrefix = "io.modelcontextprotocol/"
	maxAnswer  = 1 << 20
)

// receipt is what the bench reads of a tool's answer.
type receipt struct {
	OK           bool   `json:"ok"`
	Error        string `json:"error"`
	ErrorCode    string `json:"errorCode"`
	DirName      string `json:"dirName"`
	BytesWritten int64  `json:"bytesWritten"`
}

// rpcAnswer is a JSON-RPC response to tools/call.
type rpcAnswer struct {
	Result *struct {
		StructuredContent receipt `json:"structuredContent"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// call calls a tool. A tool that failed is an error.
func (c *caller) call(ctx context.Context, tool string, args map[string]any) (receipt, error) {
	answer, err := c.ask(ctx, tool, args)
	switch {
	case err != nil:
		return receipt{}, fmt.Errorf("%s: %w", tool, err)
	case answer.Error != nil:
		return receipt{}, fmt.Errorf("%s: %s", tool, answer.Error.Message)
	case answer.Result == nil:
		return receipt{}, fmt.Errorf("%s: an answer without a result", tool)
	}
	r := answer.Result.StructuredContent
	if !r.OK {
		return r, fmt.Errorf("%s failed with %s: %s", tool, r.ErrorCode, r.Error)
	}
	return r, nil
}

func (c *caller) ask(ctx context.Context, tool string, args map[string]any) (answer rpcAnswer, err error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": args, "_meta": map[string]any{
			metaPrefix + "protocolVersion":    mcpVersion,
			metaPrefix + "clientInfo":         map[string]any{"name": "vancetope-bench", "version": "1"},
			metaPrefix + "clientCapabilities": map[string]any{},
		}},
	})
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + c.token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": mcpVersion, "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		request.Header.Set(name, value)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := message(response)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(text, &answer)
}

// message is the body of a response, or the last event of it when the answer
// comes as server-sent events.
func message(response *http.Response) ([]byte, error) {
	body := io.LimitReader(response.Body, maxAnswer)
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(body)
		return nil, errors.Join(fmt.Errorf("the Brain answered %s: %s", response.Status, bytes.TrimSpace(text)), err)
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return io.ReadAll(body)
	}
	var last []byte
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			last = bytes.Clone(data)
		}
	}
	return last, lines.Err()
}
