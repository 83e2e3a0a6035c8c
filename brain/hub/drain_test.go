package hub

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/rootfs/faultfs"
)

// Hazard: a network disk that hangs keeps the program from ending.
func TestADrainDoesNotWaitForADiskThatDoesNotAnswer(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	disk := faultfs.New(faultfs.Do(rootfs.OpSync, func(string) {
		close(asked)
		<-answer
	}))
	t.Cleanup(rootfs.InjectFaults(func(dir string) rootfs.Faults {
		if strings.HasSuffix(dir, filepath.Join(acme.ProjectID, "in")) {
			return disk
		}
		return nil
	}))
	w := newWorld(t)
	dir := w.dir(t, "in")
	f := w.foot(t, "laptop")
	done := start(t.Context(), w.Upload, upload("in", "a"))
	request := hubtest.Next[*frames.ClientFileUploadRequest](f)
	f.Offer(request, []byte("x"))
	if a := hubtest.Next[*frames.TransferInitResponse](f); !a.Ok {
		t.Fatal(*a.Error)
	}
	f.Stream(request.TransferID, []byte("x"), 1)
	<-asked

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		w.Drain(ctx)
	}()
	if code, _ := f.Closed(); code != 1012 {
		t.Errorf("closed with %d", code)
	}
	select {
	case <-drained:
	case <-time.After(hubtest.Patience):
		t.Fatal("the drain waits for the disk")
	}
	close(answer)
	if o := await(t, done); o.err == nil {
		t.Error("the upload says that it went well")
	} else {
		o.wantCode(t, common.ErrorCodeCancelled)
	}
	wantListing(t, dir)
}
