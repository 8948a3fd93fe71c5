package namespace

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// MaxNameBytes bounds the name of a global and of an argument.
const MaxNameBytes = 64

// identifierForm is JavaScript's identifiers in ASCII. Letters beyond it look like others: a Cyrillic "а" makes a second "Data".
var identifierForm = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// ofCells are the names that cells have from the host.
const ofCells = `tools namespaces text json yield_control MCP API ALL_TOOLS console`

// ofJavaScript are the globals of ECMAScript, annex B included, of QuickJS, and the members of Object.prototype, which
// are there as globals too.
const ofJavaScript = `globalThis Infinity NaN undefined eval isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent
	encodeURI encodeURIComponent escape unescape AggregateError Array ArrayBuffer AsyncDisposableStack AsyncFunction
	AsyncGenerator AsyncGeneratorFunction AsyncIterator BigInt BigInt64Array BigUint64Array Boolean DataView Date DisposableStack
	Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Generator GeneratorFunction
	Int8Array Int16Array Int32Array InternalError Iterator Map Number Object Promise Proxy RangeError ReferenceError RegExp Set
	SharedArrayBuffer String SuppressedError Symbol SyntaxError TypedArray TypeError Uint8Array Uint8ClampedArray Uint16Array
	Uint32Array URIError WeakMap WeakRef WeakSet Atomics JSON Math Reflect Intl Temporal Uint8Array ShadowRealm WebAssembly
	constructor prototype hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf toJSON then
	DOMException performance queueMicrotask structuredClone atob btoa navigator gc print`

// ofOthers are globals of browsers and Node.js. Cells do not have them, and code that tests for them must not find a plugin.
const ofOthers = `window self global document location fetch process require module exports Buffer setTimeout setInterval setImmediate
	clearTimeout clearInterval clearImmediate crypto Deno Bun std os bjson scriptArgs importScripts alert XMLHttpRequest WebSocket
	Worker URL URLSearchParams TextEncoder TextDecoder AbortController AbortSignal Headers Request Response FormData Blob File
	ReadableStream WritableStream TransformStream Event EventTarget __dirname __filename`

// ofGrammar are the reserved words, and those that mean something in some places.
const ofGrammar = catalog.ReservedWords + ` async of get set as from using`

var taken = func() map[string]string {
	m := map[string]string{}
	for _, group := range []struct{ names, what string }{
		{ofOthers, "a global of browsers or Node.js"},
		{ofGrammar, "a word of the JavaScript language"},
		{ofJavaScript, "a built-in of JavaScript"},
		{ofCells, "a built-in of cells"},
	} {
		for _, n := range strings.Fields(group.names) {
			m[n] = group.what
		}
	}
	return m
}()

// CheckGlobalName says, as a [*ScopeError], why a name cannot be a global of cells: it is no JavaScript identifier of ASCII
// letters with at most [MaxNameBytes], begins with "__", or is one of the built-ins of cells or JavaScript, or a reserved word.
func CheckGlobalName(name string) error {
	const hint = `choose a plain name such as "Issues"`
	switch {
	case len(name) > MaxNameBytes:
		return &ScopeError{Message: fmt.Sprintf("the name has %d bytes, at most %d are allowed", len(name), MaxNameBytes), Suggestion: hint}
	case !identifierForm.MatchString(name):
		return &ScopeError{Message: fmt.Sprintf("%q is not a JavaScript identifier of ASCII letters, digits, _ and $", plaintext.Line(name, maxNameText)), Suggestion: hint}
	case strings.HasPrefix(name, "__"):
		return &ScopeError{Message: fmt.Sprintf(`%q begins with "__", which is the host's`, name), Suggestion: hint}
	}
	if what, ok := taken[name]; ok {
		return &ScopeError{Message: fmt.Sprintf("%q is %s", name, what), Suggestion: "choose another name, for example with a prefix"}
	}
	return nil
}
