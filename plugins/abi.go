package plugins

import "encoding/json"

// The messages between host and plugin, version 1. They travel as JSON over Extism's input and output, so that any PDK can
// speak them.
//
// A tool whose manifest names an export is called there with its bare input, and what the export writes is its bare
// result: an ordinary Extism function. Any other tool is called through [CallExport] with a [CallRequest], and answers
// with a [CallResponse].
//
// In both cases a plugin may also fail the way its PDK offers, with an error message or a return code other than 0. The
// message may be plain text, or a [CallFailure] as JSON.
const (
	// ABIVersion is the version of the messages. A host refuses answers of a newer one.
	ABIVersion = 1
	// ManifestABI is the manifest's abi field for that version.
	ManifestABI = "cloister.plugin/1"
	// CallExport is the export that takes the calls of all tools without one of their own.
	CallExport = "cloister_call"
)

// CallRequest asks a plugin to run a tool. Plugins ignore members they do not know.
type CallRequest struct {
	// ABI is [ABIVersion].
	ABI int `json:"abi"`
	// Tool is the tool's name in the manifest.
	Tool string `json:"tool"`
	// Input is an object that matches the tool's parameters.
	Input json.RawMessage `json:"input"`
}

// CallResponse is a plugin's answer: Value or Error, not both and not neither.
type CallResponse struct {
	// ABI is the version the plugin speaks, [ABIVersion].
	ABI int `json:"abi"`
	// Value is the result: any JSON, null included.
	Value json.RawMessage `json:"value,omitempty"`
	// Error is the tool's failure.
	Error *CallFailure `json:"error,omitempty"`
}

// CallFailure is a failure of a tool, for the program that called it: the plugin itself is fine.
type CallFailure struct {
	// Name is the kind of error, an identifier such as "RangeError". Missing or unusable: "Error".
	Name string `json:"name,omitempty"`
	// Message is one or more sentences that say what is wrong and how to mend it.
	Message string `json:"message"`
	// Code is for programs: lower-case letters, digits and underscores. Missing or unusable: "tool_failed".
	Code string `json:"code,omitempty"`
}
