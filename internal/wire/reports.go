package wire

import (
	"time"

	"golang.org/x/time/rate"
)

// Reports is the pace at which the error frames of one connection are logged: a
// peer may send as many as it likes, and must not fill a disk with them.
func Reports() *rate.Sometimes { return &rate.Sometimes{First: 20, Interval: time.Minute} }
