package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// prepareAllocations counts what Brain allocates: as the receiver of an upload,
// and as the sender of a download. Both ends share that code.
func prepareAllocations(ctx context.Context, s *stage) ([]contender, error) {
	var contenders []contender
	for _, chunk := range []struct {
		setting string
		bytes   int64
	}{{"64KiB", 64 * kib}, {"256KiB", 256 * kib}} {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		metrics := fmt.Sprintf("127.0.0.1:%d", port)
		p, err := s.newPair(ctx, pairOptions{folder: s.memory, chunk: chunk.setting, metrics: metrics})
		if err != nil {
			return nil, err
		}
		for _, d := range []direction{upload, download} {
			c, err := p.oneFile(ourCase(d, chunk.setting), d, allocationBytes)
			if err != nil {
				return nil, err
			}
			contenders = append(contenders, counted(c, metrics, allocationBytes/chunk.bytes))
		}
	}
	return contenders, nil
}

const allocationBytes = 256 * mib

// counted adds the allocations per chunk to a contender's figures. What the tool
// call itself allocates is in them, spread over all chunks.
func counted(c contender, metrics string, chunks int64) contender {
	run := c.run
	c.run = func(ctx context.Context, round int) (sample, error) {
		before, err := mallocs(ctx, metrics)
		if err != nil {
			return sample{}, err
		}
		got, err := run(ctx, round)
		if err != nil {
			return got, err
		}
		after, err := mallocs(ctx, metrics)
		if err != nil {
			return got, err
		}
		got.Figures[allocsFigure] = (after - before) / float64(chunks)
		return got, nil
	}
	return c
}

// mallocs reads how many objects a Brain has ever allocated.
func mallocs(ctx context.Context, metrics string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the metrics answered %s", answer.Status)
	}
	const name = "go_memstats_mallocs_total "
	for lines := bufio.NewScanner(io.LimitReader(answer.Body, 4<<20)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("the metrics hold no %s", strings.TrimSpace(name))
}
