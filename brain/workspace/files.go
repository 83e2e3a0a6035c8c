package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// The bounds of a page of a listing and of a part of a file.
const (
	DefaultEntries = 200
	MaxEntries     = 1000
	DefaultLength  = 64 << 10
	MaxLength      = 256 << 10
)

// ListRequest asks for one page of what lies in a folder of a RootDir.
type ListRequest struct {
	Path      string // "" is the RootDir itself
	Recursive bool
	Cursor    string // NextCursor of the page before; "" begins
	Limit     int    // 0: DefaultEntries
}

// Page is a part of a listing. Path of an entry is relative to the RootDir.
type Page struct {
	Entries    []common.WorkspaceEntry
	NextCursor string // "" after the last page
}

// ListFiles lists in the order in which a walk meets the names: those of a folder
// by their bytes, what is in a folder right behind it. A link is told, never
// followed. The cursor is a place in that order, so that a page stays right when
// files come and go meanwhile.
func (m *Manager) ListFiles(ctx context.Context, p Project, dirName string, r ListRequest) (Page, error) {
	dir, err := m.Use(ctx, p, dirName)
	if err != nil {
		return Page{}, err
	}
	defer dir.Release()
	at, err := rootfs.CleanDir(r.Path)
	if err != nil {
		return Page{}, err
	}
	after, err := readCursor(r.Cursor)
	if err != nil {
		return Page{}, err
	}
	if r.Limit == 0 {
		r.Limit = DefaultEntries
	}
	w := lister{ctx: ctx, root: dir.Root, recursive: r.Recursive, limit: r.Limit}
	if err := w.walk(at, after, true); err != nil {
		return Page{}, err
	}
	page := Page{Entries: w.found}
	if len(page.Entries) > r.Limit {
		page.Entries = page.Entries[:r.Limit]
		page.NextCursor = makeCursor(page.Entries[r.Limit-1].Path)
	}
	return page, nil
}

// lister collects one entry more than a page has.
type lister struct {
	ctx       context.Context
	root      *rootfs.Root
	recursive bool
	limit     int
	found     []common.WorkspaceEntry
}

// walk lists a folder behind the path after, which is relative to the RootDir;
// top is the folder that was asked for, whose absence is an error.
func (w *lister) walk(at rootfs.Path, after string, top bool) error {
	if err := w.ctx.Err(); err != nil {
		return fault.Wrap(common.ErrorCodeCancelled, err)
	}
	entries, err := w.root.ReadDir(at)
	if err != nil {
		if top {
			return err
		}
		return nil // it vanished, or nobody may read it
	}
	for _, e := range entries {
		path := e.Name
		if !at.IsRoot() {
			path = at.String() + "/" + e.Name
		}
		inside := strings.HasPrefix(after, path+"/")
		if after == "" || !inside && walkOrder(path, after) > 0 {
			w.found = append(w.found, told(path, e))
		}
		if len(w.found) > w.limit {
			return nil
		}
		if !w.recursive || e.Kind != rootfs.KindDirectory || after != "" && !inside && walkOrder(path, after) < 0 {
			continue
		}
		below, err := rootfs.CleanDir(path)
		if err != nil {
			continue // a name that no tool can say
		}
		if err := w.walk(below, after, false); err != nil || len(w.found) > w.limit {
			return err
		}
	}
	return nil
}

// walkOrder compares two paths component by component.
func walkOrder(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }

func told(path string, e rootfs.Entry) common.WorkspaceEntry {
	kinds := map[rootfs.Kind]common.EntryKind{
		rootfs.KindFile: common.EntryKindFile, rootfs.KindDirectory: common.EntryKindDirectory,
		rootfs.KindLink: common.EntryKindSymlink, rootfs.KindOther: common.EntryKindOther,
	}
	return common.WorkspaceEntry{Path: path, Kind: kinds[e.Kind], Size: e.Size, Mode: rootfs.FormatMode(e.Mode), Mtime: sayable(e.ModTime)}
}

// sayable is a time that RFC 3339 can write.
func sayable(t time.Time) time.Time {
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Unix(0, 0).UTC()
	}
	return t
}

func makeCursor(path string) string { return base64.RawURLEncoding.EncodeToString([]byte(path)) }

func readCursor(cursor string) (string, error) {
	path, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", fault.Newf(common.ErrorCodeInvalidRequest, "cursor is not the nextCursor of a page")
	}
	return string(path), nil
}

// Part is what was read of a file.
type Part struct {
	Bytes  []byte
	Offset int64
	Size   int64 // of the whole file
	EOF    bool  // the part goes to its end
}

// ReadFile reads a part of a file; length 0 is DefaultLength. An offset behind
// the end reads nothing.
func (m *Manager) ReadFile(ctx context.Context, p Project, dirName, path string, offset int64, length int) (Part, error) {
	dir, err := m.Use(ctx, p, dirName)
	if err != nil {
		return Part{}, err
	}
	defer dir.Release()
	at, err := rootfs.CleanPath(path)
	if err != nil {
		return Part{}, err
	}
	source, err := dir.Root.OpenSource(at)
	if err != nil {
		return Part{}, err
	}
	part, err := readPart(source, offset, length)
	return part, errors.Join(err, source.Close())
}

func readPart(source *rootfs.Source, offset int64, length int) (Part, error) {
	if length == 0 {
		length = DefaultLength
	}
	size := source.Size()
	part := Part{Offset: offset, Size: size, Bytes: make([]byte, max(0, min(int64(length), size-offset)))}
	n, err := source.ReadAt(part.Bytes, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return Part{}, err
	}
	part.Bytes = part.Bytes[:n]
	part.EOF = offset+int64(n) >= size
	return part, source.CheckUnchanged()
}

// Text is the part as text, cut so that it does not end in the middle of a
// character: who goes on where it ends meets none in halves. It is false for what
// is no UTF-8.
func (p Part) Text() (Part, bool) {
	if utf8.Valid(p.Bytes) {
		return p, true
	}
	for cut := 1; cut < utf8.UTFMax && cut < len(p.Bytes) && !p.EOF; cut++ {
		kept, rest := p.Bytes[:len(p.Bytes)-cut], p.Bytes[len(p.Bytes)-cut:]
		if utf8.RuneStart(rest[0]) && !utf8.FullRune(rest) && utf8.Valid(kept) {
			p.Bytes = kept
			return p, true
		}
	}
	return p, false
}

// Written is a file that WriteFile wrote.
type Written struct {
	Path         string // relative to the RootDir
	BytesWritten int64
	Hash         string
}

// WriteFile writes a whole file: it is staged and published as a transfer's is,
// and nobody can see half of it.
func (m *Manager) WriteFile(ctx context.Context, p Project, dirName, path string, content []byte, existing common.OnExisting) (Written, error) {
	dir, err := m.Use(ctx, p, dirName)
	if err != nil {
		return Written{}, err
	}
	defer dir.Release()
	at, err := rootfs.CleanPath(path)
	if err != nil {
		return Written{}, err
	}
	if existing != common.OnExistingKeepBoth { // which finds a free name for itself
		release, err := dir.Holds.Hold(at)
		if err != nil {
			return Written{}, err
		}
		defer release()
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Written{}, err
	}
	st, err := dir.Stage(at, id, rootfs.StageOptions{Size: int64(len(content)), OnExisting: rootfs.OnExisting(existing)})
	if err != nil {
		return Written{}, err
	}
	n, err := st.Write(content)
	if err == nil && n < len(content) {
		err = fault.Wrap(common.ErrorCodeDiskFull, io.ErrShortWrite)
	}
	var published rootfs.Published
	if err == nil {
		published, err = st.Publish(ctx)
	}
	if err := errors.Join(err, st.Discard()); err != nil {
		return Written{}, fault.From(err)
	}
	sum := sha256.Sum256(content)
	return Written{Path: published.Path, BytesWritten: int64(n), Hash: "sha256:" + hex.EncodeToString(sum[:])}, nil
}
