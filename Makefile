# Cloister. `make demo` runs the main job, `make test` the tests; both set up what
# they need: the pinned JavaScript engine (npm) and the example plugin (Go).

GO            ?= go
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.9.0
BENCHSTAT     := golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
FUZZTIME      ?= 60s
ENGINE        := quickjs/engine/node_modules/quickjs-wasi/quickjs.wasm
PLUGIN        := examples/plugins/csvquery/plugin.wasm

.PHONY: all demo test check bench peers fuzz build engine plugin format clean help

all: build

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

engine: $(ENGINE) ## fetch the pinned JavaScript engine
$(ENGINE): quickjs/engine/package-lock.json
	cd quickjs/engine && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

plugin: $(PLUGIN) ## build the example plugin
$(PLUGIN): $(wildcard examples/plugins/csvquery/*.go examples/plugins/csvquery/*/*.go) go.mod
	GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -trimpath -ldflags='-s -w' -o $@ ./examples/plugins/csvquery

build: ## build bin/cloister
	$(GO) build -trimpath -o bin/cloister ./cmd/cloister

demo: engine plugin build ## run a TypeScript cell that uses a plugin and a Go tool
	./bin/cloister run --config examples/cloister.json5 examples/cells/demo.ts

test: engine plugin ## run the tests
	$(GO) test ./...

check: engine plugin ## format, vet, staticcheck, vulnerabilities, tidy, cross builds, race tests, clean tree
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'gofmt: run make format'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	GOOS=wasip1 GOARCH=wasm $(GO) vet ./guestabi ./examples/plugins/...
	GOOS=wasip1 GOARCH=wasm $(GO) build -o /dev/null ./guestabi
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) build ./...
	GOOS=linux GOARCH=arm64 $(GO) build ./...
	$(GO) run $(STATICCHECK) ./...
	@if GOBIN=$(CURDIR)/bin $(GO) install $(GOVULNCHECK) 2>/dev/null; then bin/govulncheck ./... || test $$? -ne 3; \
	else echo 'govulncheck cannot be installed here: skipped'; fi
	$(GO) mod tidy -diff
	$(GO) mod verify
	$(GO) test -race -short ./...
	@git diff --exit-code || { echo 'the tree is not clean'; exit 1; }

bench: engine plugin ## run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./quickjs ./host ./internal/catalog ./internal/schema

peers: engine ## measure peers and Cloister in one run (Node 24 comes from npm)
	cd bench/peers && npm ci --no-audit --no-fund --loglevel=error
	$(GO) run ./bench

fuzz: engine plugin ## run every fuzz target for FUZZTIME
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz'); do \
	    echo "== $$pkg $$f"; \
	    $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s $$pkg || exit 1; \
	  done; done

format: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

clean: ## remove what was built or fetched
	rm -rf bin dist $(PLUGIN) quickjs/engine/node_modules bench/peers/node_modules
