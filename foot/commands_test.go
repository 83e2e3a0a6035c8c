package main

import (
	"os"
	"testing"
)

func TestEveryCommandHasExamplesThatParse(t *testing.T) {
	missing, err := commandLine(&grammar{}, streams{os.Stdin, os.Stdout, os.Stderr}).Missing()
	if len(missing) > 0 || err != nil {
		t.Errorf("without an example: %q; wrong: %v", missing, err)
	}
}
