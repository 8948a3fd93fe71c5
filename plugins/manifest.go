package plugins

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/namespace"
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

	maxTools     = 128
	maxTimeoutMs = 600_000
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
	// Namespaces are globals that cells get while all their tools are in the catalog.
	Namespaces []Namespace `json:"namespaces,omitempty"`
	// Permissions is what the plugin asks for.
	Permissions Permissions `json:"permissions,omitzero"`
	// Certification refers to a conformance report, if there is one.
	Certification *Certification `json:"certification,omitempty"`
}

// Namespace is a global object of cells whose callable members are tools of this plugin.
type Namespace struct {
	// ID is unique in the plugin, such as "github-issues".
	ID string `json:"id"`
	// GlobalName is a JavaScript identifier that no built-in of cells has.
	GlobalName string `json:"globalName"`
	// Description is for the model, in the description of exec.
	Description string `json:"description"`
	// Prompt says how to use it, in the description of exec.
	Prompt string `json:"prompt,omitempty"`
	// RequiredToolNames are tools of this plugin. Without all of them in a run's catalog the namespace is not there.
	RequiredToolNames []string `json:"requiredToolNames"`
	// Scope is an object of data and call markers, nil with ScopeExport. A marker is {"$tool": NAME}, whose input is the
	// first argument, or {} without one; {"$tool": NAME, "args": ["number", "patch"]}, which names the arguments; or
	// {"$tool": NAME, "mapInput": true}, for which the plugin maps them.
	Scope json.RawMessage `json:"scope,omitempty"`
	// ScopeExport has the plugin compute the scope for each run, by guestabi.ExportScope.
	ScopeExport bool `json:"scopeExport,omitempty"`
}

// Certification refers to a conformance report.
type Certification struct {
	// Report is the digest of the report, "sha256:…".
	Report string `json:"report"`
	// URL is where it can be read, an https address.
	URL string `json:"url,omitempty"`
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
	// Stateless promises that no call leaves anything in memory that a later one would miss: instances may be pooled.
	Stateless bool `json:"stateless,omitempty"`
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

// Permissions is what a plugin asks for. What is not here it does not get.
type Permissions struct {
	// Hosts are the servers that the plugin may send HTTP requests to.
	Hosts []HostPermission `json:"hosts,omitempty"`
	// Config are the keys of configuration that it may read.
	Config []string `json:"config,omitempty"`
	// Secrets are what the host puts into headers of its requests, each for the hosts that it names.
	Secrets []SecretPermission `json:"secrets,omitempty"`
	// KV gives it a key-value store, kept apart for each agent and session.
	KV bool `json:"kv,omitempty"`
	// Tools are the ids, or names within the catalog's core, of tools that it may call itself.
	Tools []string `json:"tools,omitempty"`
	// MemoryBytes is the linear memory of an instance; 0 means the host's default.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// TimeoutMs bounds every call, in milliseconds; 0 means the host's.
	TimeoutMs int `json:"timeoutMs,omitempty"`
}

// HostPermission allows requests to one host.
type HostPermission struct {
	// Host is a name, or "*.example.com" for any name below it, with ":port" where it is not the scheme's own.
	Host string `json:"host"`
	// Methods are upper-case; none means GET and HEAD.
	Methods []string `json:"methods,omitempty"`
	// Paths are prefixes of whole segments, such as "/repos/"; none means all.
	Paths []string `json:"paths,omitempty"`
	// Insecure allows http beside https, for servers inside a network.
	Insecure bool `json:"insecure,omitempty"`
}

// exports lists what the namespace needs of the module.
func (n *Namespace) exports() []string {
	if n.ScopeExport {
		return []string{guestabi.ExportScope}
	}
	root, err := namespace.ParseScope(n.Scope, n.RequiredToolNames)
	if err == nil && slices.ContainsFunc(root.Calls(), func(c *namespace.Call) bool { return c.MapInput }) {
		return []string{guestabi.ExportMapInput}
	}
	return nil
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
