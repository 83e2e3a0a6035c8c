package rootfs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// Notes is a folder with a note of each file that is being written, for the next
// start: a process that is killed cannot clean up.
type Notes string

// Keep keeps what a file leaves behind when this process is killed, until forget
// is called. Forget may be called also where it failed.
func (n Notes) Keep(l Leftover) (forget func(), err error) {
	name := filepath.Join(string(n), l.ID.String()+".json")
	// One that stays tells of a file that is not there: it goes at the next start.
	forget = func() { _ = os.Remove(name) }
	text, err := json.Marshal(l)
	if err != nil {
		return forget, err
	}
	if err := os.MkdirAll(string(n), 0o700); err != nil {
		return forget, err
	}
	return forget, os.WriteFile(name, text, 0o600)
}

// Remove removes what the notes tell of, and with it the notes. What could not be
// removed is told, and its note stays. With own see RemoveLeftovers.
func (n Notes) Remove(own bool, told func(Leftover, error)) error {
	entries, err := os.ReadDir(string(n))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	var list []Leftover
	for _, e := range entries {
		name := filepath.Join(string(n), e.Name())
		var l Leftover
		text, err := os.ReadFile(name)
		if err == nil && json.Unmarshal(text, &l) != nil {
			l = Leftover{} // killed while it was noted, and so before it was staged
		}
		if err == nil {
			names, list = append(names, name), append(list, l)
		}
	}
	for i, err := range RemoveLeftovers(list, own) {
		if err == nil {
			err = os.Remove(names[i])
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			told(list[i], err)
		}
	}
	return nil
}

// MakesFolders reports whether folders have to be made on the way to the target.
func (l Leftover) MakesFolders() bool {
	p, err := CleanPath(l.Target)
	if err != nil {
		return false
	}
	n := 0
	for range p.Dir().components() {
		n++
	}
	return n > l.Present
}
