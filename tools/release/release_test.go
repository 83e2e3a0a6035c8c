package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAnArchiveDependsOnItsFilesAndTheCommitAlone(t *testing.T) {
	src := source{version: "1", commit: "c", at: time.Unix(1_700_000_000, 0).UTC()}
	for name, write := range map[string]func(io.Writer, []item, source) error{"tar": writeTar, "zip": writeZip} {
		var archives [2]bytes.Buffer
		for i := range archives {
			file := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(file, []byte("text"), []os.FileMode{0o600, 0o644}[i]); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, time.Time{}, time.Unix(int64(i)*1000, 0)); err != nil {
				t.Fatal(err)
			}
			if err := write(&archives[i], []item{{"v/f", file, 0o755}}, src); err != nil {
				t.Fatal(err)
			}
		}
		if archives[0].Len() == 0 || !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) {
			t.Errorf("%s: two archives differ", name)
		}
	}
}

func TestAnArchivesFilesCanBeRunAndBelongToNobody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "brain")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	at := time.Unix(1_700_000_000, 0).UTC()
	if err := writeTar(&b, []item{{"v/brain", file, 0o755}}, source{at: at}); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	h, err := tar.NewReader(z).Next()
	if err != nil || h.Name != "v/brain" || h.Mode != 0o755 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(at) {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestTargetsAreChosenByNameAndUntestedOnesSaySo(t *testing.T) {
	all, err := choose("")
	if err != nil || len(all) != len(targets) {
		t.Error(all, err)
	}
	some, err := choose("linux/arm64,windows/amd64")
	if err != nil || len(some) != 2 || some[0].archive("1") != "vancetope-1-linux-arm64" || some[1].archive("1") != "vancetope-1-windows-amd64-untested" {
		t.Error(some, err)
	}
	if _, err := choose("plan9/386"); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Error(err)
	}
}
