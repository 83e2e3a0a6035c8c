package hub

import (
	"context"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// staging is a staging file as a transfer wants it.
type staging struct{ *workspace.Staging }

// Write says of a full disk whose it is.
func (s staging) Write(p []byte) (int, error) {
	n, err := s.Staging.Write(p)
	return n, fault.At(err, remotePath)
}

func (s staging) Publish(ctx context.Context) (string, error) {
	published, err := s.Staging.Publish(ctx)
	return published.Path, fault.At(err, remotePath)
}

// parseAttrs reads the attributes of a request or of an init.
func parseAttrs(in *common.FileAttrs) (rootfs.Attrs, error) {
	var out rootfs.Attrs
	if in == nil {
		return out, nil
	}
	out.ModTime = in.Mtime
	if in.Mode != nil {
		mode, err := rootfs.ParseMode(*in.Mode)
		if err != nil {
			return out, err
		}
		out.Mode = &mode
	}
	return out, nil
}
