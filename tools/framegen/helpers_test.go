package main

import (
	"sync"
	"testing"

	"github.com/vancetope/transfer/schema"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

// model is read once: nothing changes it.
var model = sync.OnceValues(func() (*spec.Model, error) { return spec.Load(schema.Files()) })

func loadModel(t *testing.T) *spec.Model {
	t.Helper()
	m, err := model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
