package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// sums is the file of checksums, as sha256sum -c reads it.
const sums = "SHA256SUMS"

// item is a file of an archive.
type item struct {
	name string // in the archive
	file string // on the disk
	mode fs.FileMode
}

// pack builds the programs for a target and writes its archive, whose name it
// returns.
func pack(out string, src source, t target) (name string, err error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	base := t.archive(src.version)
	var items []item
	for _, program := range []string{"brain", "foot"} {
		file := filepath.Join(dir, program+t.exe())
		if err := build(program, file, src, t); err != nil {
			return "", err
		}
		items = append(items, item{path.Join(base, program+t.exe()), file, 0o755})
	}
	documents, err := documents(base)
	if err != nil {
		return "", err
	}
	items = append(items, documents...)
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })

	name = base + ".tar.gz"
	write := writeTar
	if t.os == "windows" {
		name, write = base+".zip", writeZip
	}
	f, err := os.OpenFile(filepath.Join(out, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	return name, errors.Join(write(f, items, src), f.Close())
}

// documents are the texts that go into each archive: what git has of them.
func documents(base string) ([]item, error) {
	listed, err := git("ls-files", "-z", "LICENSE", "README.md", "CHANGELOG.md", "docs")
	if err != nil {
		return nil, err
	}
	var items []item
	for _, name := range strings.Split(strings.TrimRight(listed, "\x00"), "\x00") {
		items = append(items, item{path.Join(base, name), filepath.FromSlash(name), 0o644})
	}
	return items, nil
}

func writeTar(w io.Writer, items []item, src source) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, i := range items {
		text, err := os.ReadFile(i.file)
		if err != nil {
			return err
		}
		err = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, Name: i.name, Size: int64(len(text)),
			Mode: int64(i.mode), ModTime: src.at})
		if err != nil {
			return err
		}
		if _, err := t.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func writeZip(w io.Writer, items []item, src source) error {
	z := zip.NewWriter(w)
	for _, i := range items {
		text, err := os.ReadFile(i.file)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: i.name, Method: zip.Deflate, Modified: src.at}
		h.SetMode(i.mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(text); err != nil {
			return err
		}
	}
	return z.Close()
}

func writeSums(out string, names []string) error {
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		f, err := os.Open(filepath.Join(out, name))
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", h.Sum(nil), name)
	}
	return os.WriteFile(filepath.Join(out, sums), []byte(b.String()), 0o644)
}
