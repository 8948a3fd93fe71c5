package plugins

import (
	"encoding/json"
	"time"
)

// Names of the files of a plugin folder.
const (
	ManifestFile = "cloister.plugin.json"
	WasmFile     = "plugin.wasm"
)

// Bounds of a manifest. The others are in its JSON Schema.
const (
	// MaxManifestBytes bounds the file.
	MaxManifestBytes = 256 << 10
	// MaxProblems is the number of mistakes that are reported at once.
	MaxProblems = 100
)

// Manifest is what a plugin says about itself. It is only handed out after it was checked; treat it as read-only.
type Manifest struct {
	// Schema is for editors and ignored.
	Schema string `json:"$schema,omitempty"`
	// ABI is [ManifestABI].
	ABI string `json:"abi"`
	// ID is publisher.name.
	ID string `json:"id"`
	// Version is a semantic version.
	Version string `json:"version"`
	// Description is for people and models.
	Description string `json:"description"`
	// License is an SPDX expression.
	License string `json:"license,omitempty"`
	// Homepage is an https address.
	Homepage string `json:"homepage,omitempty"`
	// Tools has at least one entry; names differ.
	Tools []Tool `json:"tools"`
	// Permissions is what the plugin asks for.
	Permissions Permissions `json:"permissions,omitzero"`
	// Namespaces is reserved: always empty in a checked manifest.
	Namespaces []json.RawMessage `json:"namespaces,omitempty"`
	// Certification is reserved: always empty in a checked manifest.
	Certification map[string]json.RawMessage `json:"certification,omitempty"`
}

// Tool is one tool of a plugin.
type Tool struct {
	// Name is unique in the plugin, also when case is ignored.
	Name string `json:"name"`
	// Label is a short title for people.
	Label string `json:"label,omitempty"`
	// Description is for the model.
	Description string `json:"description"`
	// Parameters is the JSON Schema of the input; its type is object.
	Parameters json.RawMessage `json:"parameters"`
	// Returns is the JSON Schema of the result, or nil.
	Returns json.RawMessage `json:"returns,omitempty"`
	// Annotations are claims of the author, for policies.
	Annotations Annotations `json:"annotations,omitzero"`
	// Approval is what the author asks for; "" leaves it to the host.
	Approval Approval `json:"approval,omitempty"`
	// Export is called with the bare input; "" means [CallExport] with an envelope.
	Export string `json:"export,omitempty"`
	// TimeoutMs is the longest a call may take, in milliseconds; 0 means the plugin's, or the host's.
	TimeoutMs int `json:"timeoutMs,omitempty"`
	// Examples match Parameters and Returns.
	Examples []Example `json:"examples,omitempty"`
}

// Annotations are claims about a tool. Not claimed means false.
type Annotations struct {
	ReadOnly    bool `json:"readOnly,omitempty"`
	Destructive bool `json:"destructive,omitempty"`
	Idempotent  bool `json:"idempotent,omitempty"`
	OpenWorld   bool `json:"openWorld,omitempty"`
}

// Approval says when a person has to agree to a call.
type Approval string

// Values of [Approval]. A host's policy may ask for more than a manifest, never for less.
const (
	ApprovalNever  Approval = "never"
	ApprovalAsk    Approval = "ask"
	ApprovalAlways Approval = "always"
)

// Example is one use of a tool.
type Example struct {
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output,omitempty"`
}

// Permissions is what a plugin asks for. Only MemoryBytes and TimeoutMs can be granted by this version; the others are
// always empty in a checked manifest.
type Permissions struct {
	// MemoryBytes is the linear memory of an instance; 0 means the host's default.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// TimeoutMs bounds every call, in milliseconds; 0 means the host's.
	TimeoutMs int `json:"timeoutMs,omitempty"`

	Hosts   []json.RawMessage `json:"hosts,omitempty"`
	Config  []string          `json:"config,omitempty"`
	Secrets []string          `json:"secrets,omitempty"`
	KV      bool              `json:"kv,omitempty"`
	Tools   []string          `json:"tools,omitempty"`
}

// timeout is the longest a call of the tool may take, given the host's bound.
func (m *Manifest) timeout(t *Tool, most time.Duration) time.Duration {
	for _, ms := range []int{t.TimeoutMs, m.Permissions.TimeoutMs} {
		if ms > 0 {
			most = min(most, time.Duration(ms)*time.Millisecond)
		}
	}
	return most
}

// tool finds a tool by name.
func (m *Manifest) tool(name string) (*Tool, bool) {
	for i := range m.Tools {
		if m.Tools[i].Name == name {
			return &m.Tools[i], true
		}
	}
	return nil, false
}
