package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// half sends a request with less of a body than it announces.
func half(t *testing.T, address, path string) *bufio.Reader {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) // the server closed it, or the test failed
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{", path); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(c)
}

func TestABodyThatNeverComesEndsItsRequest(t *testing.T) {
	short := func(*http.Request) time.Duration { return 20 * time.Millisecond }
	for name, handler := range map[string]http.HandlerFunc{
		"read": func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err == nil {
				t.Error("the body was whole")
			}
		},
		"refused unread": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(bodyInTime(short, handler))
			defer s.Close()
			if _, err := io.ReadAll(half(t, s.Listener.Addr().String(), "/")); err != nil {
				t.Error("the connection stays:", err)
			}
		})
	}
}

func TestTheTimeOfABodyIsNotThatOfItsAnswer(t *testing.T) {
	const limit = 50 * time.Millisecond
	s := httptest.NewServer(bodyInTime(func(*http.Request) time.Duration { return limit }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		select {
		case <-r.Context().Done():
			t.Error("the request was ended while it was answered")
		case <-time.After(4 * limit):
		}
	})))
	defer s.Close()
	answer, err := http.Post(s.URL, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
}

func TestALoginThatNeverComesIsEnded(t *testing.T) {
	if bodyTimeout >= patience {
		t.Fatal("the test would not wait as long")
	}
	b := serve(t)
	answer, err := http.ReadResponse(half(t, strings.TrimPrefix(b.url, "http://"), "/api/v1/login"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d", answer.StatusCode)
	}
}
