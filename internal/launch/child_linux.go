package launch

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// childAttributes makes the kernel end the child when this process dies, so
// that an aborted test run leaves no server behind.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

type start struct {
	cmd *exec.Cmd
	err chan error
}

var (
	starterOnce sync.Once
	starts      = make(chan start)
)

// startChild starts cmd on one thread that lives as long as this process: the
// kernel counts the death of the starting thread, not of the process.
func startChild(cmd *exec.Cmd) error {
	starterOnce.Do(func() {
		go func() {
			runtime.LockOSThread()
			for s := range starts {
				s.err <- s.cmd.Start()
			}
		}()
	})
	s := start{cmd, make(chan error)}
	starts <- s
	return <-s.err
}
