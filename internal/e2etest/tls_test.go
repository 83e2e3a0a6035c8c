package e2etest

import (
	"strings"
	"testing"

	"github.com/vancetope/transfer/internal/launch"
	"github.com/vancetope/transfer/internal/tlstest"
)

func TestEverythingWorksOverTLS(t *testing.T) {
	t.Parallel()
	cert, key := tlstest.SelfSigned(t, t.TempDir(), "brain")
	brain := StartBrain(t, BrainOptions{Args: []string{"--tls-cert", cert, "--tls-key", key}})
	if !strings.HasPrefix(brain.URL, "https://") {
		t.Fatalf("the ready line says %s", brain.URL)
	}
	dir := t.TempDir()
	foot := StartFoot(t, FootOptions{Dir: dir, URL: brain.URL, Tenant: "acme", ProjectID: "p",
		TokenFile: brain.Token(t, "acme", "p", "foot", "laptop"), Args: []string{"--ca-file", cert}})
	foot.AwaitEvent(t, "connected")
	agent := brain.Token(t, "acme", "p", "agent", "helper")
	hash := WriteFile(t, foot.Project+"/a", 300_000, 0o600, anHourAgo)
	call := func(tool, arguments string) {
		t.Helper()
		stdout, stderr, code := brain.Run(t, "call", tool, arguments, "--url", brain.URL, "--token-file", agent, "--ca-file", cert)
		if code != 0 {
			t.Fatalf("%s: %d %s %s", tool, code, stdout, stderr)
		}
	}
	call("workspace_create_ephemeral_dir", `{"dirName":"d"}`)
	call("client_file_upload", `{"localPath":"a","dirName":"d","remotePath":"a"}`)
	call("client_file_download", `{"localPath":"b","dirName":"d","remotePath":"a"}`)
	if HashFile(t, foot.Project+"/b") != hash {
		t.Error("the file came back changed")
	}
}

func TestAFootDoesNotTrustAnyAuthority(t *testing.T) {
	t.Parallel()
	cert, key := tlstest.SelfSigned(t, t.TempDir(), "brain")
	stranger, _ := tlstest.SelfSigned(t, t.TempDir(), "stranger")
	brain := StartBrain(t, BrainOptions{Args: []string{"--tls-cert", cert, "--tls-key", key}})
	token := brain.Token(t, "acme", "p", "foot", "laptop")
	for name, args := range map[string][]string{
		"the system's":      {"--once"},
		"another authority": {"--once", "--ca-file", stranger},
	} {
		t.Run(name, func(t *testing.T) {
			foot := StartFoot(t, FootOptions{URL: brain.URL, Tenant: "acme", ProjectID: "p", TokenFile: token, Args: args})
			if code := foot.Wait(t); code != 4 || !strings.Contains(foot.Log(), "--ca-file") {
				t.Errorf("exit code %d\n%s", code, foot.Log())
			}
		})
	}
}

func TestClearTextOffLoopbackIsRefusedUnlessItIsAllowed(t *testing.T) {
	t.Parallel()
	brain := StartBrain(t, BrainOptions{})
	token := brain.Token(t, "acme", "p", "foot", "laptop")
	// An address of the documentation's: nothing is ever sent there.
	foot := StartFoot(t, FootOptions{URL: "ws://192.0.2.1:9", Tenant: "acme", ProjectID: "p", TokenFile: token, Args: []string{"--once"}})
	if code := foot.Wait(t); code != 2 || !strings.Contains(foot.Log(), "--allow-insecure") {
		t.Errorf("exit code %d\n%s", code, foot.Log())
	}
	other := t.TempDir()
	if _, stderr, code := brain.Run(t, "serve", "--listen", "0.0.0.0:0", "--data", other); code != 2 || !strings.Contains(stderr, "--allow-insecure") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	allowed := startChild(t, brain.binaries.Brain, brain.home, "serve", "--listen", "0.0.0.0:0", "--data", other, "--allow-insecure")
	if _, _, err := allowed.Await(Bounded(t), 0, func(e launch.Event) bool { return e.Name == "ready" }); err != nil {
		t.Errorf("%v\n%s", err, allowed.Log())
	}
}
