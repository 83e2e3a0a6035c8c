package rootfs

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vancetope/transfer/gen/common"
)

func TestATargetIsHeldByOne(t *testing.T) {
	h := NewHolds(false)
	hold := func(p string, want common.ErrorCode) func() {
		t.Helper()
		release, err := h.Hold(mustPath(t, p))
		wantCode(t, err, want)
		return release
	}
	first := hold("a/f", "")
	hold("a/f", common.ErrorCodeTargetBusy)
	hold("a/b/../f", common.ErrorCodeTargetBusy)
	other, upper, above, below := hold("a/g", ""), hold("a/F", ""), hold("a", ""), hold("a/f/x", "")
	first()
	first() // released once more: not the next holder's
	second := hold("a/f", "")
	first()
	hold("a/f", common.ErrorCodeTargetBusy)
	for _, release := range []func(){second, other, upper, above, below} {
		release()
	}
	if h.Len() != 0 || len(h.below) != 0 {
		t.Errorf("left: %v, %v", h.held, h.below)
	}
	_, err := h.Hold(mustPath(t, "a/f"))
	if err != nil {
		t.Error(err)
	}
	_, err = h.Hold(mustPath(t, "a/f"))
	wantText(t, err, common.ErrorCodeTargetBusy, "target busy")
}

func TestATreeHoldsAllAboveAndBelow(t *testing.T) {
	for _, test := range []struct {
		held, wanted         string
		heldTree, wantedTree bool
		busy                 bool
	}{
		{"a", "a", true, false, true},
		{"a", "a/f", true, false, true},
		{"a", "a/b/c/f", true, false, true},
		{"a/b", "a", true, true, true},
		{"a/b", "a/b", true, true, true},
		{"a/b", "a/b/c", true, true, true},
		{"a/f", "a", false, true, true},
		{"a/b/c/f", "a", false, true, true},
		{"a/f", "a/f", false, true, true},
		{"a", "a/f", false, true, false},
		{"a", "ab", true, true, false},
		{"a/b", "a/bc/f", true, false, false},
		{"a/f", "b", false, true, false},
		{"a/b", "a", true, false, false},
	} {
		h := NewHolds(false)
		take := func(p string, tree bool) (func(), error) {
			if tree {
				return h.HoldTree(mustPath(t, p))
			}
			return h.Hold(mustPath(t, p))
		}
		release, err := take(test.held, test.heldTree)
		if err != nil {
			t.Fatal(err)
		}
		_, err = take(test.wanted, test.wantedTree)
		if busy := err != nil; busy != test.busy {
			t.Errorf("%+v: %v", test, err)
		}
		release()
		if _, err := NewHolds(false).HoldTree(mustPath(t, test.wanted)); err != nil {
			t.Error(err)
		}
	}
}

func TestNamesThatFoldToOneAreOneTargetWhereTheFileSystemFolds(t *testing.T) {
	for _, pair := range [][2]string{
		{"A.txt", "a.TXT"}, {"stra\u00dfe", "STRASSE"}, {"\u00e9", "e\u0301"}, {"\u00c9/f", "e\u0301/F"}, {"k", "\u212a"},
	} {
		folding, exact := NewHolds(true), NewHolds(false)
		for _, h := range []*Holds{folding, exact} {
			if _, err := h.Hold(mustPath(t, pair[0])); err != nil {
				t.Fatal(err)
			}
		}
		_, err := folding.Hold(mustPath(t, pair[1]))
		wantCode(t, err, common.ErrorCodeTargetBusy)
		if _, err := exact.Hold(mustPath(t, pair[1])); err != nil {
			t.Errorf("%q: %v", pair, err)
		}
	}
	folding := NewHolds(true)
	if _, err := folding.Hold(mustPath(t, "\u0131")); err != nil {
		t.Fatal(err)
	}
	if _, err := folding.Hold(mustPath(t, "I")); err != nil {
		t.Errorf("dotless i is no i: %v", err)
	}
}

func TestHoldsOfManyNeverOverlap(t *testing.T) {
	h := NewHolds(false)
	paths := []Path{mustPath(t, "a"), mustPath(t, "a/b"), mustPath(t, "a/b/c"), mustPath(t, "d")}
	var inside [4]sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				i := rand.IntN(len(paths))
				release, err := h.Hold(paths[i])
				if err != nil {
					continue
				}
				if !inside[i].TryLock() {
					t.Errorf("%s is held twice", paths[i])
				} else {
					inside[i].Unlock()
				}
				release()
			}
		})
	}
	wg.Wait()
	if h.Len() != 0 || len(h.below) != 0 {
		t.Errorf("left: %v, %v", h.held, h.below)
	}
}

func TestFoldingIsFoundOutWithoutWriting(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "Folder/f", "x")
	r := openRoot(t, filepath.Join(dir, "Folder"), Options{})
	_, err := os.Stat(filepath.Join(dir, "fOLDER"))
	if got, want := r.FoldsCase(), err == nil; got != want {
		t.Errorf("FoldsCase = %v, want %v", got, want)
	}
	put(t, dir, "fOLDER/g", "x")
	if got, want := r.FoldsCase(), err == nil; got != want {
		t.Errorf("with both names: FoldsCase = %v, want %v", got, want)
	}
	if got := turnCase("aB1-é"); got != "Ab1-É" {
		t.Errorf("turned case is %q", got)
	}
	if !strings.EqualFold(turnCase("x"), "x") {
		t.Error("turning the case changes more than the case")
	}
}
