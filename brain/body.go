package main

import (
	"io"
	"net/http"
	"time"
)

// How long the body of a request may take to come in whole. Tools take bodies of
// megabytes; nothing else takes more than some hundred bytes, and the login takes
// them from anybody.
const (
	bodyTimeout     = 5 * time.Second
	toolBodyTimeout = 2 * time.Minute
)

// bodyInTime ends a request whose body does not come in within a time. What is
// read for its own sake, as the rest of a refused request, counts too.
func bodyInTime(limit func(*http.Request) time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		if err := control.SetReadDeadline(time.Now().Add(limit(r))); err != nil {
			next.ServeHTTP(w, r) // not a connection of ours
			return
		}
		r.Body = &timedBody{r.Body, control}
		next.ServeHTTP(w, r)
	})
}

func bodyTime(r *http.Request) time.Duration {
	if r.URL.Path == "/mcp" {
		return toolBodyTimeout
	}
	return bodyTimeout
}

// timedBody takes the deadline back at its end: what is read from then on is only
// whether the client is still there, for as long as the answer takes.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		// It was set before, so it can be.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
