package settings_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
)

// A configuration for a host with tools of one's own, without plugins and servers.
func ExampleParse() {
	s, err := settings.Parse("cloister.json5", []byte(`{
  // what cells may use
  tools: { codeMode: { timeoutMs: 5000 }, deny: ["*:*:delete_*"] },
}`))
	if err != nil {
		log.Fatal(err)
	}
	h, err := host.New(context.Background(), &host.Options{CodeMode: s.CodeMode, Allow: s.Allow, Deny: s.Deny, Sandbox: s.Sandbox})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	fmt.Println(s.CodeMode.Enabled, s.CodeMode.TimeoutMs, s.Deny)
	// Output: true 5000 [*:*:delete_*]
}

// All faults come at once, each with its place.
func ExampleError() {
	_, err := settings.Parse("cloister.json5", []byte(`{
  tools: { alow: ["core"] },
  serve: { http: "7420" },
}`))
	var wrong *settings.Error
	if errors.As(err, &wrong) {
		for _, f := range wrong.Faults {
			fmt.Println(f.Line, f.Column, f.Key)
		}
	}
	fmt.Println(err)
	// Output:
	// 2 12 tools.alow
	// 3 18 serve.http
	// cloister.json5:2:12: tools.alow: unknown key; did you mean allow?
	// cloister.json5:3:18: serve.http: is no address to listen on; write a host and a port, such as 127.0.0.1:7420
}

// A program with folders of its own, which the environment does not decide about.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "settings")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "app.json5")
	if err := os.WriteFile(file, []byte(`{mcp: {servers: {notes: {command: "mcp-notes"}}}}`), 0o600); err != nil {
		log.Fatal(err)
	}
	s, err := settings.Load(&settings.Options{File: file, Places: settings.Places{Data: filepath.Join(dir, "data"), Cache: "off"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.ServerNames(), s.Server("notes").Command, s.Found)
	// Output: [notes] mcp-notes false
}

// The value of a secret is read when it is needed, from the place that is configured.
func ExampleSecret_Read() {
	s, err := settings.Parse("cloister.json5", []byte(`{serve: {tokens: {ann: {env: "EXAMPLE_ANN_TOKEN"}}}}`))
	if err != nil {
		log.Fatal(err)
	}
	_, err = s.Serve.Tokens["ann"].Read()
	fmt.Println(err)
	os.Setenv("EXAMPLE_ANN_TOKEN", "open sesame")
	defer os.Unsetenv("EXAMPLE_ANN_TOKEN")
	token, err := s.Serve.Tokens["ann"].Read()
	fmt.Println(len(token), err)
	// Output:
	// the variable EXAMPLE_ANN_TOKEN is not set
	// 11 <nil>
}

// A server is added to a configuration; its comments stay.
func ExampleServerFile_Put() {
	dir, err := os.MkdirTemp("", "settings")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "app.json5")
	if err := os.WriteFile(file, []byte("{\n  // nothing yet\n}\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	err = settings.ServerFile{Path: file}.Put(&mcp.Server{Name: "notes", Command: "mcp-notes"})
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// {
	//   "mcp": {
	//     "servers": {
	//       "notes": {
	//         "command": "mcp-notes"
	//       }
	//     }
	//   }
	//   // nothing yet
	// }
}
