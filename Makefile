# `make help` lists what people call; the rest are steps of those.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# The same build whatever the caller's environment says.
export GOFLAGS := -mod=readonly -buildvcs=false
export GOWORK := off

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.0.0-dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS := -s -w -X github.com/vancetope/transfer/internal/version.version=$(VERSION) -X github.com/vancetope/transfer/internal/version.commit=$(COMMIT)
EXE     := $(shell go env GOEXE 2>/dev/null)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

##   make setup     check the tools and install what is missing
.PHONY: setup
setup:
	@scripts/setup

.PHONY: setup-go
setup-go:
	@scripts/setup go

##   make generate  schema/ to Go, TypeScript and documents
.PHONY: generate
generate: setup-go
	go generate ./schema

##   make vectors   drafts of the example messages that schema/ lacks; AGAIN=1 renews the drafts
.PHONY: vectors
vectors: setup-go
	go run ./tools/framegen -vectors $(if $(AGAIN),-again)

##   make schema-diff      what the schemas break for peers of schema/baseline.json; exit 1 unless schema/BREAKING.md says so
.PHONY: schema-diff
schema-diff: setup-go
	@go run ./tools/schemadiff

##   make schema-baseline  the schemas of today become the baseline; NAME=0.2.0 keeps what BREAKING.md says under that name
.PHONY: schema-baseline
schema-baseline: setup-go
	@go run ./tools/schemadiff -baseline -name='$(NAME)'

##   make build     bin/brain, bin/foot, bin/bench and bin/conformance
.PHONY: build
build: setup-go
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/brain$(EXE) ./brain
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/foot$(EXE) ./foot
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/bench$(EXE) ./tools/bench
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/conformance$(EXE) ./tools/conformance

##   make demo      a file to the Brain and back through an LLM client's session; FILE=path sends another
# FILE goes through untouched, whatever its name holds: make must not expand it.
unexport FILE
.PHONY: demo
demo: export DEMO_FILE := $(value FILE)
demo: build
	@CGO_ENABLED=0 go build -trimpath -o bin/demo$(EXE) ./tools/demo
	@bin/demo$(EXE) --brain bin/brain$(EXE) --foot bin/foot$(EXE) --file="$$DEMO_FILE"

##   make lint      vet, staticcheck, gofmt, tsc, schema lint, other systems
.PHONY: lint
lint: setup lint-go lint-schema lint-types lint-systems
	go run $(STATICCHECK) ./...

.PHONY: lint-go
lint-go:
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "run gofmt -w on:" $$unformatted >&2; exit 1; fi
	CGO_ENABLED=0 go vet -trimpath ./... # compiled as the programs are: one cache for both

.PHONY: lint-schema
lint-schema:
	go run ./tools/framegen -check

.PHONY: lint-types
lint-types:
	@if grep -n '"resolved"' web-types/package-lock.json tools/documents/package-lock.json tools/mcpclient/package-lock.json; then \
	  echo "a lock file names a registry: remove it and node_modules beside it, then npm install there" >&2; exit 1; fi
	cd web-types && npm run --silent check

.PHONY: lint-systems
lint-systems:
	GOOS=windows CGO_ENABLED=0 go build -o /dev/null ./brain
	GOOS=windows CGO_ENABLED=0 go build -o /dev/null ./foot
	GOOS=darwin CGO_ENABLED=0 go build -o /dev/null ./brain
	GOOS=darwin CGO_ENABLED=0 go build -o /dev/null ./foot

##   make test      everything: cheap lint, the types' tests, all Go tests with -race
.PHONY: test
test: setup lint-go lint-types test-types test-documents test-go test-fuzz

.PHONY: test-types
test-types: setup-go
	cd web-types && npm test --silent

# The documents in gen/, by the official parsers of their formats.
.PHONY: test-documents
test-documents:
	cd tools/documents && npm test --silent

.PHONY: test-go
test-go:
	go test -race -timeout 20m ./...
	@# The comparison with the schemas, all of it: with -race every sixteenth instance is tried.
	go test -timeout 20m -v ./tools/framegen/difftest | { grep -v '^ *--- PASS\|^=== ' || true; }

##   make fuzz      every fuzzer, FUZZTIME=5m each (or 2000000x), and 300,000 random edits; what they find is kept as a test
# TypeScript and ajv judge all instances and 150,000 random edits; make test gives them a seventh.
FUZZTIME ?= 5m
.PHONY: fuzz
fuzz: setup
	cd web-types && INSTANCES_EVERY=1 INSTANCES_EDITS=150000 npx vitest run --testTimeout=600000 --hookTimeout=600000 test/instances.test.ts
	FRAMEGEN_DIFF_ROUNDS=300000 go test ./tools/framegen/difftest -timeout 30m -count=1 -v -run 'TestDecodersAgree|TestValidateAgrees' | { grep -v '^ *--- PASS\|^=== ' || true; }
	@scripts/fuzz $(FUZZTIME)

# A look, on every test run.
.PHONY: test-fuzz
test-fuzz:
	@scripts/fuzz 10s DecodersAgree ./tools/framegen/difftest
	@scripts/fuzz 3s 'FastPath|Payloads' ./tools/framegen/difftest

##   make mutate    wrong versions of the generated code, which the tests must notice; SAMPLE=200 SEED=1 tries only so many
SAMPLE ?= 0
SEED ?= 1
.PHONY: mutate
mutate: setup-go
	go run ./tools/framegen/mutate -sample $(SAMPLE) -seed $(SEED)

##   make bench-codec  what decoding and encoding frames costs against other ways, and hostile messages; exit 1 when a goal is missed
.PHONY: bench-codec
bench-codec: setup-go
	go run ./tools/framegen/codecbench

##   make bench     transfers against HTTP, scp, rsync, tusd and cp, in one run; ONLY='256M*' picks, ROUNDS=n
# What is installed is compared; scripts/setup bench installs rsync and sshd on Debian.
ROUNDS ?= 5
ONLY   ?=
.PHONY: bench
bench: build
	@bin/bench$(EXE) run --brain bin/brain$(EXE) --foot bin/foot$(EXE) --rounds $(ROUNDS) --only='$(ONLY)'

##   make bench-report  all of make bench, into README.md and docs/performance.md
.PHONY: bench-report
bench-report: build
	bin/bench$(EXE) run --json --brain bin/brain$(EXE) --foot bin/foot$(EXE) --rounds $(ROUNDS) > bin/bench.json
	bin/bench$(EXE) report bin/bench.json

##   make soak      random faults for SOAK (default 30m), then a long row; SOAK_SEED=n replays
# At most 40 minutes. The seed is printed; SOAK_ROUND=n begins at the round that failed.
SOAK       ?= 30m
SOAK_SEED  ?= 0
SOAK_ROUND ?= 0
SOAK_ROW   ?= 10000
.PHONY: soak
soak: setup-go
	go test -v -count=1 -timeout 40m -run '^TestSoak$$' ./internal/e2etest -soak $(SOAK) -seed $(SOAK_SEED) -round $(SOAK_ROUND)
	go test -v -count=1 -timeout 10m -run '^TestTenThousandTransfersInARow' ./internal/e2etest -row $(SOAK_ROW)

##   make release   archives of both programs for every system into dist/, with SHA256SUMS
.PHONY: release
release: setup-go
	go run ./tools/release

##   make release-check  the release of the last commit, twice: the bytes must be the same; ONLY=linux/amd64 builds less
.PHONY: release-check
release-check: setup-go
	@scripts/release-check '$(ONLY)'

##   make clean     remove what was built
.PHONY: clean
clean:
	rm -rf bin dist web-types/dist web-types/node_modules tools/documents/node_modules tools/mcpclient/node_modules

.PHONY: help
help:
	@sed -n 's/^##//p' $(firstword $(MAKEFILE_LIST))
