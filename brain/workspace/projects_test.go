package workspace

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vancetope/transfer/gen/common"
)

// tended runs the manager's own care until the test is over.
func (w *world) tended(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	m := w.Manager
	go func() {
		defer close(over)
		m.Tend(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
}

func (w *world) set(t *testing.T, p Project, to State) ProjectStatus {
	t.Helper()
	if err := SetProject(t.Context(), w.store, p, to); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		status, reached, err := ReadProject(t.Context(), w.store, p)
		if err != nil {
			t.Fatal(err)
		}
		if reached {
			return status
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not reached: %+v", to, status)
		}
	}
}

func TestASuspendedProjectKeepsItsRootDirsWithoutTheirContent(t *testing.T) {
	w := newWorld(t)
	w.tended(t)
	w.create(t, acme, "inbox")
	other := Project{Tenant: "acme", ProjectID: "other"}
	w.create(t, other, "inbox")
	write(t, w.path(acme, "inbox", "f"), "x")
	write(t, w.path(other, "inbox", "f"), "x")
	d := w.use(t, acme, "inbox")
	go func() {
		<-d.Context().Done()
		d.Release()
	}()

	if status := w.set(t, acme, Suspended); status.State != Suspended || !slices.Equal(status.Dirs, []string{"inbox"}) {
		t.Errorf("%+v", status)
	}
	wantCode(t, context.Cause(d.Context()), common.ErrorCodeCancelled)
	_, err := w.Use(t.Context(), acme, "inbox")
	wantCode(t, err, common.ErrorCodeProjectSuspended)
	_, err = w.Create(t.Context(), acme, CreateRequest{Type: TypeEphemeral})
	wantCode(t, err, common.ErrorCodeProjectSuspended)
	if got := w.names(t, acme); !slices.Equal(got, []string{"inbox"}) {
		t.Errorf("a suspended project lists %v", got)
	}
	if left, err := os.ReadDir(w.path(acme, "inbox")); err != nil || len(left) != 0 {
		t.Errorf("the content is still there: %v, %v", left, err)
	}
	if _, err := os.Stat(w.path(other, "inbox", "f")); err != nil {
		t.Error("another project lost its content:", err)
	}

	w.restart(t) // a restart changes nothing
	_, err = w.Use(t.Context(), acme, "inbox")
	wantCode(t, err, common.ErrorCodeProjectSuspended)
}

func TestARecoveredProjectHasItsRootDirsEmpty(t *testing.T) {
	w := newWorld(t)
	w.tended(t)
	w.create(t, acme, "inbox")
	w.set(t, acme, Suspended)
	w.set(t, acme, Active)
	if _, err := w.WriteFile(t.Context(), acme, "inbox", "f", []byte("x"), ""); err != nil {
		t.Error(err)
	}
}

func TestAClosedProjectHasNoRootDirs(t *testing.T) {
	w := newWorld(t)
	w.tended(t)
	w.create(t, acme, "inbox")
	write(t, w.path(acme, "inbox", "f"), "x")
	if status := w.set(t, acme, Closed); len(status.Dirs) != 0 {
		t.Errorf("%+v", status)
	}
	w.gone(t, acme, "inbox")
	_, err := w.Create(t.Context(), acme, CreateRequest{Type: TypeEphemeral})
	wantCode(t, err, common.ErrorCodeProjectSuspended)
	w.set(t, acme, Active)
	w.create(t, acme, "inbox")
}

// What a state asks for is done by the next process when the one that was asked
// was killed.
func TestWhatWasAskedOfAKilledProcessIsDoneAtTheStart(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "inbox")
	write(t, w.path(acme, "inbox", "f"), "x")
	if err := SetProject(t.Context(), w.store, acme, Closed); err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	w.gone(t, acme, "inbox")
	if _, reached, err := ReadProject(t.Context(), w.store, acme); err != nil || !reached {
		t.Errorf("reached %v, %v", reached, err)
	}
}

func TestProjectsAreListedByTenant(t *testing.T) {
	w := newWorld(t)
	w.create(t, Project{"b", "x"}, "d")
	w.create(t, Project{"a", "y"}, "d")
	if err := SetProject(t.Context(), w.store, Project{"a", "z"}, Suspended); err != nil {
		t.Fatal(err)
	}
	list, err := ReadProjects(t.Context(), w.store, "")
	if err != nil || len(list) != 3 || list[0].Project != "y" || list[1].State != Suspended || list[2].Tenant != "b" {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := ReadProjects(t.Context(), w.store, "b"); err != nil || len(list) != 1 {
		t.Errorf("of one tenant: %+v, %v", list, err)
	}
	if err := SetProject(t.Context(), w.store, Project{"a/b", "z"}, Suspended); err == nil {
		t.Error("a tenant that is no name was taken")
	}
}
