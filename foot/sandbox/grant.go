package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/settings"
)

// Grant opens one more folder of this machine, which a Brain addresses as
// @NAME/rest or by its absolute path.
type Grant struct {
	Name   string
	Path   string // absolute
	Access common.Access
}

// ParseGrant reads NAME=PATH with :ro (the default) or :rw at its end.
func ParseGrant(text string) (Grant, error) {
	g := Grant{Access: common.AccessRead}
	name, path, ok := strings.Cut(text, "=")
	if !ok {
		return g, errors.New("is not NAME=PATH, NAME=PATH:ro or NAME=PATH:rw")
	}
	if err := rootfs.CheckSegment("name", name); err != nil {
		return g, err
	}
	g.Name = name
	if rest, ok := strings.CutSuffix(path, ":rw"); ok {
		path, g.Access = rest, common.AccessEdit
	} else {
		path = strings.TrimSuffix(path, ":ro")
	}
	var err error
	if g.Path, err = settings.ExpandPath(path); err != nil {
		return g, fmt.Errorf("has a path that %w", err)
	}
	return g, nil
}

// openGrants opens the granted folders, which must be there already.
func (s *Sandbox) openGrants(grants []Grant) error {
	for _, g := range grants {
		for _, other := range s.grants {
			if rootfs.FoldKey(other.grant) == rootfs.FoldKey(g.Name) {
				return fmt.Errorf("the name %s is given to two folders", g.Name)
			}
		}
		f, err := s.openGrant(g)
		if err != nil {
			return fmt.Errorf("the folder of %s, %s: %w (it has to be there; behind it only :ro or :rw may stand)", g.Name, safetext.Quote(g.Path), err)
		}
		s.grants = append(s.grants, f)
	}
	return nil
}

func (s *Sandbox) openGrant(g Grant) (*folder, error) {
	root, err := rootfs.Open(g.Path, s.rootOptions())
	if err != nil {
		return nil, err
	}
	if err := usable(root.Path()); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s.newFolder(root, g.Name, root.Path(), g.Path, lower(g.Access, s.options.Access)), nil
}

// Grants tells the granted folders with what a Brain may do in them: never more
// than on the whole machine.
func (s *Sandbox) Grants() []common.Grant {
	told := make([]common.Grant, len(s.grants))
	for i, f := range s.grants {
		told[i] = common.Grant{Name: f.grant, Access: f.access}
	}
	return told
}

// lower is the lower of two levels.
func lower(a, b common.Access) common.Access {
	if a == common.AccessRead || b == common.AccessRead {
		return common.AccessRead
	}
	return common.AccessEdit
}
