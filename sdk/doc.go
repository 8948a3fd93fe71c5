// Package sdk is for authors of Cloister plugins in Go: register functions, get a plugin.
//
// A plugin is a Go program with an empty main, built for WebAssembly:
//
//	package main
//
//	import "github.com/cloister-wasm/cloister/sdk"
//
//	type greetIn struct {
//		Name string `json:"name" jsonschema:"Whom to greet"`
//	}
//	type greetOut struct {
//		Text string `json:"text"`
//	}
//
//	func greet(in greetIn) (*greetOut, error) {
//		if in.Name == "" {
//			return nil, sdk.Fail("nobody", "say whom to greet in \"name\"")
//		}
//		return &greetOut{Text: "Hello, " + in.Name + "!"}, nil
//	}
//
//	func init() { sdk.Tool("greet", "Greets somebody by name.", greet) }
//
//	func main() {}
//
// Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags='-s -w' -o plugin.wasm .
//
// # What runs when
//
// The host makes an instance of the plugin for each run of a cell and calls it for one tool at a time. Variables live as
// long as the instance and are never shared between runs. Keep init functions cheap: they run for every instance. What
// must outlive a run belongs into [KVPut].
//
// # Input and output
//
// The host has checked the input against the schema in the manifest before a tool sees it. Decoding is that of
// encoding/json, but names are case-sensitive: {"Name": …} does not fill a member called name. The result is whatever
// encoding/json makes of it.
//
// [Describe], which the plugin exports, derives the schemas of input and output from the types, so that a manifest need
// not repeat them: names and optional members come from `json` tags (omitempty and omitzero mean optional), descriptions
// from `jsonschema` tags. What Go types cannot say (enumerations, bounds, patterns) is written in the manifest, which
// wins.
//
// # Failures
//
// An error of a tool is data for the cell that called, which catches it with its code; see [Fail]. A panic is made into
// one as well. The errors of host functions are *[Failure] with the host's code; a tool may return them as they are.
//
// # Host functions
//
// [Log], [Progress], [Config], [KVGet], [KVPut], [KVDelete], [HTTP], [CallTool], [Interrupt], [Now] and [Random] ask the
// host. Each is an import of the module only if the plugin uses it, and the host refuses a module with imports that the
// manifest's permissions do not grant: a plugin that never calls HTTP cannot.
//
// # Namespaces
//
// A namespace whose manifest entry has scopeExport gets its scope from the function given to [Scope]; call markers with
// mapInput get their input from the one given to [MapInput].
//
// # Tests
//
// The package also builds outside WebAssembly, for `go test`: [Run] calls a registered tool, and SetTestHost (which is
// there in such builds only) answers host functions, which fail otherwise.
//
// # Toolchains
//
// Go 1.24 or newer. The package keeps to what TinyGo documents as supported (no unsafe, no goroutines, reflection as
// encoding/json uses it); it is not tested with TinyGo.
//
// Nothing here is safe for concurrent use: a plugin has one thread.
package sdk
