// Command mcpclient is a plain MCP client, made with the official Go SDK: it starts
// "cloister serve", lists the tools, which are exec and wait, runs a program and
// prints its result. A call that needs approval is put to you on the terminal.
//
//	go run ./examples/hosts/mcpclient
//	go run ./examples/hosts/mcpclient -cloister bin/cloister -config examples/cloister.json5 examples/cells/hello.js
//	echo 'return ALL_TOOLS' | go run ./examples/hosts/mcpclient -
//
// It imports nothing of Cloister: any MCP client can do the same.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// cell is run if there is no file: it lists the tools that programs can use.
const cell = `return ALL_TOOLS.map((t) => t.id);`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mcpclient:", err)
		os.Exit(1)
	}
}

// start reads the command line, and starts the server as a child process.
func start(ctx context.Context) error {
	program := flag.String("cloister", "cloister", "path of the cloister program")
	config := flag.String("config", "", "configuration for cloister serve; without it the one that it finds")
	flag.Parse()
	code := []byte(cell)
	var err error
	switch {
	case flag.Arg(0) == "-":
		code, err = io.ReadAll(os.Stdin)
	case flag.NArg() > 0:
		code, err = os.ReadFile(flag.Arg(0))
	}
	if err != nil {
		return err
	}
	server := exec.Command(*program, "serve")
	if *config != "" {
		server.Args = append(server.Args, "--config", *config)
	}
	server.Stderr = os.Stderr
	return run(ctx, &mcp.CommandTransport{Command: server}, string(code), os.Stdin, os.Stdout)
}

// run is one session with a server.
func run(ctx context.Context, server mcp.Transport, code string, in io.Reader, out io.Writer) error {
	person := &person{in: bufio.NewReader(in), out: out}
	client := mcp.NewClient(&mcp.Implementation{Name: "mcpclient", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: person.ask})
	session, err := client.Connect(ctx, server, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(tool.Description, "\n")
		fmt.Fprintf(out, "%s: %s\n", tool.Name, printable(first))
	}

	language := "javascript"
	if strings.Contains(code, ": string") || strings.Contains(code, "interface ") {
		language = "typescript"
	}
	result, err := call(ctx, session, "exec", map[string]any{"code": code, "language": language})
	for err == nil && result["status"] == "waiting" {
		// A model would see this result, and decide to call wait.
		fmt.Fprintf(out, "waiting (%v)\n", result["reason"])
		result, err = call(ctx, session, "wait", map[string]any{"runId": result["runId"]})
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", text)
	if result["status"] != "completed" {
		return errors.New("the program failed")
	}
	return nil
}

// call calls a tool and gives its result, also that of a program that failed.
func call(ctx context.Context, session *mcp.ClientSession, name string, arguments map[string]any) (map[string]any, error) {
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	if result, ok := res.StructuredContent.(map[string]any); ok {
		return result, nil
	}
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			return nil, fmt.Errorf("%s: %s", name, printable(text.Text))
		}
	}
	return nil, fmt.Errorf("%s gave no result", name)
}

// person is who answers questions, one at a time.
type person struct {
	mu  sync.Mutex
	in  *bufio.Reader
	out io.Writer
}

// ask shows a question with its choices and reads a number. Whatever is none of the
// numbers declines: nothing is approved by accident.
func (p *person) ask(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, values, titles := choices(req.Params.RequestedSchema)
	if len(values) == 0 {
		return &mcp.ElicitResult{Action: "decline"}, nil // another kind of question than this program understands
	}
	fmt.Fprintf(p.out, "\n%s\n", printable(req.Params.Message))
	for i, title := range titles {
		fmt.Fprintf(p.out, "  %d  %s\n", i+1, printable(title))
	}
	fmt.Fprint(p.out, "Number, or nothing to decline: ")
	line, err := p.in.ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 1 || n > len(values) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{name: values[n-1]}}, nil
}

// choices reads a form of one field with a list of values.
func choices(schema any) (name string, values, titles []string) {
	raw, err := json.Marshal(schema)
	var form struct {
		Properties map[string]struct {
			Enum      []string `json:"enum"`
			EnumNames []string `json:"enumNames"`
		} `json:"properties"`
	}
	if err != nil || json.Unmarshal(raw, &form) != nil || len(form.Properties) != 1 {
		return "", nil, nil
	}
	for n, field := range form.Properties {
		name, values, titles = n, field.Enum, field.EnumNames
	}
	if len(titles) != len(values) {
		titles = values
	}
	return name, values, titles
}

// printable leaves out what steers a terminal: a server can write anything.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, s)
}
