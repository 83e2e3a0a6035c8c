package fault

import (
	"errors"
	"io"
	"testing"

	"github.com/vancetope/transfer/gen/common"
)

func TestAFaultOfAPathSaysOfWhichOfThem(t *testing.T) {
	for _, row := range []struct {
		err  error
		want string
	}{
		{New(common.ErrorCodeNotFound), "file not found: here"},
		{Newf(common.ErrorCodeInvalidPath, "is a directory"), "invalid path: is a directory (here)"},
		{New(common.ErrorCodeDiskFull), "disk full: here"},
		{New(common.ErrorCodeHashMismatch), "hash mismatch"},
		{io.EOF, "EOF"},
	} {
		if got := At(row.err, "here"); got.Error() != row.want || !errors.Is(got, row.err) {
			t.Errorf("%v: %v", row.err, got)
		}
	}
	if At(nil, "here") != nil {
		t.Error("nothing is a fault")
	}
}
