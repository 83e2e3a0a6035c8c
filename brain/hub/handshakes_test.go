package hub

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

func TestHandshakesAreBoundedByTokenAndInAllAndLoggedOnce(t *testing.T) {
	var log strings.Builder
	h := handshakes{log: slog.New(slog.NewTextHandler(&log, nil))}
	var ends []func()
	for range maxHandshakesOfToken {
		end, err := h.begin("one")
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	for range 1000 {
		if _, err := h.begin("one"); fault.CodeOf(err) != common.ErrorCodeLimit {
			t.Fatalf("one more of a token: %v", err)
		}
	}
	for n := 0; h.all < maxHandshakes; n++ {
		end, err := h.begin(fmt.Sprint("token ", n/maxHandshakesOfToken))
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if _, err := h.begin("another"); fault.CodeOf(err) != common.ErrorCodeLimit {
		t.Errorf("one more in all: %v", err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("the limit was logged %d times:\n%s", n, log.String())
	}
	for _, end := range ends {
		end()
		end() // once counts
	}
	if h.all != 0 || len(h.ofToken) != 0 {
		t.Errorf("left: %d, %v", h.all, h.ofToken)
	}
	if _, err := h.begin("one"); err != nil {
		t.Errorf("after all have ended: %v", err)
	}
}
