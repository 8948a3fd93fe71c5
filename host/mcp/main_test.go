package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverEnv makes the test binary a stdio server: the value names one of servers.
const serverEnv = "CLOISTER_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if name := os.Getenv(serverEnv); name != "" {
		serve, ok := servers[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such server:", name)
			os.Exit(2)
		}
		time.AfterFunc(time.Minute, func() { os.Exit(3) }) // nobody has to end it
		serve()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// servers are programs, run by start of a Server made by program.
var servers = map[string]func(){
	"good":     func() { runSDK(goodServer(nil)) },
	"counting": counting,
	"stubborn": stubborn,
	"exits":    func() { fmt.Fprintln(os.Stderr, "fatal: token "+os.Getenv("TOKEN")+" is wrong\x1b[31m"); os.Exit(7) },
	"dies":     func() { script(func(s *scripted, call raw) { fmt.Fprintln(os.Stderr, "dying"); os.Exit(1) }) },
	"reborn":   reborn,
	"environ":  environ,
	"telling":  telling,
	"deaf":     func() { select {} },
	"nostdin":  nostdin,
}

func init() {
	for name, f := range hostile {
		servers[name] = f
	}
	for name, f := range floods {
		servers["flood-"+name] = f
	}
}

// program is the configuration of the test binary as a server.
func program(t testing.TB, server string) Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{
		Name: server, Command: exe, Args: []string{"-test.run=^$"},
		// The race detector would wait for a second at each exit.
		Env:    map[string]Value{serverEnv: {Text: server}, "GORACE": {Text: "atexit_sleep_ms=0"}},
		Limits: Limits{ConnectTimeout: 20 * time.Second, CallTimeout: 20 * time.Second},
	}
}

type addInput struct {
	A int64 `json:"a"`
	B int64 `json:"b"`
}

type addOutput struct {
	Sum int64 `json:"sum"`
}

// goodServer is a well-behaved server, made with the SDK.
func goodServer(o *sdk.ServerOptions) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "good", Version: "1.2.3"}, o)
	yes := true
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "Adds.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, in addInput) (*sdk.CallToolResult, addOutput, error) {
			return nil, addOutput{in.A + in.B}, nil
		})
	object := &jsonschema.Schema{Type: "object"}
	s.AddTool(&sdk.Tool{Name: "wipe", InputSchema: object, Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "disk is full"}}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "picture", InputSchema: object},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{
				&sdk.TextContent{Text: "<look>"}, &sdk.ImageContent{Data: []byte{1, 2, 3}, MIMEType: "image/png"},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem:x", MIMEType: "application/x", Blob: []byte{9}}},
			}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "slow", InputSchema: object},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if token := r.Params.GetProgressToken(); token != nil {
				if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: "half"}); err != nil {
					return nil, err
				}
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
	s.AddTool(&sdk.Tool{Name: "steps", InputSchema: object},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for i := range 3 {
				if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3}); err != nil {
					return nil, err
				}
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "grow", InputSchema: object},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			s.AddTool(&sdk.Tool{Name: "grown", InputSchema: object}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{}, nil
			})
			return &sdk.CallToolResult{}, nil
		})
	s.AddResource(&sdk.Resource{Name: "note", URI: "mem:note", MIMEType: "text/plain"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{
				{URI: r.Params.URI, Text: "hello", MIMEType: "text/plain"}, {URI: r.Params.URI, Blob: []byte("bin")},
			}}, nil
		})
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "t", URITemplate: "mem:{x}"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{}, nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Description: "Greets.", Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: "Hello " + r.Params.Arguments["who"]}}}}, nil
		})
	return s
}

func runSDK(s *sdk.Server) {
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// counting appends a line to the file COUNT for each start.
func counting() {
	count()
	runSDK(goodServer(&sdk.ServerOptions{Instructions: " Add.\r\n\u202eWell." + strings.Repeat("x", 3000)}))
}

func count() int {
	f, err := os.OpenFile(os.Getenv("COUNT"), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		panic(err)
	}
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	return int(info.Size())
}

// stubborn does not end when it is asked to, and starts a child that does not either.
func stubborn() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	script(func(s *scripted, call raw) {
		child, err := os.StartProcess("/bin/sleep", []string{"sleep", "50"}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
		if err != nil {
			panic(err)
		}
		s.result(call, fmt.Sprintf(`{"content":[{"type":"text","text":"%d %d"}]}`, os.Getpid(), child.Pid))
	})
	select {}
}

// reborn answers its first call in a life only by dying, until its third life.
func reborn() {
	lives := count()
	script(func(s *scripted, call raw) {
		if lives < 2 {
			os.Exit(1)
		}
		s.result(call, fmt.Sprintf(`{"content":[{"type":"text","text":"life %d"}]}`, lives))
	})
}

// environ gives its environment.
func environ() {
	script(func(s *scripted, call raw) {
		text, err := json.Marshal(strings.Join(os.Environ(), "\n"))
		if err != nil {
			panic(err)
		}
		s.result(call, `{"content":[{"type":"text","text":`+string(text)+`}]}`)
	})
}

// telling says its token, in an error if it is asked for one.
func telling() {
	script(func(s *scripted, call raw) {
		text := "GET /json?key=" + os.Getenv("TOKEN") + " failed, debug is " + os.Getenv("SHORT")
		s.result(call, fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"structuredContent":{"n":1.0,"text":%[1]q},"isError":%t}`,
			text, strings.Contains(string(call.Params), `"fail":true`)))
	})
}

// nostdin shakes hands and does not read any more.
func nostdin() {
	script(nil)
	select {}
}

// raw is a message of the client.
type raw struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// scripted is a server that writes what it likes.
type scripted struct {
	in    *bufio.Reader
	out   io.Writer
	tools string // the tools of tools/list
	lists int
	on    map[string]func(raw)
}

func (s *scripted) line(text string) {
	if _, err := io.WriteString(s.out, text+"\n"); err != nil {
		os.Exit(0) // the client is gone
	}
}

func (s *scripted) result(m raw, result string) {
	s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
}

func (s *scripted) fail(m raw, code int, text string) {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	s.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, m.ID, code, quoted))
}

func (s *scripted) next() (raw, bool) {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		return raw{}, false
	}
	var m raw
	if err := json.Unmarshal(line, &m); err != nil {
		panic(err)
	}
	return m, true
}

const oneTool = `{"name":"t","inputSchema":{"type":"object"}}`

func newScripted() *scripted {
	s := &scripted{in: bufio.NewReader(os.Stdin), out: os.Stdout, tools: oneTool, on: map[string]func(raw){}}
	s.on["server/discover"] = func(m raw) { s.fail(m, -32601, "not found") }
	s.on["initialize"] = func(m raw) {
		s.result(m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{}},"serverInfo":{"name":"scripted","version":"0"}}`)
	}
	s.on["tools/list"] = func(m raw) {
		s.lists++
		s.result(m, `{"tools":[`+s.tools+`]}`)
	}
	return s
}

// run answers until the client goes; without call it stops reading after the first list.
func (s *scripted) run(call func(*scripted, raw)) {
	for {
		m, ok := s.next()
		if !ok {
			return
		}
		switch f := s.on[m.Method]; {
		case f != nil:
			f(m)
			if call == nil && m.Method == "tools/list" {
				return
			}
		case m.Method == "tools/call" && call != nil:
			call(s, m)
		case m.ID != nil && m.Method != "":
			s.fail(m, -32601, "not found: "+m.Method)
		}
	}
}

func script(call func(*scripted, raw)) { newScripted().run(call) }
