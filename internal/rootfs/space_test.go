package rootfs

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
)

// Each of two files fits by itself, and both together do not.
func TestSpaceThatWasPromisedToOneTransferIsNotPromisedToAnother(t *testing.T) {
	r := openRoot(t, fastDir(t), Options{})
	top, err := r.acquire(false)
	if err != nil {
		t.Fatal(err)
	}
	defer top.release()
	free, known, err := top.free()
	if err != nil || !known {
		t.Fatalf("%v, %v", known, err)
	}
	large := StageOptions{Size: int64(free / 10 * 6)}
	first := stage(t, r, "a", large)
	_, err = r.Stage(mustPath(t, "b"), uuid.New(), large)
	wantCode(t, err, common.ErrorCodeInsufficientSpace)
	if err == nil || !strings.Contains(err.Error(), "running transfers will take") {
		t.Errorf("text: %v", err)
	}
	if err := first.Discard(); err != nil {
		t.Fatal(err)
	}
	second := stage(t, r, "b", large)
	if _, err := second.Publish(t.Context()); err == nil {
		t.Error("published half a file")
	}
	small := stage(t, r, "c", StageOptions{Size: 3})
	if _, err := small.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if _, err := small.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(promises.bytes) != 0 {
		t.Errorf("still promised: %v", promises.bytes)
	}
}
