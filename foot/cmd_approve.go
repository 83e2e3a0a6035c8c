package main

import (
	"github.com/vancetope/transfer/foot/control"
	"github.com/vancetope/transfer/internal/safetext"
)

// approveCmd is `foot approve`.
type approveCmd struct {
	placeFlags
	ID     string `arg:"" help:"Transfer that waits, as foot status and the question name it; its first or last characters will do."`
	Always bool   `help:"Also allow what follows in the same folder and below it, in the same direction, while that Foot runs."`
}

// Run is called by kong.
func (c *approveCmd) Run(s streams) error {
	var path string
	_, err := c.findRunning(func(dir string) (err error) {
		path, err = control.Approve(dir, c.ID, c.Always)
		return err
	})
	if err != nil {
		return err
	}
	return s.print("approved: " + safetext.Escape(path))
}

// declineCmd is `foot decline`.
type declineCmd struct {
	placeFlags
	ID string `arg:"" help:"Transfer that waits, as foot status and the question name it; its first or last characters will do."`
}

// Run is called by kong.
func (c *declineCmd) Run(s streams) error {
	var path string
	_, err := c.findRunning(func(dir string) (err error) {
		path, err = control.Decline(dir, c.ID)
		return err
	})
	if err != nil {
		return err
	}
	return s.print("declined: " + safetext.Escape(path))
}
