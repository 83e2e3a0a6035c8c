package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// The HTTP baseline H: one PUT of net/http. The client computes the SHA-256
// while it sends; the server reads, hashes and writes in a pipeline, publishes
// the file with a rename, and answers with its digest, which the client compares.
// The file is wrapped so that sendfile stays out: over loopback it is slower.

const pipeBuffer = 256 << 10

// digestHeader carries the server's SHA-256 in hex.
const digestHeader = "X-Content-Sha256"

type httpServerCmd struct {
	Dir string `arg:"" help:"Where the files go."`
}

func (c *httpServerCmd) Run(i invocation) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("{\"event\":\"ready\",\"url\":\"http://%s\"}\n", l.Addr())
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(i.ctx, func() {
		_ = server.Close() // Serve below tells the error
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP takes a PUT. With the query ?plain it does not hash.
func (c *httpServerCmd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var h hash.Hash
	if !r.URL.Query().Has("plain") {
		h = sha256.New()
	}
	if err := receive(r.Body, filepath.Join(c.Dir, filepath.Base(r.URL.Path)), h); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if h != nil {
		w.Header().Set(digestHeader, hex.EncodeToString(h.Sum(nil)))
	}
	w.WriteHeader(http.StatusCreated)
}

// receive reads on one goroutine, hashes and writes on another.
func receive(body io.Reader, target string, h hash.Hash) (err error) {
	staging := target + ".part"
	f, err := os.OpenFile(staging, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	full, free := make(chan []byte, 4), make(chan []byte, 4)
	for range cap(free) {
		free <- make([]byte, pipeBuffer)
	}
	written := make(chan error, 1)
	go func() {
		var failed error
		for p := range full {
			if h != nil {
				h.Write(p)
			}
			if failed == nil {
				_, failed = f.Write(p)
			}
			free <- p[:cap(p)]
		}
		written <- failed
	}()
	var failed error
	for failed == nil {
		p := <-free
		var n int
		n, failed = io.ReadFull(body, p)
		full <- p[:n]
	}
	close(full)
	if errors.Is(failed, io.EOF) || errors.Is(failed, io.ErrUnexpectedEOF) {
		failed = nil
	}
	if err := errors.Join(failed, <-written, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(staging))
	}
	return os.Rename(staging, target)
}

type httpClientCmd struct {
	File string `arg:"" help:"What to send."`
	URL  string `arg:"" help:"Where to put it."`
}

// clientTime is what the client of the baseline says.
type clientTime struct {
	Event   string  `json:"event"`
	Seconds float64 `json:"seconds"`
}

func (c *httpClientCmd) Run(i invocation) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	start := time.Now()
	h := sha256.New()
	request, err := http.NewRequestWithContext(i.ctx, http.MethodPut, c.URL, io.TeeReader(f, h))
	if err != nil {
		return err
	}
	request.ContentLength = info.Size()
	client := http.Client{Transport: &http.Transport{WriteBufferSize: pipeBuffer}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("the server answered %s", answer.Status)
	}
	if got, want := answer.Header.Get(digestHeader), hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("the server's digest is %s, the client's %s", got, want)
	}
	return json.NewEncoder(os.Stdout).Encode(clientTime{"done", time.Since(start).Seconds()})
}
