package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/internal/safetext"
)

// say prints one line of the story.
func say(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
}

// play is the story itself: the file goes to the Brain, comes back to another
// place, and the three copies are compared.
func (s *stage) play(ctx context.Context) error {
	outgoing, incoming := "outgoing/"+s.file.name, "incoming/"+s.file.name
	var err error
	if s.digest, err = s.file.copyTo(s.atFoot(outgoing)); err != nil {
		return err
	}
	say("the user      puts a copy of %s into the Foot's folder (%d bytes)", s.file.path, s.file.size)

	say("\n1. Which machines of the user are connected?")
	if _, err := s.call(ctx, "client_list", map[string]any{}); err != nil {
		return err
	}
	say("\n2. A place for the file in the Brain's workspace")
	made, err := s.call(ctx, "workspace_create_ephemeral_dir", map[string]any{})
	if err != nil {
		return err
	}
	say("\n3. From the user's disk to the Brain's")
	if _, err = s.call(ctx, "client_file_upload", map[string]any{
		"localPath": outgoing, "dirName": made.DirName, "remotePath": s.file.name}); err != nil {
		return err
	}
	say("\n4. From the Brain's disk to another place on the user's")
	if _, err = s.call(ctx, "client_file_download", map[string]any{
		"dirName": made.DirName, "remotePath": s.file.name, "localPath": incoming}); err != nil {
		return err
	}
	say("\n5. The digests")
	return s.compare(map[string]string{
		"sent":     s.atFoot(outgoing),
		"at Brain": s.atBrain(made.DirName, s.file.name),
		"returned": s.atFoot(incoming),
	})
}

// receipt is what the demo reads of a tool's answer; the answer itself is shown.
type receipt struct {
	OK           bool   `json:"ok"`
	Error        string `json:"error"`
	ErrorCode    string `json:"errorCode"`
	DirName      string `json:"dirName"`
	BytesWritten int64  `json:"bytesWritten"`
}

// call calls a tool in the session and shows what was asked and answered.
func (s *stage) call(ctx context.Context, tool string, args map[string]any) (receipt, error) {
	asked, err := json.Marshal(args)
	if err != nil {
		return receipt{}, err
	}
	say("   %s %s", tool, safetext.Escape(string(asked)))
	start := time.Now()
	answer, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return receipt{}, fmt.Errorf("%s: %w", tool, err)
	}
	took := time.Since(start)
	raw, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		return receipt{}, err
	}
	var r receipt
	if err := json.Unmarshal(raw, &r); err != nil {
		return receipt{}, fmt.Errorf("%s answered %s: %w", tool, raw, err)
	}
	say("   → %s", safetext.Escape(string(raw)))
	if !r.OK {
		return r, fmt.Errorf("%s failed with %s: %s", tool, r.ErrorCode, safetext.Escape(r.Error))
	}
	if r.BytesWritten > 0 {
		say("   %d bytes in %v, %.0f MB/s", r.BytesWritten, took.Round(time.Millisecond), float64(r.BytesWritten)/1e6/took.Seconds())
	}
	return r, nil
}

// compare reads the copies from their disks; it trusts no receipt.
func (s *stage) compare(copies map[string]string) error {
	say("   size      %d bytes", s.file.size)
	say("   original  %s", s.digest)
	for _, name := range []string{"sent", "at Brain", "returned"} {
		digest, err := hashFile(copies[name])
		if err != nil {
			return err
		}
		say("   %-8s  %s", name, digest)
		if digest != s.digest {
			return fmt.Errorf("the digest of the file %s differs from the original's", name)
		}
	}
	say("   The SHA-256 digests are equal: the file arrived whole, both ways.")
	return nil
}
