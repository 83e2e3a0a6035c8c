package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// crowd is the contender that moves many files through one connection, some at
// a time.
type crowd struct {
	pair      *pair
	direction direction
	files     int
	size      int64
	atOnce    int
	// pings measures the round trips meanwhile; nil does not.
	pings *pinger
}

// contender makes the files and returns the contender.
func (c crowd) contender(name string) (contender, error) {
	digests := make([]string, c.files)
	for i := range digests {
		var err error
		if digests[i], err = source(filepath.Join(c.direction.from(c.pair), c.from(i)), c.size); err != nil {
			return contender{}, err
		}
	}
	return contender{name: name, run: func(ctx context.Context, round int) (sample, error) {
		seconds := make([]float64, c.files)
		stop := func() {}
		if c.pings != nil {
			stop = c.pings.start()
		}
		got, err := c.pair.timed(func() error { return c.move(ctx, round, seconds) })
		stop()
		if err != nil {
			return got, err
		}
		got.Figures[jainFigure] = jain(c.size, seconds)
		if c.pings != nil {
			pings := c.pings.collect()
			if len(pings) == 0 {
				return got, errors.New("no ping was answered")
			}
			got.Figures[pingP50Figure] = percentile(pings, 50).Seconds()
			got.Figures[pingP99Figure] = percentile(pings, 99).Seconds()
			got.Figures[pingCountFigure] = float64(len(pings))
		}
		for i, digest := range digests {
			if err := arrived(filepath.Join(c.direction.to(c.pair), c.to(round, i)), digest); err != nil {
				return got, err
			}
		}
		return got, os.Remove(filepath.Join(c.direction.to(c.pair), filepath.Dir(c.to(round, 0))))
	}}, nil
}

func (c crowd) from(i int) string { return fmt.Sprintf("%s-%s/%04d", c.direction.name(), "source", i) }
func (c crowd) to(round, i int) string {
	return fmt.Sprintf("%s-%d/%04d", c.direction.name(), round, i)
}

// move moves all files, atOnce at a time, and notes how long each took.
func (c crowd) move(ctx context.Context, round int, seconds []float64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range c.atOnce {
		workers.Go(func() {
			for i := range next {
				start := time.Now()
				if err := c.pair.move(ctx, c.direction, c.from(i), c.to(round, i)); err != nil {
					cancel(err)
				}
				seconds[i] = time.Since(start).Seconds()
			}
		})
	}
	for i := range c.files {
		next <- i
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
