// Command anthropic is a complete agent turn with Anthropic's Messages API: the
// model sees two tools, exec and wait, and writes programs that use all others.
//
//	export ANTHROPIC_API_KEY=…
//	go run ./anthropic "Which articles run out within two weeks?"
//
// It runs in this folder, which is a module of its own, so that programs which
// embed Cloister do not get the SDKs of all providers.
//
// What an agent has to do is in three functions: turn gives the model its tools and
// is the loop of requests and calls, enforce checks each request as it leaves, answer
// runs what the model asked for. A program that takes longer than one exec may, comes
// back with status "waiting"; the model sees that and calls wait.
//
// CLOISTER_DEBUG_MODEL_TRANSPORT=1, CLOISTER_DEBUG_MODEL_PAYLOAD=tools and the other
// switches of package host/debug show what is sent, on standard error.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/debug"
)

const (
	model        = anthropic.ModelClaudeHaiku4_5
	instructions = "You answer questions about a warehouse. Use exec to look things up: its description says how."
	maxTokens    = 4096
	maxRequests  = 20
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, "anthropic:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, question string, more ...option.RequestOption) error {
	if question == "" {
		return errors.New("give a question, such as: Which articles run out within two weeks?")
	}
	settings, err := debug.FromEnv(nil)
	if err != nil {
		return err
	}
	d := debug.New(debug.Options{Settings: settings, Secrets: []string{os.Getenv("ANTHROPIC_API_KEY")},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	h, err := host.New(ctx, &host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Tools: tools(), Trace: d.Trace(nil)})
	if err != nil {
		return err
	}
	defer h.Close()
	// One agent run: wait finds the cells of this scope and no others.
	r, err := h.NewRun(ctx, host.RunOptions{AgentID: "warehouse", AgentRunID: "run-1", SessionID: "session-1"})
	if err != nil {
		return err
	}
	defer r.Close()

	client := anthropic.NewClient(append([]option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: d.Transport(nil)}), // reads ANTHROPIC_API_KEY itself
		option.WithMiddleware(enforce(r)),
	}, more...)...)
	text, err := turn(ctx, &client, r, question)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, text)
	return err
}

// tools are the tools that programs can use; the model does not see them.
func tools() []host.RawTool {
	type article struct {
		SKU     string  `json:"sku"`
		OnHand  int     `json:"onHand"`
		PerWeek float64 `json:"perWeek" jsonschema:"pieces sold in a week"`
	}
	return []host.RawTool{host.Tool("list_articles", "Lists all articles with stock and weekly sales.", func(context.Context, struct{}) ([]article, error) {
		return []article{{"A-100", 12, 8}, {"A-200", 140, 9.5}, {"B-700", 3, 2.25}}, nil
	})}
}

// enforce checks requests as they leave: whatever a program did to a payload before,
// the model sees exec and wait, or the request is not sent.
func enforce(r *host.Run) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		if req.Body == nil {
			return next(req)
		}
		body, err := io.ReadAll(req.Body)
		if err = errors.Join(err, req.Body.Close()); err != nil {
			return nil, err
		}
		if err := r.EnforceSurface(body); err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		return next(req)
	}
}

// turn asks the model until it gives an answer without calling a tool.
func turn(ctx context.Context, client *anthropic.Client, r *host.Run, question string) (string, error) {
	params := anthropic.MessageNewParams{
		Model:     model,
		MaxTokens: maxTokens,
		System:    []anthropic.TextBlockParam{{Text: instructions}},
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
	if err := json.Unmarshal(r.AnthropicTools(), &params.Tools); err != nil {
		return "", err
	}
	for range maxRequests {
		message, err := client.Messages.New(ctx, params)
		if err != nil {
			return "", err
		}
		var text strings.Builder
		var results []anthropic.ContentBlockParamUnion
		for _, block := range message.Content {
			switch block := block.AsAny().(type) {
			case anthropic.TextBlock:
				text.WriteString(block.Text)
			case anthropic.ToolUseBlock:
				result, failed, err := answer(ctx, r, block.Name, block.ID, block.Input)
				if err != nil {
					return "", err
				}
				results = append(results, anthropic.NewToolResultBlock(block.ID, result, failed))
			}
		}
		switch {
		case message.StopReason == anthropic.StopReasonEndTurn:
			return text.String(), nil
		case message.StopReason != anthropic.StopReasonToolUse || len(results) == 0:
			return "", fmt.Errorf("the model stopped early: %s", message.StopReason)
		}
		params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(results...))
	}
	return "", fmt.Errorf("no answer after %d requests", maxRequests)
}

// answer runs what the model asked for and gives the result as JSON. Everything that
// is wrong with the call or the program is a result for the model to read; an error
// is the end of the turn.
func answer(ctx context.Context, r *host.Run, name, callID string, arguments []byte) (text string, failed bool, err error) {
	var result *host.Result
	switch name {
	case "exec":
		in, bad := r.ParseExec(arguments)
		if in.CallID, result = callID, bad; bad == nil {
			result, err = r.Exec(ctx, in)
		}
	case "wait":
		in, bad := r.ParseWait(arguments)
		if in.CallID, result = callID, bad; bad == nil {
			result, err = r.Wait(ctx, in)
		}
	default:
		return "there are two tools: exec and wait", true, nil
	}
	if err != nil {
		return "", false, err
	}
	b, err := json.Marshal(result)
	return string(b), result.Status == guestabi.StatusFailed, err
}
