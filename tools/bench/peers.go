package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vancetope/transfer/internal/launch"
)

// lane is one folder that peers send from and one that they send to.
type lane struct {
	stage        *stage
	source, dest string
	digest       string
}

// newLane makes the file that the peers of a group send.
func (s *stage) newLane(folder string, size int64) (*lane, error) {
	l := &lane{stage: s, source: filepath.Join(folder, "peers", "source"), dest: filepath.Join(folder, "peers", "received")}
	if err := os.MkdirAll(l.dest, 0o700); err != nil {
		return nil, err
	}
	var err error
	l.digest, err = source(l.source, size)
	return l, err
}

// command is the contender that runs a program once a round. The daemon's pid,
// or 0, tells whose processor time is the server's.
func (l *lane) command(name string, daemon int, arguments func(to string) []string) contender {
	return contender{name: name, run: func(ctx context.Context, round int) (sample, error) {
		to := fmt.Sprintf("%s-%d", strings.Fields(name)[0], round)
		got, err := l.stage.timeCommand(ctx, daemon, arguments(to))
		if err != nil {
			return got, err
		}
		return got, arrived(filepath.Join(l.dest, to), l.digest)
	}}
}

// timeCommand runs a program to its end.
func (s *stage) timeCommand(ctx context.Context, daemon int, arguments []string) (got sample, err error) {
	before := 0.0
	if daemon != 0 {
		if before, err = cpuSeconds(daemon); err != nil {
			return got, err
		}
	}
	cmd := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	cmd.Env, cmd.Stderr = s.env, s
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return got, fmt.Errorf("%s: %w", arguments[0], err)
	}
	got.Seconds = time.Since(start).Seconds()
	got.ClientCPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if daemon != 0 {
		after, err := cpuSeconds(daemon)
		if err != nil {
			return got, err
		}
		got.ServerCPU = after - before
	}
	return got, nil
}

// copying is the bare copy: what the machine does with no network between.
func (l *lane) copying() contender {
	return l.command("cp", 0, func(to string) []string { return []string{"cp", l.source, filepath.Join(l.dest, to)} })
}

// http starts the baseline's server and returns H, and curl to the same server
// with no digest when there is one.
func (l *lane) http(ctx context.Context) ([]contender, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server, err := l.stage.launch(self, "http-server", l.dest)
	if err != nil {
		return nil, err
	}
	var ready struct {
		URL string `json:"url"`
	}
	if err := l.stage.await(ctx, server, "ready", &ready); err != nil {
		return nil, err
	}
	contenders := []contender{{name: baselineH, run: func(ctx context.Context, round int) (sample, error) {
		to := fmt.Sprintf("%s-%d", baselineH, round)
		got, err := l.baseline(ctx, self, server, ready.URL+"/"+to)
		if err != nil {
			return got, err
		}
		return got, arrived(filepath.Join(l.dest, to), l.digest)
	}}}
	if curl, ok := l.stage.find("curl"); ok {
		contenders = append(contenders, l.command("curl (no digest)", server.PID(), func(to string) []string {
			return []string{curl, "--silent", "--fail", "--output", os.DevNull, "--upload-file", l.source, ready.URL + "/" + to + "?plain"}
		}))
	}
	return contenders, nil
}

// baseline runs H's client; the time is its own, without its start.
func (l *lane) baseline(ctx context.Context, self string, server *launch.Process, url string) (got sample, err error) {
	before, err := cpuSeconds(server.PID())
	if err != nil {
		return got, err
	}
	client, err := launch.Start(launch.Command{Path: self, Args: []string{"http-client", l.source, url}, Env: l.stage.env, Stderr: l.stage})
	if err != nil {
		return got, err
	}
	defer client.Kill()
	event, err := client.AwaitNamed(ctx, "done")
	if err != nil {
		return got, err
	}
	var done clientTime
	if err := event.Decode(&done); err != nil {
		return got, err
	}
	if code := client.ExitCode(); code != 0 {
		return got, fmt.Errorf("the client ended with exit code %d", code)
	}
	after, err := cpuSeconds(server.PID())
	return sample{Seconds: done.Seconds, ClientCPU: client.CPU().Seconds(), ServerCPU: after - before}, err
}

// find looks for a program of the machine; a missing one is told in the report.
func (s *stage) find(program string) (string, bool) {
	file, err := exec.LookPath(program)
	if err != nil {
		file, err = exec.LookPath(filepath.Join("/usr/sbin", program)) // servers are often not on a user's path
	}
	if err != nil {
		s.missing = append(s.missing, program+": not installed")
	}
	return file, err == nil
}

// freePort is a port that nobody had a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// daemon starts a server that takes a port number and waits until it listens.
// When it does not come up, it is missing from the comparison; that is no error.
func (s *stage) daemon(ctx context.Context, name string, port int, program string, arguments ...string) (*launch.Process, bool) {
	var log bytes.Buffer
	p, err := launch.Start(launch.Command{Path: program, Args: arguments, Env: s.env, Stderr: &log})
	if err == nil {
		err = s.listens(ctx, p, port)
	}
	if err == nil {
		s.atEnd(func() error { p.Stop(stopPatience); return nil }) // each has its own exit codes
		return p, true
	}
	if p != nil {
		p.Kill()
	}
	s.missing = append(s.missing, fmt.Sprintf("%s: its server did not start: %v: %s", name, err, strings.Join(strings.Fields(log.String()), " ")))
	return nil, false
}

// listens polls until a connection is accepted.
func (s *stage) listens(ctx context.Context, p *launch.Process, port int) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-p.Done():
			return fmt.Errorf("exit code %d", p.ExitCode())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// rsyncDaemon starts one whose module "data" is the lane's destination, and
// returns the URL of that.
func (l *lane) rsyncDaemon(ctx context.Context) (program, url string, p *launch.Process, ok bool, err error) {
	program, ok = l.stage.find("rsync")
	if !ok {
		return "", "", nil, false, nil
	}
	port, err := freePort()
	if err != nil {
		return "", "", nil, false, err
	}
	owner := ""
	if os.Getuid() == 0 { // a daemon of root's would become nobody
		owner = "uid = root\ngid = root\n"
	}
	config := filepath.Join(l.stage.memory, "rsyncd.conf")
	text := fmt.Sprintf("use chroot = no\n%s[data]\npath = %s\nread only = no\n", owner, l.dest)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return "", "", nil, false, err
	}
	p, ok = l.stage.daemon(ctx, "rsync", port, program, "--daemon", "--no-detach", "--address=127.0.0.1",
		"--port="+strconv.Itoa(port), "--config="+config)
	return program, fmt.Sprintf("rsync://127.0.0.1:%d/data/", port), p, ok, nil
}

// rsync is the contender for one whole file.
func (l *lane) rsync(ctx context.Context) ([]contender, error) {
	program, url, p, ok, err := l.rsyncDaemon(ctx)
	if !ok || err != nil {
		return nil, err
	}
	return []contender{l.command("rsync daemon", p.PID(), func(to string) []string {
		return []string{program, "--times", "--whole-file", l.source, url + to}
	})}, nil
}

// scp is the contender over a local sshd with keys of its own. Its time holds a
// login.
func (l *lane) scp(ctx context.Context) ([]contender, error) {
	scp, ok1 := l.stage.find("scp")
	sshd, ok2 := l.stage.find("sshd")
	keygen, ok3 := l.stage.find("ssh-keygen")
	if !ok1 || !ok2 || !ok3 {
		return nil, nil
	}
	folder, err := os.MkdirTemp(l.stage.memory, "ssh-")
	if err != nil {
		return nil, err
	}
	host, key := filepath.Join(folder, "host"), filepath.Join(folder, "key")
	for _, file := range []string{host, key} {
		if out, err := exec.CommandContext(ctx, keygen, "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(folder, "sshd_config")
	text := fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %s\nAuthorizedKeysFile %s.pub\nStrictModes no\nPidFile none\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n", port, host, key)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	l.stage.sshdFolder()
	p, ok := l.stage.daemon(ctx, "scp", port, sshd, "-D", "-e", "-f", config)
	if !ok {
		return nil, nil
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	return []contender{l.command("scp", p.PID(), func(to string) []string {
		return []string{scp, "-q", "-F", os.DevNull, "-P", strconv.Itoa(port), "-i", key,
			"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=" + os.DevNull, "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
			l.source, me.Username + "@127.0.0.1:" + filepath.Join(l.dest, to)}
	})}, nil
}

// sshdFolder makes the folder that an sshd of root's insists on, for as long as
// the group runs. Where another sshd made it, it stays.
func (s *stage) sshdFolder() {
	const folder = "/run/sshd"
	if os.Getuid() != 0 || os.Mkdir(folder, 0o755) != nil {
		return
	}
	s.atEnd(func() error { return os.Remove(folder) })
}

// tusd is the contender for one PATCH of the tus protocol, sent by curl.
func (l *lane) tusd(ctx context.Context, size int64) ([]contender, error) {
	program, ok1 := l.stage.find("tusd")
	if !ok1 {
		return nil, nil
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		return nil, nil // told by http
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, ok := l.stage.daemon(ctx, "tusd", port, program, "-host", "127.0.0.1", "-port", strconv.Itoa(port), "-upload-dir", l.dest)
	if !ok {
		return nil, nil
	}
	return []contender{{name: "tusd (no digest)", run: func(ctx context.Context, _ int) (sample, error) {
		location, err := tusCreate(ctx, fmt.Sprintf("http://127.0.0.1:%d/files/", port), size)
		if err != nil {
			return sample{}, err
		}
		got, err := l.stage.timeCommand(ctx, p.PID(), []string{curl, "--silent", "--fail", "--output", os.DevNull, "--request", "PATCH",
			"--header", "Tus-Resumable: 1.0.0", "--header", "Upload-Offset: 0", "--header", "Content-Type: application/offset+octet-stream",
			"--upload-file", l.source, location})
		if err != nil {
			return got, err
		}
		file := filepath.Join(l.dest, location[strings.LastIndexByte(location, '/')+1:])
		return got, errors.Join(arrived(file, l.digest), os.Remove(file+".info"))
	}}}, nil
}

// tusCreate makes an upload and returns its address (tus 1.0, creation).
func tusCreate(ctx context.Context, url string, size int64) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Tus-Resumable", "1.0.0")
	request.Header.Set("Upload-Length", strconv.FormatInt(size, 10))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("tusd answered %s", answer.Status)
	}
	return answer.Header.Get("Location"), nil
}
