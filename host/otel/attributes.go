package otel

import (
	"strings"
	"unicode"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/redact"
	"github.com/cloister-wasm/cloister/internal/spans"
)

const (
	// maxText bounds the text of an attribute, in bytes.
	maxText = 512
	// lookAt is how much of a text is looked at for secrets.
	lookAt = 8 * maxText
)

// attributes collects attributes; texts that are empty are left out.
type attributes struct {
	redactor *redact.Redactor
	list     []*commonpb.KeyValue
}

// free adds a text that anybody may have written.
func (a *attributes) free(key, text string) {
	if text != "" {
		a.plain(key, a.redactor.Text(text, maxText))
	}
}

// plain adds a text that is ours, or an id.
func (a *attributes) plain(key, text string) {
	if text != "" {
		a.list = append(a.list, &commonpb.KeyValue{Key: shown(key), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: shown(text)}}})
	}
}

func (a *attributes) number(key string, n int) {
	if n > 0 {
		a.list = append(a.list, &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(n)}}})
	}
}

func (a *attributes) flag(key string, on bool) {
	if on {
		a.list = append(a.list, &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}})
	}
}

// shown bounds a text and makes it valid UTF-8 without control characters: one span
// with another byte in it would cost its whole batch.
func shown(s string) string { return plaintext.Short(s, 2*maxText) }

// word adds a name out of a small set.
func (a *attributes) word(key, text string) { a.free(key, word(text)) }

// word gives a short name as it is, and for any other text the value that the
// conventions have for what is in no list.
func word(s string) string {
	if len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool {
		return r > 0x7f || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./", r)
	}) {
		return "_OTHER"
	}
	return s
}

// scope adds what every span of a run has.
func (a *attributes) scope(s *spans.Span) {
	a.plain("cloister.run.id", s.Run.ID)
	a.free("gen_ai.agent.id", s.Scope.AgentID)
	a.free("gen_ai.conversation.id", s.Scope.SessionID)
	a.free("cloister.agent_run.id", s.Scope.AgentRunID)
	a.free("cloister.sender", s.Scope.Sender)
	a.free("cloister.channel", s.Scope.Channel)
}

// tool is what a catalog id says.
type tool struct{ name, owner, method string }

// toolOf takes an id apart: source, owner, name. The methods of MCP are those of
// package host.
func toolOf(id string) tool {
	parts := strings.SplitN(id, ":", 3)
	if len(parts) != 3 {
		return tool{name: id}
	}
	t := tool{name: parts[2], owner: parts[1]}
	if parts[0] == "mcp" {
		switch t.name {
		case "resources/read", "resources/list", "prompts/get", "prompts/list":
			t.method = t.name
		default:
			t.method = "tools/call"
		}
	}
	return t
}

// fail marks a span as failed. kind is a word of a small set.
func (a *attributes) fail(p *tracepb.Span, kind, message string) {
	if kind = word(kind); kind == "" {
		kind = "_OTHER"
	}
	p.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: shown(a.redactor.Text(message, maxText))}
	a.free("error.type", kind)
}
