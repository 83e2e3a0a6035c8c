// Package approval asks the person of this machine whether a file may move. It
// owns which transfers are asked about, the questions that are open, how each of
// them ends, and what the person has allowed for a whole folder.
//
// It refuses to go on without an answer: silence, the end of the time and a Foot
// that nobody can be asked at all mean no. Where a question is shown and how an
// answer is typed is not known here.
package approval

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/internal/settings"
)

// Question is what a person has to know to decide.
type Question struct {
	ID uuid.UUID
	// Write: a file is to be written on this machine; else it is to be read.
	Write bool
	// Project is whose Brain asks: what was allowed for one counts for no other.
	Project string
	// Path is the file as the Brain names it, @NAME/rest in a granted folder. It
	// comes from the Brain and is not safe to print.
	Path  string
	Bytes int64
	// Replaces: there is a file at this path already, which will be gone.
	Replaces bool
	// Within is how long the question stands before it is declined by itself.
	Within time.Duration
}

// Folder is the folder of the file, in the same notation as its path; "" is the
// project's own.
func (q Question) Folder() string { return parent(q.Path) }

// parent cuts off the last component. Paths are clean: no component is "." but
// a leading one, which says that what follows is no grant.
func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ""
	}
	if dir := path[:i]; dir != "." {
		return dir
	}
	return ""
}

// Answer is a person's decision.
type Answer uint8

const (
	No Answer = iota
	Yes
	// Always is yes, also for all that is asked about in the same folder and below
	// it in the same direction, while this Foot runs.
	Always
)

// Outcome is how a question ended, for whoever shows it.
type Outcome uint8

const (
	Approved Outcome = iota
	Declined
	Unanswered // its time was over
	Withdrawn  // its transfer ended, or the Foot does
)

// asksAbout reports whether a policy asks about a direction.
func asksAbout(policy settings.Confirm, write bool) bool {
	return policy == settings.ConfirmAll || policy == settings.ConfirmWrites && write
}

// maxRemembered bounds the folders that are allowed; beyond it a person is
// asked again.
const maxRemembered = 1000

// allowed are the folders that need no question any more.
type allowed map[place]struct{}

type place struct {
	project string
	write   bool
	folder  string
}

func (a allowed) add(q Question) {
	if len(a) < maxRemembered {
		a[place{q.Project, q.Write, q.Folder()}] = struct{}{}
	}
}

// covers reports whether the folder of q or one above it is allowed. The
// project's own folder is above no granted one.
func (a allowed) covers(q Question) bool {
	granted := strings.HasPrefix(q.Path, "@")
	for folder := q.Folder(); ; folder = parent(folder) {
		if folder == "" && granted {
			return false
		}
		if _, ok := a[place{q.Project, q.Write, folder}]; ok {
			return true
		}
		if folder == "" {
			return false
		}
	}
}
