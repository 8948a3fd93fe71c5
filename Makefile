# Cloister. `make demo` runs the main job, `make test` the tests, `make quick` those that
# answer within a minute; all set up what they need: the pinned JavaScript engine (npm) and
# the example plugins.

GO            ?= go
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.9.0
BENCHSTAT     := golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
FUZZTIME      ?= 60s
ENGINE        := quickjs/engine/node_modules/quickjs-wasi/quickjs.wasm
SERVERS       := host/mcp/testdata/servers/node_modules/.package-lock.json
COSIGN        := github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3
GOPLUGINS     := examples/plugins/csvquery/plugin.wasm examples/plugins/issues/plugin.wasm
TEXTTOOLS     := examples/plugins/texttools/plugin.wasm
HASHES        := examples/plugins/hashes/plugin.wasm
# clang builds the C plugin where it knows wasm32 and has a linker for it.
WASMCLANG     := $(shell command -v wasm-ld >/dev/null && clang --print-targets 2>/dev/null | grep -qw wasm32 && echo yes)

# The race detector makes compiling plugins twenty times slower. What only builds and runs plugins
# that other packages race as well is left to make test, and so are the long forms of tests.
RACED          = $(shell $(GO) list ./... | grep -v -e /internal/scaffold -e /internal/lint -e '/examples$$' -e '/bench/load$$')

.PHONY: release reproduce all demo test quick check bench peers fuzz build engine servers plugins wit interop conformance load mutants format clean help

all: build

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

engine: $(ENGINE) ## fetch the pinned JavaScript engine
$(ENGINE): quickjs/engine/package-lock.json
	cd quickjs/engine && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

servers: $(SERVERS) ## fetch the MCP servers that tests run
$(SERVERS): host/mcp/testdata/servers/package-lock.json
	cd host/mcp/testdata/servers && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

plugins: $(GOPLUGINS) $(TEXTTOOLS) ## build the example plugins: Go, AssemblyScript and, with clang, C
ifeq ($(WASMCLANG),yes)
plugins: $(HASHES)
else
plugins:
	@echo 'clang with the wasm32 target and lld is missing: the C plugin is skipped (Debian: clang lld)'
endif

examples/plugins/%/plugin.wasm: go.mod $(wildcard sdk/*.go guestabi/*.go)
	GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o $@ ./$(@D)
examples/plugins/csvquery/plugin.wasm: $(wildcard examples/plugins/csvquery/*.go examples/plugins/csvquery/*/*.go)
examples/plugins/issues/plugin.wasm: $(wildcard examples/plugins/issues/*.go)

$(TEXTTOOLS): examples/plugins/texttools/package-lock.json $(wildcard examples/plugins/texttools/assembly/*.ts sdk/assemblyscript/assembly/*.ts)
	cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && node node_modules/assemblyscript/bin/asc.js --config asconfig.json
	@touch $@

$(HASHES): $(wildcard examples/plugins/hashes/*.[ch]) sdk/c/cloister.h
	cd $(@D) && clang --target=wasm32 -std=c11 -O2 -Wall -Wextra -ffreestanding -mbulk-memory -nostdlib \
	  -Wl,--no-entry,--strip-all,--stack-first,-z,stack-size=65536 -o plugin.wasm plugin.c

build: ## build bin/cloister
	$(GO) build -trimpath -o bin/cloister ./cmd/cloister

release: engine ## build archives, packages, digests and bills of materials of all platforms into dist
	$(GO) run ./release $(RELEASEFLAGS)

reproduce: engine ## build a release in two folders, and compare
	$(GO) test -count=1 -run 'TestRelease' -v ./release -twice

demo: engine plugins build ## run a TypeScript cell that uses a plugin and a Go tool
	./bin/cloister run --config examples/cloister.json5 examples/cells/demo.ts

test: engine plugins servers ## run the tests
	$(GO) test ./...
	cd examples/hosts/providers && $(GO) test ./...

# With -short a part of the long corpora runs, another one each day, and nothing that
# builds plugins or loads the machine. CI runs everything.
quick: engine plugins ## run the tests that answer within a minute
	$(GO) test -short ./...

check: engine plugins servers ## format, vet, staticcheck, vulnerabilities, tidy, cross builds, race tests, clean tree
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'gofmt: run make format'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	GOOS=wasip1 GOARCH=wasm $(GO) vet ./guestabi ./sdk ./examples/plugins/...
	GOOS=wasip1 GOARCH=wasm $(GO) build ./guestabi ./sdk
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) build ./...
	GOOS=linux GOARCH=arm64 $(GO) build ./host/...
	$(GO) run $(STATICCHECK) ./...
	@if GOBIN=$(CURDIR)/bin $(GO) install $(GOVULNCHECK) 2>/dev/null; then bin/govulncheck ./... || test $$? -ne 3; \
	else echo 'govulncheck cannot be installed here: skipped'; fi
	$(GO) mod tidy -diff
	cd examples/hosts/providers && $(GO) vet ./...
	$(GO) mod verify
	$(GO) test -race -short $(RACED)
	@git diff --exit-code || { echo 'the tree is not clean'; exit 1; }

bench: engine plugins servers ## run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./quickjs ./host ./internal/catalog ./internal/schema ./internal/extism ./plugins/...

wit: ## check the plugin contract's WIT with a real tool
	cd guestabi/wit && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && node check.mjs

bin/cosign:
	GOBIN=$(CURDIR)/bin $(GO) install $(COSIGN)

interop: bin/cosign ## sign and verify with cosign in both directions (builds cosign: minutes)
	CLOISTER_COSIGN=$(CURDIR)/bin/cosign $(GO) test -count=1 -tags interop -v ./plugins/trust/interop

peers: engine ## measure peers and Cloister in one run (Node 24 comes from npm)
	cd bench/peers && npm ci --no-audit --no-fund --loglevel=error
	$(GO) run ./bench

conformance: engine ## run the MCP conformance suite against cloister serve (Node 22 comes from npm)
	cd conformance/mcp && npm ci --no-audit --no-fund --loglevel=error
	$(GO) test -count=1 -tags conformance -v ./conformance/mcp

load: engine ## 64 clients over HTTP for two minutes, a server that dies, clients that vanish
	$(GO) run ./bench/load --duration 2m --clients 64

mutants: engine ## change bundles, policies, locks, stores and snapshots 10,000 times each
	$(GO) run ./bench/mutants --n 10000 --seed 1

fuzz: engine plugins servers ## run every fuzz target for FUZZTIME
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz'); do \
	    echo "== $$pkg $$f"; \
	    $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s $$pkg || exit 1; \
	  done; done

format: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

clean: ## remove what was built or fetched
	rm -rf bin dist examples/plugins/*/plugin.wasm examples/plugins/*/dist quickjs/engine/node_modules bench/peers/node_modules examples/plugins/texttools/node_modules guestabi/wit/node_modules host/mcp/testdata/servers/node_modules conformance/mcp/node_modules
