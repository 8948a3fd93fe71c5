package settings

import (
	"fmt"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/internal/egress"
	"github.com/cloister-wasm/cloister/internal/json5"
)

// NamedFile is how faults of a file that was merely found call one that counts, for who
// wants to say by which flag somebody names it.
const NamedFile = "a file that somebody named"

const merelyFound = "; this one was merely found in the working folder"

// trusted notes that the setting counts in a file that the user named, only.
func (r *reader) trusted(read keyReader) keyReader {
	return func(n *json5.Node, path string) {
		r.onlyNamed(n, path)
		read(n, path)
	}
}

func (r *reader) onlyNamed(n *json5.Node, path string) {
	r.notFound(n, path, "only "+NamedFile+" may decide this"+merelyFound)
}

// upTo notes that a number above the default counts in a file that the user named, only.
func (r *reader) upTo(def int, read keyReader) keyReader {
	return func(n *json5.Node, path string) {
		r.atMost(n, path, def)
		read(n, path)
	}
}

func (r *reader) atMost(n *json5.Node, path string, def int) {
	if n.Kind == json5.Number && n.Number > float64(def) {
		r.notFound(n, path, fmt.Sprintf("only %s may raise this above the default, %d%s", NamedFile, def, merelyFound))
	}
}

func (r *reader) notFound(n *json5.Node, path, message string) {
	r.trusting = append(r.trusting, Fault{r.root.File(), n.Pos.Line, n.Pos.Column, path, message})
}

// The defaults of limits, which a file that was merely found cannot exceed.
const (
	defaultApprovalTTL  = 24 * time.Hour // of host.Options.ApprovalTTL
	defaultHTTPTimeout  = egress.DefaultTimeout
	defaultHTTPMaxBytes = egress.DefaultMaxResponseBytes
)

// serveLimits are the defaults of serve.limits.
func serveLimits() gateway.Limits { return gateway.DefaultLimits() }

// limitsOf checks the numbers of tools.codeMode against their defaults.
func (r *reader) limitsOf(codeMode *json5.Node, path string) {
	defaults := host.CodeModeConfig{}.Clamped()
	for key, def := range map[string]int{
		"timeoutMs": defaults.TimeoutMs, "memoryLimitBytes": defaults.MemoryLimitBytes, "maxOutputBytes": defaults.MaxOutputBytes,
		"maxSnapshotBytes": defaults.MaxSnapshotBytes, "maxPendingToolCalls": defaults.MaxPendingToolCalls,
		"snapshotTtlSeconds": defaults.SnapshotTTLSeconds, "searchDefaultLimit": defaults.SearchDefaultLimit,
		"maxSearchLimit": defaults.MaxSearchLimit, "maxSuspendedRuns": defaults.MaxSuspendedRuns,
	} {
		if codeMode.Kind != json5.Object {
			return
		}
		if m := codeMode.Member(key); m != nil {
			r.atMost(m.Value, join(path, key), def)
		}
	}
}
