package agent

import (
	"fmt"

	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/wire"
)

// CheckBrain refuses an address that no connection should be tried with:
// above all clear text to another machine, on whose way anybody could read the
// token and every file, unless the user allows it.
func CheckBrain(address, tenant string, allowInsecure bool) error {
	if err := rootfs.CheckSegment("tenant", tenant); err != nil {
		return err
	}
	u, err := wire.BrainURL(address, tenant)
	if err != nil {
		return err
	}
	if !allowInsecure && wire.PlainOffLoopback(u) {
		return fmt.Errorf("clear text to %s is refused, since anybody on the way could read the token and the files: "+
			"use wss:// or https://, or a tunnel that begins at 127.0.0.1, or --allow-insecure when the network between is trusted", u.Hostname())
	}
	return nil
}
