package debug_test

import (
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/cloister-wasm/cloister/host/debug"
)

func ExampleDebug_Transport() {
	env := map[string]string{debug.EnvPayload: "tools"} // os.Getenv in a program
	settings, err := debug.FromEnv(func(name string) string { return env[name] })
	if err != nil {
		log.Fatal(err)
	}
	d := debug.New(debug.Options{Settings: settings, Secrets: []string{"the API key"}, Logger: slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))})
	provider := roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
	})
	// client goes to the SDK of a provider.
	client := &http.Client{Transport: d.Transport(provider)}
	resp, err := client.Post("https://provider.example.com/v1/messages", "application/json", strings.NewReader(
		`{"model":"some-model","tools":[{"name":"exec","input_schema":{}},{"name":"wait","input_schema":{}}],"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode, resp.Body.Close())
	// Output:
	// level=DEBUG msg="model payload" method=POST url=https://provider.example.com/v1/messages bytes=147 members="[messages model tools]" tools="[exec wait]" toolCount=2 model=some-model messages=1
	// 200 <nil>
}
