//go:build !linux

package launch

import (
	"os/exec"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

func startChild(cmd *exec.Cmd) error { return cmd.Start() }
