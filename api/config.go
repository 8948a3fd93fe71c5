package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
)

// Languages of cells.
const (
	JavaScript = "javascript"
	TypeScript = "typescript"
)

// CodeModeConfig is `tools.codeMode`. Values out of range are clamped, see
// Clamped; the zero value of a field means its default. The table of defaults
// and ranges is in the package documentation.
type CodeModeConfig struct {
	// Enabled turns code mode on. Only true enables it.
	Enabled bool `json:"enabled"`
	// Runtime is "quickjs-wasi", the only value.
	Runtime string `json:"runtime,omitempty"`
	// Mode is "only", the only value: the model sees exec and wait and nothing else.
	Mode string `json:"mode,omitempty"`
	// Languages is a non-empty subset of javascript and typescript.
	Languages []string `json:"languages,omitempty"`
	// TimeoutMs is when an exec or wait returns at the latest, and how long the program may compute for it,
	// in milliseconds.
	TimeoutMs int `json:"timeoutMs,omitempty"`
	// MemoryLimitBytes bounds what one cell allocates.
	MemoryLimitBytes int `json:"memoryLimitBytes,omitempty"`
	// MaxOutputBytes bounds text, json, console and value together.
	MaxOutputBytes int `json:"maxOutputBytes,omitempty"`
	// MaxSnapshotBytes bounds one stored snapshot.
	MaxSnapshotBytes int `json:"maxSnapshotBytes,omitempty"`
	// MaxPendingToolCalls bounds nested calls in flight at once. Further calls
	// wait their turn, up to QueuedPerPending times as many.
	MaxPendingToolCalls int `json:"maxPendingToolCalls,omitempty"`
	// SnapshotTTLSeconds is how long a suspended run can be resumed.
	SnapshotTTLSeconds int `json:"snapshotTtlSeconds,omitempty"`
	// SearchDefaultLimit is the number of search results without a limit.
	SearchDefaultLimit int `json:"searchDefaultLimit,omitempty"`
	// MaxSearchLimit caps a search's limit.
	MaxSearchLimit int `json:"maxSearchLimit,omitempty"`
	// MaxSuspendedRuns bounds suspended runs in this process.
	MaxSuspendedRuns int `json:"maxSuspendedRuns,omitempty"`
}

// QueuedPerPending times MaxPendingToolCalls is the number of calls that one
// cell may have open, queued ones included. One more fails with
// too_many_pending_tool_calls.
const QueuedPerPending = 64

type intField struct {
	key           string
	def, min, max int
	at            func(*CodeModeConfig) *int
}

var intFields = []intField{
	{"timeoutMs", 10_000, 100, 60_000, func(c *CodeModeConfig) *int { return &c.TimeoutMs }},
	{"memoryLimitBytes", 64 << 20, 1 << 20, 1 << 30, func(c *CodeModeConfig) *int { return &c.MemoryLimitBytes }},
	{"maxOutputBytes", 65_536, 1024, 10 << 20, func(c *CodeModeConfig) *int { return &c.MaxOutputBytes }},
	{"maxSnapshotBytes", 10 << 20, 1024, 256 << 20, func(c *CodeModeConfig) *int { return &c.MaxSnapshotBytes }},
	{"maxPendingToolCalls", 16, 1, 128, func(c *CodeModeConfig) *int { return &c.MaxPendingToolCalls }},
	{"snapshotTtlSeconds", 900, 1, 86_400, func(c *CodeModeConfig) *int { return &c.SnapshotTTLSeconds }},
	{"searchDefaultLimit", 8, 1, 50, func(c *CodeModeConfig) *int { return &c.SearchDefaultLimit }},
	{"maxSearchLimit", 50, 1, 50, func(c *CodeModeConfig) *int { return &c.MaxSearchLimit }},
	{"maxSuspendedRuns", 64, 1, 100_000, func(c *CodeModeConfig) *int { return &c.MaxSuspendedRuns }},
}

// Clamped gives the configuration with defaults filled in and numbers brought
// into their ranges.
func (c CodeModeConfig) Clamped() CodeModeConfig {
	for _, f := range intFields {
		p := f.at(&c)
		if *p == 0 {
			*p = f.def
		}
		*p = min(max(*p, f.min), f.max)
	}
	c.SearchDefaultLimit = min(c.SearchDefaultLimit, c.MaxSearchLimit)
	if c.Runtime == "" {
		c.Runtime = "quickjs-wasi"
	}
	if c.Mode == "" {
		c.Mode = "only"
	}
	if c.Languages == nil {
		c.Languages = []string{JavaScript, TypeScript}
	}
	return c
}

// Faults lists what clamping cannot mend, with prefix in front of each key.
func (c *CodeModeConfig) Faults(prefix string) []Fault {
	var out []Fault
	if c.Runtime != "" && c.Runtime != "quickjs-wasi" {
		out = append(out, Fault{prefix + ".runtime", fmt.Sprintf(`must be "quickjs-wasi", not %q`, c.Runtime)})
	}
	if c.Mode != "" && c.Mode != "only" {
		out = append(out, Fault{prefix + ".mode", fmt.Sprintf(`must be "only", not %q`, c.Mode)})
	}
	if c.Languages != nil && len(c.Languages) == 0 {
		out = append(out, Fault{prefix + ".languages", `must name at least one of "javascript" and "typescript"`})
	}
	for i, l := range c.Languages {
		if l != JavaScript && l != TypeScript {
			out = append(out, Fault{fmt.Sprintf("%s.languages[%d]", prefix, i), fmt.Sprintf(`must be "javascript" or "typescript", not %q`, l)})
		}
	}
	return out
}

// Fill sets fields from a decoded JSON object and reports what does not fit, with prefix in front of each key. Numbers
// out of range are clamped.
func (c *CodeModeConfig) Fill(prefix string, obj map[string]any) []Fault {
	var faults []Fault
	keys := make([]string, 0, len(obj))
	for k := range obj {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if msg := c.set(k, obj[k]); msg != "" {
			faults = append(faults, Fault{prefix + "." + k, msg})
		}
	}
	return faults
}

func (c *CodeModeConfig) set(key string, v any) string {
	if i := slices.IndexFunc(intFields, func(f intField) bool { return f.key == key }); i >= 0 {
		return setInt(intFields[i], c, v)
	}
	switch key {
	case "enabled":
		b, ok := v.(bool)
		if !ok {
			return "must be true or false"
		}
		c.Enabled = b
	case "runtime":
		return setString(&c.Runtime, v)
	case "mode":
		return setString(&c.Mode, v)
	case "languages":
		list, ok := v.([]any)
		if !ok {
			return "must be an array of strings"
		}
		languages := []string{}
		for _, e := range list {
			s, ok := e.(string)
			if !ok {
				return "must be an array of strings"
			}
			languages = append(languages, s)
		}
		c.Languages = languages
	default:
		return "unknown key"
	}
	return ""
}

func setString(p *string, v any) string {
	s, ok := v.(string)
	if !ok || s == "" {
		return "must be a string"
	}
	*p = s
	return ""
}

// setInt clamps a number. Fractions are cut off, as the range would.
func setInt(f intField, c *CodeModeConfig, v any) string {
	var x float64
	switch n := v.(type) {
	case json.Number:
		var err error
		if x, err = n.Float64(); err != nil && !bytes.ContainsAny([]byte(n), "eE.") && x == 0 {
			return "must be a number"
		}
	case float64:
		x = n
	default:
		return "must be a number"
	}
	*f.at(c) = int(min(max(x, float64(f.min)), float64(f.max)))
	return ""
}
