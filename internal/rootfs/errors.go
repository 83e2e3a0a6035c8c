package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

// What the systems report in different ways, said in one way.
var (
	errLink         = errors.New("a link")
	errNotDirectory = errors.New("not a directory")
	errUnsupported  = errors.New("not supported by the file system")
)

func linkError(component string) error {
	return fault.Newf(common.ErrorCodeSymlinkNotAllowed, "%s", safetext.Escape(component))
}

func isDirectoryError() error {
	return fault.Newf(common.ErrorCodeInvalidPath, "is a directory")
}

func notRegularError(kind string) error {
	return fault.Newf(common.ErrorCodeNotRegularFile, "%s", kind)
}

// readError is the fault of a system error met while reading.
func readError(err error) error { return toFault(err, false) }

// writeError is the fault of a system error met while writing.
func writeError(err error) error { return toFault(err, true) }

// toFault gives a system error its code. The reason goes into the text, never
// the path, which may be the machine's own.
func toFault(err error, writing bool) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	code := common.ErrorCodeInternal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(common.ErrorCodeNotFound, err)
	case isDiskFull(err):
		code = common.ErrorCodeDiskFull
	case isReadOnly(err):
		return fault.Wrapf(common.ErrorCodePermissionDenied, err, "%s", reason(err))
	case errors.Is(err, fs.ErrPermission):
		return fault.Wrap(common.ErrorCodePermissionDenied, err)
	case errors.Is(err, fs.ErrExist):
		return fault.Wrap(common.ErrorCodeAlreadyExists, err)
	case isBadName(err), errors.Is(err, syscall.EISDIR):
		code = common.ErrorCodeInvalidPath
	case errors.Is(err, errNotDirectory), errors.Is(err, syscall.ENOTDIR):
		code = common.ErrorCodeNotFound
		if writing {
			code = common.ErrorCodeInvalidPath
		}
	case errors.Is(err, errUnsupported):
		code = common.ErrorCodeUnsupported
	}
	return fault.Wrapf(code, err, "%s", reason(err))
}

// reason is the system's own word for an error, without the path it was about.
func reason(err error) string {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		err = pathErr.Err
	case errors.As(err, &linkErr):
		err = linkErr.Err
	}
	return err.Error()
}
