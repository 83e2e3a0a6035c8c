package workspace

import (
	"context"
	"strings"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

const (
	// usedEvery is how exact UsedAt is: noting every use would cost a disk sync
	// each. In a short life it is noted more often.
	usedEvery = time.Minute
	// tendEvery is how often what others changed in the state is looked at, and
	// sweepEvery how often RootDirs are looked at that may have to go.
	tendEvery  = 250 * time.Millisecond
	sweepEvery = time.Second
)

// ExpiresAt is when a RootDir goes unless it is used before; zero when it does
// not. Its life begins anew with the Manager: while no Brain served, and since the
// moment of a backup that was restored, nobody could have used it.
func (m *Manager) ExpiresAt(d Descriptor) time.Time {
	if m.ttl == 0 {
		return time.Time{}
	}
	used := d.UsedAt
	for _, at := range []time.Time{d.CreatedAt, m.since} {
		if used.Before(at) {
			used = at
		}
	}
	return used.Add(m.ttl)
}

// expired reports whether the life of a RootDir is over. One that is in use
// lives.
func (m *Manager) expired(d Descriptor) bool { return m.expiredBut(d, 0) }

// expiredBut is expired where so many users do not count.
func (m *Manager) expiredBut(d Descriptor, users int) bool {
	at := m.ExpiresAt(d)
	if at.IsZero() || m.now().Before(at) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[siteKey{d.project(), d.DirName}]
	return s == nil || s.users <= users
}

// exactness is how much too early UsedAt may be.
func (m *Manager) exactness() time.Duration {
	if m.ttl == 0 {
		return usedEvery
	}
	return min(usedEvery, m.ttl/10)
}

// noteLongUse notes the end of a use, as that of a transfer that took its time.
func (m *Manager) noteLongUse(ctx context.Context, p Project, dirName string) {
	if d, err := m.descriptors.get(ctx, p, dirName); err == nil {
		m.noteUse(ctx, d)
	}
}

// noteUse lengthens a RootDir's life. When that fails it only ends earlier.
func (m *Manager) noteUse(ctx context.Context, d stored) {
	now := m.now().UTC()
	if now.Sub(d.UsedAt) < m.exactness() {
		return
	}
	if err := m.descriptors.touch(ctx, d, now); err != nil {
		m.log.Warn("the use of a RootDir was not noted", "dir", d.DirName, "err", err)
	}
}

// Tend obeys, until ctx is done, what is written into the state by others, and
// closes the RootDirs whose time has come.
func (m *Manager) Tend(ctx context.Context) {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	var swept time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := m.Obey(ctx); err != nil && ctx.Err() == nil {
			m.log.Error("the states of the projects cannot be read", "err", err)
		}
		if now := m.now(); now.Sub(swept) >= sweepEvery {
			swept = now
			m.sweep(ctx)
		}
	}
}

// sweep closes the RootDirs that have expired or whose owner's token is no
// longer good.
func (m *Manager) sweep(ctx context.Context) {
	all, err := m.descriptors.all(ctx)
	if err != nil {
		if ctx.Err() == nil {
			m.log.Error("the RootDirs cannot be read", "err", err)
		}
		return
	}
	good := map[string]bool{}
	for _, d := range all {
		switch {
		case d.Closing:
			m.closeLate(ctx, d.Descriptor, "its closing had failed")
		case m.expired(d.Descriptor):
			m.closeLate(ctx, d.Descriptor, "expired")
		case d.DeleteOnCreatorClose && !m.ownerGood(ctx, d.Creator, good):
			m.closeLate(ctx, d.Descriptor, "its owner's token ended")
		}
	}
}

func (m *Manager) closeLate(ctx context.Context, d Descriptor, why string) {
	err := m.CloseDir(ctx, d.project(), d.DirName)
	if fault.CodeOf(err) == common.ErrorCodeDirNotFound {
		return // another caller is closing it, or was faster
	}
	if err != nil {
		m.log.Error("RootDir cannot be closed", "dir", d.DirName, "why", why, "err", err)
		return
	}
	m.log.Info("RootDir ended", "tenant", d.Tenant, "project", d.ProjectID, "dir", d.DirName, "why", why)
}

// ownerGood asks once for each token.
func (m *Manager) ownerGood(ctx context.Context, scope string, known map[string]bool) bool {
	id := tokenOf(scope)
	if id == "" {
		return true // a session's; the session ends it
	}
	good, asked := known[id]
	if !asked {
		var err error
		if good, err = m.tokenGood(ctx, id); err != nil {
			good = true // nothing is deleted on a guess
		}
		known[id] = good
	}
	return good
}

// The forms of a scope: of a live MCP session, of a token, and of a name that a
// token's calls gave.
const (
	sessionScope = "mcp:"
	tokenScope   = "token:"
	namedScope   = "named:"
)

// SessionScope, TokenScope and NamedScope are the creators of RootDirs.
func SessionScope(session string) string     { return sessionScope + session }
func TokenScope(tokenID string) string       { return tokenScope + tokenID }
func NamedScope(tokenID, name string) string { return namedScope + tokenID + ":" + name }

// tokenOf is the token that a scope depends on.
func tokenOf(scope string) string {
	if id, ok := strings.CutPrefix(scope, tokenScope); ok {
		return id
	}
	rest, ok := strings.CutPrefix(scope, namedScope)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, ":")
	return id
}

// CloseScope ends a scope: its RootDirs that go with it are closed. It returns
// their names.
func (m *Manager) CloseScope(ctx context.Context, p Project, scope string) ([]string, error) {
	all, err := m.descriptors.list(ctx, p)
	if err != nil {
		return nil, err
	}
	closed := []string{}
	for _, d := range all {
		if d.Closing || d.Creator != scope || !d.DeleteOnCreatorClose {
			continue
		}
		err := m.CloseDir(ctx, p, d.DirName)
		switch fault.CodeOf(err) {
		case common.ErrorCodeDirNotFound: // another caller was faster
		case "":
			closed = append(closed, d.DirName)
		default:
			return closed, err
		}
	}
	return closed, nil
}

// Temp returns the scope's own temp RootDir, made when it is missing.
func (m *Manager) Temp(ctx context.Context, p Project, scope string) (string, error) {
	m.tempMaking.Lock()
	defer m.tempMaking.Unlock()
	all, err := m.descriptors.list(ctx, p)
	if err != nil {
		return "", err
	}
	for _, d := range all {
		if d.Type == TypeTemp && d.Creator == scope && !d.Closing && !m.expired(d.Descriptor) {
			return d.DirName, nil
		}
	}
	d, err := m.Create(ctx, p, CreateRequest{Type: TypeTemp, Creator: scope, DeleteOnCreatorClose: true})
	return d.DirName, err
}
