package guestabi

import "encoding/json"

// Version is the version of the contract between host and guest. A snapshot of
// another version is refused.
const Version = 2

// Entries of the prelude, in the order in which it returns them.
const (
	EntryStart   = iota // (function, its text) -> promise of the cell's value
	EntrySettle         // (slot, 1 or 0, value) -> undefined; for 0 the value is [name, message, code]
	EntryDrain          // () -> the outbox, or undefined if it is empty
	EntryFinish         // (value) -> JSON text
	EntryExplain        // (thrown value) -> JSON text of a Thrown
	EntryCount
)

// Letters of messages in the outbox. Each message is a line: the letter, then
// what is listed here. A slot is a decimal number that names the request until
// it is settled; the rest is JSON text, which holds no line break.
const (
	MsgCall     = 'c' // slot,number,input: call the tool with that number in Setup.Tools
	MsgUnknown  = 'u' // slot,[id,input]: call a tool by an id that is not in Setup.Tools
	MsgMember   = 'n' // slot,number,undefined,[args]: call the member of a namespace with that number; bit i of undefined stands for args[i]
	MsgSearch   = 's' // slot,[query,limit or null]
	MsgDescribe = 'd' // slot,id
	MsgYield    = 'y' // slot,reason
	MsgText     = 't' // text
	MsgJSON     = 'j' // value
	MsgConsole  = 'l' // level,text
	MsgOverflow = 'o' // output went over the cap
)

// Setup is the prelude's argument.
type Setup struct {
	// Tools is ALL_TOOLS.
	Tools json.RawMessage `json:"tools"`
	// Names maps convenience names to tool ids.
	Names map[string]string `json:"names"`
	// Files is what API.list and API.read serve: path to text.
	Files map[string]string `json:"files"`
	// Namespaces are the globals of plugins.
	Namespaces []GuestNamespace `json:"namespaces"`
	// MCP is the scope of the global MCP, as GuestNamespace.Scope has it. Nil is an
	// empty object.
	MCP json.RawMessage `json:"mcp,omitempty"`
	// MaxOutput bounds the run's output, in UTF-16 units of its JSON text. The
	// host counts again, in bytes.
	MaxOutput int `json:"maxOutput"`
	// MaxOpen bounds the requests that one cell may have open.
	MaxOpen int `json:"maxOpen"`
}

// GuestNamespace is a global object of data and functions.
type GuestNamespace struct {
	Name string `json:"name"`
	// Scope is a tree of pairs: ["v", JSON] is a value, ["c", number] a function that
	// sends a MsgMember, ["o", {key: pair}] an object and ["a", [pair]] an array
	// with functions somewhere in them; ["s", key] in an object is the same function
	// as another key's, and not enumerable.
	Scope json.RawMessage `json:"scope"`
}

// WrapPrefix and WrapSuffix stand around a cell's code: it is the body of an
// async function. FunctionText is the text of that function alone, against which
// the prelude checks what was compiled.
const (
	WrapPrefix = "(async function(){"
	WrapSuffix = "\n})"
)

// Wrap puts a cell's code into its function. Lines keep their numbers; columns of
// the first line move by len(WrapPrefix).
func Wrap(code string) string { return WrapPrefix + code + WrapSuffix }

// FunctionText is the text of the function in Wrap(code).
func FunctionText(code string) string { return WrapPrefix[1:] + code + WrapSuffix[:len(WrapSuffix)-1] }

// Thrown describes a value that guest code threw.
type Thrown struct {
	Name    string `json:"name,omitempty"`
	Message string `json:"message,omitempty"`
	Code    string `json:"code,omitempty"`
	Stack   string `json:"stack,omitempty"`
	// Error says that the value is an Error object.
	Error bool `json:"error,omitempty"`
}
