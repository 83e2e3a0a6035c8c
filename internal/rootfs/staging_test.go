package rootfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
)

func TestAStagedFileBecomesTheTargetWhenPublished(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(dir, Options{Mask: 0o755})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := CleanPath("a/b/c.txt")
	if err != nil {
		t.Fatal(err)
	}
	st, err := r.Stage(p, uuid.New(), StageOptions{Size: 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "a/b/c.txt")); !os.IsNotExist(err) {
		t.Fatalf("the target exists before it is published: %v", err)
	}
	done, err := st.Publish(t.Context())
	if err != nil || done.Path != "a/b/c.txt" {
		t.Fatalf("Publish = %+v, %v", done, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "a/b/c.txt"))
	if err != nil || string(got) != "hello" {
		t.Fatalf("target holds %q, %v", got, err)
	}
}
