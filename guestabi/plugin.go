package guestabi

import "encoding/json"

// The contract between host and plugin, version 1. Messages travel as JSON over Extism's input, output and memory
// blocks, so that any PDK can speak them. The same contract in WIT is in wit/.
const (
	// PluginABI is the version of the messages. Either side refuses messages of a newer one.
	PluginABI = 1
	// PluginManifestABI is the manifest's abi field for that version.
	PluginManifestABI = "cloister.plugin/1"
	// PluginHostModule is the import module of the host functions. Each takes the offset of a block with a request (i64)
	// and gives the offset of a block with a [PluginResponse] (i64), both in Extism's memory.
	PluginHostModule = "cloister:host"
)

// Exports of a plugin. Each takes its request as input and writes a [PluginResponse] as output.
const (
	// ExportCall runs the tools without an export of their own; see [CallRequest].
	ExportCall = "cloister_call"
	// ExportScope computes the scope of a namespace whose manifest entry has scopeExport true; see [ScopeRequest].
	ExportScope = "cloister_scope"
	// ExportMapInput turns the arguments of a namespace call into a tool's input; see [MapInputRequest].
	ExportMapInput = "cloister_map_input"
	// ExportDescribe says what was built, for comparison with the manifest; see [Description]. It takes no input.
	ExportDescribe = "cloister_describe"
)

// Host functions, the names of imports from [PluginHostModule].
const (
	HostLog       = "log"        // LogRequest → null
	HostProgress  = "progress"   // ProgressRequest → null
	HostConfigGet = "config_get" // ConfigRequest → any JSON, null if it is not set; needs permissions.config
	HostKVGet     = "kv_get"     // KVRequest → KVValue; needs permissions.kv
	HostKVPut     = "kv_put"     // KVPutRequest → null; needs permissions.kv
	HostKVDelete  = "kv_delete"  // KVRequest → null; needs permissions.kv
	HostHTTP      = "http"       // HTTPRequest → HTTPResponse; needs permissions.hosts
	HostCallTool  = "call_tool"  // CallRequest → any JSON; needs permissions.tools
	HostInterrupt = "interrupt"  // InterruptRequest → any JSON, the resolution
	HostNow       = "now"        // NowRequest → NowResponse
	HostRandom    = "random"     // RandomRequest → RandomResponse
)

// PluginResponse answers every request, in both directions: Value or Error, not both and not neither.
type PluginResponse struct {
	// ABI is [PluginABI].
	ABI int `json:"abi"`
	// Value is the result: any JSON, null included.
	Value json.RawMessage `json:"value,omitempty"`
	// Error is a failure that the other side can handle.
	Error *PluginFailure `json:"error,omitempty"`
}

// PluginFailure is a failure as data: the plugin, or the host, is fine.
type PluginFailure struct {
	// Name is the kind of error, an identifier such as "RangeError". Missing or unusable: "Error".
	Name string `json:"name,omitempty"`
	// Message is one or more sentences that say what is wrong and how to mend it.
	Message string `json:"message"`
	// Code is for programs: lower-case letters, digits and underscores. Missing or unusable: "tool_failed".
	Code string `json:"code,omitempty"`
}

// CallRequest asks a plugin to run one of its tools, or the host to run another tool for a plugin. Plugins ignore members of
// requests that they do not know, so that hosts can add some. Hosts refuse them: a plugin that sends one expects something.
type CallRequest struct {
	ABI int `json:"abi"`
	// Tool is the tool's name in the manifest; from a plugin, an entry of its permissions.tools.
	Tool string `json:"tool"`
	// Input is an object that matches the tool's parameters.
	Input json.RawMessage `json:"input"`
}

// ScopeRequest asks for the scope of a namespace in one run. The answer's value is the scope: an object of data and
// call markers, as in the manifest.
type ScopeRequest struct {
	ABI int `json:"abi"`
	// Namespace is the namespace's id in the manifest.
	Namespace string       `json:"namespace"`
	Context   ScopeContext `json:"context"`
}

// ScopeContext is the run that a scope is for. Members may be empty.
type ScopeContext struct {
	AgentID    string `json:"agentId,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	RunID      string `json:"runId,omitempty"`
	Sender     string `json:"sender,omitempty"`
	Channel    string `json:"channel,omitempty"`
	// Config holds the values of the keys in permissions.config that are set.
	Config map[string]json.RawMessage `json:"config,omitempty"`
}

// MapInputRequest asks a plugin to turn the arguments of a namespace call into the input of its tool. The answer's
// value is that input, an object.
type MapInputRequest struct {
	ABI int `json:"abi"`
	// Namespace is the namespace's id in the manifest.
	Namespace string `json:"namespace"`
	// Path leads to the call marker in the scope.
	Path []string `json:"path"`
	// Tool is the marker's tool.
	Tool string `json:"tool"`
	// Args are the arguments as the cell gave them.
	Args []json.RawMessage `json:"args"`
}

// Description is the answer of [ExportDescribe]: what the plugin's code knows about itself. A build completes the
// manifest from it and compares the names.
type Description struct {
	Tools []DescribedTool `json:"tools"`
}

// DescribedTool is one tool of a [Description].
type DescribedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Returns     json.RawMessage `json:"returns,omitempty"`
}

// LogRequest writes a line to the host's log.
type LogRequest struct {
	ABI int `json:"abi"`
	// Level is "trace", "debug", "info", "warn" or "error".
	Level   string `json:"level"`
	Message string `json:"message"`
}

// ProgressRequest reports how far a call is.
type ProgressRequest struct {
	ABI int `json:"abi"`
	// Progress counts towards Total, in any unit; a Total of 0 means that it is not known.
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// ConfigRequest asks for a value that the operator set for the plugin.
type ConfigRequest struct {
	ABI int `json:"abi"`
	// Key is an entry of permissions.config.
	Key string `json:"key"`
}

// KVRequest names an entry of the plugin's own store, which is kept apart for each plugin and session.
type KVRequest struct {
	ABI int `json:"abi"`
	// Key has 1 to 512 bytes.
	Key string `json:"key"`
}

// KVPutRequest sets an entry.
type KVPutRequest struct {
	ABI   int    `json:"abi"`
	Key   string `json:"key"`
	Value string `json:"value"`
	// TTLSeconds is how long the entry lives; 0 means as long as the session's store.
	TTLSeconds int `json:"ttlSeconds,omitempty"`
}

// KVValue is an entry's value.
type KVValue struct {
	// Found is false where there is no such entry.
	Found bool   `json:"found"`
	Value string `json:"value"`
}

// HTTPRequest asks the host to make a request. Redirects are followed by the host, each hop checked like the first.
type HTTPRequest struct {
	ABI int `json:"abi"`
	// Method is "GET" if it is empty.
	Method string `json:"method,omitempty"`
	URL    string `json:"url"`
	// Headers are single values; the host refuses those that control the connection, that say who the client is, and that
	// change the request's host, path or method on the server's side.
	Headers map[string]string `json:"headers,omitempty"`
	// SecretHeaders are headers that the host fills in, so that the plugin does not need the secret. Each goes to the hosts that
	// permissions.secrets of the manifest names with it, over https (http within the host's machine only); for any other URL the
	// request is refused with "not_allowed". A redirect to another origin does not get it. With one, Range and other headers
	// that ask for a part of the answer are left out.
	SecretHeaders map[string]SecretHeader `json:"secretHeaders,omitempty"`
	// Body is text, or base64 (standard, padded) where BodyBase64 is true.
	Body       string `json:"body,omitempty"`
	BodyBase64 bool   `json:"bodyBase64,omitempty"`
	// TimeoutMs bounds the whole exchange; 0 means the host's bound.
	TimeoutMs int `json:"timeoutMs,omitempty"`
}

// SecretHeader is the value of a header with a secret in it.
type SecretHeader struct {
	// Secret is the name of an entry of permissions.secrets.
	Secret string `json:"secret"`
	// Prefix stands before the secret, such as "Bearer ".
	Prefix string `json:"prefix,omitempty"`
}

// HTTPResponse is the answer to the last hop.
type HTTPResponse struct {
	Status int `json:"status"`
	// URL is the address of the last hop.
	URL string `json:"url"`
	// Headers have lower-case names; several values of one name are joined by ", ".
	Headers map[string]string `json:"headers"`
	// Body is text where it is valid UTF-8, and base64 otherwise (BodyBase64 true).
	Body       string `json:"body"`
	BodyBase64 bool   `json:"bodyBase64,omitempty"`
}

// InterruptRequest pauses the run until somebody resolves it.
type InterruptRequest struct {
	ABI int `json:"abi"`
	// Payload says what is asked: any JSON.
	Payload json.RawMessage `json:"payload"`
}

// NowRequest asks for the host's clock.
type NowRequest struct {
	ABI int `json:"abi"`
}

// NowResponse is the host's clock, UTC.
type NowResponse struct {
	UnixMs int64 `json:"unixMs"`
}

// RandomRequest asks for bytes fit for cryptography.
type RandomRequest struct {
	ABI int `json:"abi"`
	// Bytes is 1 to 4096.
	Bytes int `json:"bytes"`
}

// RandomResponse holds random bytes in base64 (standard, padded).
type RandomResponse struct {
	Base64 string `json:"base64"`
}
