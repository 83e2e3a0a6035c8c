package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30

	baselineH     = "H"
	baselineRsync = "rsync -rt daemon"
	baselineOne   = "one transfer"
	atOnceCase    = "16 at once"
	pingedCase    = "16 at once, pinged"
	smallCase     = "16 calls in flight"
	scpCase       = "scp"
)

// groups is everything there is to measure.
func groups() []group {
	return []group{
		{name: "256M", title: "256 MiB in memory", bytes: 256 * mib, baseline: baselineH,
			prepare: whole{size: 256 * mib, chunks: []string{"64KiB", "256KiB", "1MiB"}, peers: true}.prepare},
		{name: "1G", title: "1 GiB in memory", bytes: gib, baseline: baselineH,
			prepare: whole{size: gib, chunks: []string{"256KiB"}, peers: true}.prepare},
		{name: "disk", title: "256 MiB on a disk (no goal)", bytes: 256 * mib, baseline: baselineH,
			prepare: whole{size: 256 * mib, chunks: []string{"64KiB", "256KiB"}, disk: true}.prepare},
		{name: "many", title: "16 files of 16 MiB at once on one socket, in memory", bytes: 256 * mib, files: 16, baseline: baselineOne,
			prepare: prepareMany},
		{name: "small", title: "1,000 files of 4 KiB in memory", bytes: 1000 * 4 * kib, files: 1000, baseline: baselineRsync,
			prepare: prepareSmall},
		{name: "memory", title: "Memory: one file of 4 GiB", bytes: 4 * gib, once: true,
			prepare: func(ctx context.Context, s *stage) ([]contender, error) {
				return s.perChunk(ctx, func(p *pair, chunk string) (contender, error) { return p.oneFile(chunk, upload, 4*gib) })
			}},
		{name: "memory16", title: "Memory: 16 files of 64 MiB at once", bytes: gib, files: 16, once: true,
			prepare: func(ctx context.Context, s *stage) ([]contender, error) {
				return s.perChunk(ctx, func(p *pair, chunk string) (contender, error) {
					return crowd{pair: p, direction: upload, files: 16, size: 64 * mib, atOnce: 16}.contender(chunk)
				})
			}},
		{name: "allocations", title: "What Brain allocates for each chunk", bytes: allocationBytes, once: true,
			prepare: prepareAllocations},
	}
}

// whole compares the ways to move one whole file.
type whole struct {
	size   int64
	chunks []string
	disk   bool
	peers  bool
}

func (w whole) prepare(ctx context.Context, s *stage) ([]contender, error) {
	folder := s.memory
	if w.disk {
		folder = s.disk
	}
	l, err := s.newLane(folder, w.size)
	if err != nil {
		return nil, err
	}
	contenders, err := l.http(ctx)
	if err != nil {
		return nil, err
	}
	contenders = append(contenders, l.copying())
	for _, chunk := range w.chunks {
		p, err := s.newPair(ctx, pairOptions{folder: folder, chunk: chunk})
		if err != nil {
			return nil, err
		}
		for _, d := range []direction{upload, download} {
			c, err := p.oneFile(ourCase(d, chunk), d, w.size)
			if err != nil {
				return nil, err
			}
			contenders = append(contenders, c)
		}
	}
	if !w.peers {
		return contenders, nil
	}
	for _, peer := range []func(context.Context) ([]contender, error){l.rsync, l.scp,
		func(ctx context.Context) ([]contender, error) { return l.tusd(ctx, w.size) }} {
		more, err := peer(ctx)
		if err != nil {
			return nil, err
		}
		contenders = append(contenders, more...)
	}
	return contenders, nil
}

// ourCase names a transfer of ours in one direction.
func ourCase(d direction, chunk string) string { return d.name() + " " + chunk }

func prepareMany(ctx context.Context, s *stage) ([]contender, error) {
	var pings pinger
	p, err := s.newPair(ctx, pairOptions{folder: s.memory, chunk: "256KiB"})
	if err != nil {
		return nil, err
	}
	pinged, err := s.newPair(ctx, pairOptions{folder: s.memory, chunk: "256KiB", between: func(url string) (string, error) {
		return pings.between(s, url)
	}})
	if err != nil {
		return nil, err
	}
	one, err := p.oneFile(baselineOne, upload, 256*mib)
	if err != nil {
		return nil, err
	}
	contenders := []contender{one}
	for _, c := range []struct {
		name  string
		crowd crowd
	}{
		{atOnceCase, crowd{pair: p, direction: upload}},
		{pingedCase, crowd{pair: pinged, direction: upload, pings: &pings}},
	} {
		c.crowd.files, c.crowd.size, c.crowd.atOnce = 16, 16*mib, 16
		made, err := c.crowd.contender(c.name)
		if err != nil {
			return nil, err
		}
		contenders = append(contenders, made)
	}
	return contenders, nil
}

func prepareSmall(ctx context.Context, s *stage) ([]contender, error) {
	const files, size = 1000, 4 * kib
	p, err := s.newPair(ctx, pairOptions{folder: s.memory, chunk: "64KiB"})
	if err != nil {
		return nil, err
	}
	ours, err := crowd{pair: p, direction: upload, files: files, size: size, atOnce: 16}.contender(smallCase)
	if err != nil {
		return nil, err
	}
	l, err := s.newLane(s.memory, size)
	if err != nil {
		return nil, err
	}
	rsync, err := l.rsyncTree(ctx, files, size)
	return append(rsync, ours), err
}

// rsyncTree is the contender for a folder of small files.
func (l *lane) rsyncTree(ctx context.Context, files int, size int64) ([]contender, error) {
	program, url, p, ok, err := l.rsyncDaemon(ctx)
	if !ok || err != nil {
		return nil, err
	}
	folder := filepath.Join(filepath.Dir(l.source), "tree")
	digests := make([]string, files)
	for i := range digests {
		if digests[i], err = source(filepath.Join(folder, fmt.Sprintf("%04d", i)), size); err != nil {
			return nil, err
		}
	}
	return []contender{{name: baselineRsync, run: func(ctx context.Context, round int) (sample, error) {
		to := strconv.Itoa(round)
		got, err := l.stage.timeCommand(ctx, p.PID(), []string{program, "-rt", folder + "/", url + to})
		if err != nil {
			return got, err
		}
		for i, digest := range digests {
			if err := arrived(filepath.Join(l.dest, to, fmt.Sprintf("%04d", i)), digest); err != nil {
				return got, err
			}
		}
		return got, os.Remove(filepath.Join(l.dest, to))
	}}}, nil
}

// memoryChunks are the default and the largest.
var memoryChunks = []string{"64KiB", "1MiB"}

// perChunk makes a contender for each of memoryChunks, with programs of its own.
func (s *stage) perChunk(ctx context.Context, make func(p *pair, chunk string) (contender, error)) ([]contender, error) {
	var contenders []contender
	for _, chunk := range memoryChunks {
		p, err := s.newPair(ctx, pairOptions{folder: s.memory, chunk: chunk})
		if err != nil {
			return nil, err
		}
		c, err := make(p, chunk)
		if err != nil {
			return nil, err
		}
		contenders = append(contenders, c)
	}
	return contenders, nil
}
