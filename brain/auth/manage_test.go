package auth

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

func TestTheListTellsAllOfATokenButTheToken(t *testing.T) {
	w := newWorld(t)
	agent := Grant{Tenant: "acme", Project: "research", Role: RoleAgent, Name: "helper", Access: common.AccessRead,
		ExpiresAt: w.clock.Add(time.Hour)}
	footToken, agentToken := w.create(t, laptop), w.create(t, agent)
	footID, _ := idOf(footToken)
	agentID, _ := idOf(agentToken)
	created := w.clock
	w.clock = w.clock.Add(time.Minute)
	if _, err := w.Authenticate(t.Context(), footToken); err != nil {
		t.Fatal(err)
	}
	used := w.clock
	w.clock = w.clock.Add(2 * time.Hour) // an expired token is still told
	list, err := w.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Listed{
		{ID: agentID, Tenant: "acme", Project: "research", Role: RoleAgent, Name: "helper", Access: common.AccessRead,
			CreatedAt: created, ExpiresAt: &agent.ExpiresAt},
		{ID: footID, Tenant: "acme", Project: "research", Role: RoleFoot, Name: "laptop", Access: common.AccessEdit,
			CreatedAt: created, LastUsedAt: &used},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyListIsAList(t *testing.T) {
	if list, err := newWorld(t).List(t.Context()); err != nil || list == nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestARevokedTokenIsUnknownForEver(t *testing.T) {
	w := newWorld(t)
	token, other := w.create(t, laptop), w.create(t, laptop)
	id, _ := idOf(token)
	if err := w.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(t.Context(), token); fault.CodeOf(err) != common.ErrorCodeUnauthorized {
		t.Errorf("got %v", err)
	}
	if _, err := w.Authenticate(t.Context(), other); err != nil {
		t.Errorf("another token of the same name: %v", err)
	}
	for _, id := range []string{id, "", "nope", "../x", "a\x00b", token} {
		if err := w.Revoke(t.Context(), id); fault.CodeOf(err) != common.ErrorCodeNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestARecordWithoutAccessMayEdit(t *testing.T) {
	w := newWorld(t)
	token := w.create(t, Grant{Tenant: "acme", Project: "research", Role: RoleAgent, Name: "old"})
	id, _ := idOf(token)
	r := w.record(t, token)
	old := `{"hash":"` + base64Of(r.Hash) + `","tenant":"acme","project":"research","role":"agent","name":"old","createdAt":"2026-05-01T12:00:00Z","expiresAt":null,"lastUsedAt":null}`
	if _, err := w.store.Put(t.Context(), key(id), []byte(old), state.Forever); err != nil {
		t.Fatal(err)
	}
	if p, err := w.Authenticate(t.Context(), token); err != nil || p.Access != common.AccessEdit {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAccessIsReadOrEditAndNotForAFoot(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		role   Role
		access common.Access
		ok     bool
	}{
		{RoleAgent, common.AccessRead, true}, {RoleUser, common.AccessRead, true}, {RoleFoot, common.AccessEdit, true},
		{RoleFoot, common.AccessRead, false}, {RoleAgent, "write", false},
	} {
		g := laptop
		g.Role, g.Access = c.role, c.access
		token, err := w.Create(t.Context(), g)
		if (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.role, c.access, err)
		}
		if err != nil {
			continue
		}
		if p, err := w.Authenticate(t.Context(), token); err != nil || p.Access != c.access {
			t.Errorf("%s %s: %+v, %v", c.role, c.access, p, err)
		}
	}
}
