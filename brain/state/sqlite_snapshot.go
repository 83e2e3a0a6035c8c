package state

import (
	"context"
	"fmt"
)

// Snapshot writes the state as it is at one moment into a new file, which can be
// opened in the place of this one. Others may go on writing meanwhile. The file
// must not exist, and gets the permissions that the process gives new files: the
// caller chooses a folder that nobody else can enter.
func (s *SQLite) Snapshot(ctx context.Context, file string) error {
	if _, err := s.db.ExecContext(ctx, `VACUUM INTO ?`, file); err != nil {
		return fmt.Errorf("copy the state: %w", err)
	}
	return nil
}
