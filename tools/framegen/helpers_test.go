package main

import (
	"testing"

	"github.com/vancetope/transfer/schema"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

func loadModel(t *testing.T) *spec.Model {
	t.Helper()
	m, err := spec.Load(schema.Files())
	if err != nil {
		t.Fatal(err)
	}
	return m
}
