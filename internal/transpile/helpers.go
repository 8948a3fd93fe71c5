package transpile

import (
	"regexp"
	"strings"
)

// esbuild puts helper functions in front of code that it had to lower. They use
// what every realm has (Object, Symbol, Promise, WeakMap, Error), make no code
// from strings, and change nothing but objects of their own, so they work where
// everything is frozen and strict. All but one: where the realm has no
// SuppressedError, `using` makes one from an Error by assigning to its name,
// which a frozen Error.prototype forbids.
var suppressedName = regexp.MustCompile(`(\w+)\.name = ("SuppressedError")`)

// helperEdits returns the edits that mend the helpers, given the code in front
// of all that comes from the source.
func helperEdits(code string) edits {
	if !strings.Contains(code, "SuppressedError") {
		return nil
	}
	var list edits
	for _, m := range suppressedName.FindAllStringSubmatchIndex(code, -1) {
		list = append(list, splice{
			at:     m[0],
			length: m[1] - m[0],
			text:   "Object.defineProperty(" + code[m[2]:m[3]] + `, "name", { value: ` + code[m[4]:m[5]] + ", configurable: true })",
		})
	}
	return list
}
