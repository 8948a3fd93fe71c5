//go:build !wasip1

package sdk

import (
	"encoding/json"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
)

// The short way to read a call and the long one agree wherever the short one is taken.
func TestPlainCall(t *testing.T) {
	for _, c := range []struct {
		request string
		plain   bool
	}{
		{`{"abi":1,"tool":"greet","input":{"name":"a"}}`, true},
		{`{"abi":1,"tool":"greet","input":{}}`, true},
		{`{"abi":1,"tool":"greet","input":{"a":"}\"}"}}`, true},
		{`{"abi":1,"tool":"","input":{}}`, true},
		{`{"abi":1,"tool":"gr\u0065et","input":{}}`, false},
		{`{"abi":2,"tool":"greet","input":{}}`, false},
		{`{"abi":10,"tool":"greet","input":{}}`, false},
		{`{"tool":"greet","abi":1,"input":{}}`, false},
		{`{ "abi":1,"tool":"greet","input":{}}`, false},
		{`{"abi":1,"tool":"greet"}`, false},
		{``, false},
	} {
		tool, input, ok := plainCall([]byte(c.request))
		if ok != c.plain {
			t.Errorf("%s: plain %v", c.request, ok)
			continue
		}
		var long guestabi.CallRequest
		if err := open([]byte(c.request), &long, &long.ABI); ok && (err != nil || long.Tool != tool || string(long.Input) != string(input)) {
			t.Errorf("%s: %q %s, the long way %q %s %v", c.request, tool, input, long.Tool, long.Input, err)
		}
	}
	// What follows the input is no part of it, and an input with more behind it is refused when it is decoded.
	tool, input, ok := plainCall([]byte(`{"abi":1,"tool":"greet","input":{},"more":1}`))
	if ok && json.Valid(input) {
		t.Errorf("%q %s", tool, input)
	}
}
