package ui

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestAQueueKeepsTheOrderAndWritesTheRestAtClose(t *testing.T) {
	var direct, queued bytes.Buffer
	story(NewJSON(&direct, silent), newClock())
	u := Async(NewJSON(&queued, silent))
	story(u, newClock())
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(direct.String(), queued.String()); diff != "" {
		t.Error(diff)
	}
	u.Disconnected("late")
	if err := u.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	if strings.Contains(queued.String(), "late") {
		t.Error("an event after Close was written")
	}
}

func TestAStalledOutputBlocksNobodyAndTheLossIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		u := Async(NewJSON(w, silent))
		for range queueLength + 10 {
			u.Disconnected("x") // would hang if it waited for the pipe
		}
		lines := make(chan int)
		go func() {
			var all bytes.Buffer
			if _, err := io.Copy(&all, r); err != nil {
				t.Error(err)
			}
			lines <- strings.Count(all.String(), "\n")
		}()
		err := u.Close()
		if err == nil || !strings.Contains(err.Error(), "events were lost") {
			t.Errorf("Close() = %v, want the loss", err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if n := <-lines; n < queueLength || n >= queueLength+10 {
			t.Errorf("%d events written", n)
		}
	})
}

func TestCloseGivesUpOnAnOutputThatNeverTakesAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		u := Async(NewJSON(w, silent))
		u.Disconnected("x")
		if err := u.Close(); err == nil {
			t.Error("Close() says that all was written")
		}
		if err := r.Close(); err != nil { // lets the writing goroutine end
			t.Error(err)
		}
	})
}
