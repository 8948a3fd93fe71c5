package json5_test

import (
	"fmt"

	"github.com/cloister-wasm/cloister/internal/json5"
)

func ExampleParse() {
	root, err := json5.Parse("cloister.json5", []byte(`{
  // code mode on
  tools: { codeMode: { enabled: true, timeoutMs: 5e3, memoryLimitBytes: 0x4000000, languages: ['javascript',] } },
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	timeout := root.Lookup("tools", "codeMode", "timeoutMs")
	fmt.Println(timeout.Pos, timeout.Number)
	text, err := root.Lookup("tools").JSON()
	fmt.Println(string(text), err)
	// Output:
	// 3:50 5000
	// {"codeMode":{"enabled":true,"languages":["javascript"],"memoryLimitBytes":67108864,"timeoutMs":5000}} <nil>
}

func ExampleSyntaxError() {
	_, err := json5.Parse("cloister.json5", []byte("{\n  tools: {},\n  tools: {},\n}"))
	fmt.Println(err)
	// Output:
	// cloister.json5:3:3: key "tools" at 3:3 is already set at 2:3; keep one of them
}
