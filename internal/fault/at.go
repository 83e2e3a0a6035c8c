package fault

import (
	"errors"

	"github.com/vancetope/transfer/gen/common"
)

// At adds to a fault of a path, or of the disk below it, which of several paths it
// is about. All other errors stay as they are.
func At(err error, which string) error {
	var f *Error
	if !errors.As(err, &f) {
		return err
	}
	switch f.Code {
	case common.ErrorCodeNotFound, common.ErrorCodeInvalidPath, common.ErrorCodePathEscapesSandbox, common.ErrorCodeNotRegularFile,
		common.ErrorCodeSymlinkNotAllowed, common.ErrorCodePermissionDenied, common.ErrorCodePathProtected, common.ErrorCodeAlreadyExists,
		common.ErrorCodeDiskFull, common.ErrorCodeInsufficientSpace:
	default:
		return err
	}
	if f.Text == text(f.Code) {
		return &Error{Code: f.Code, Text: f.Text + ": " + which, cause: err}
	}
	return &Error{Code: f.Code, Text: f.Text + " (" + which + ")", cause: err}
}
