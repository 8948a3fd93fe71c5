package gateway

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// Answers of the form. Refuse is first: a client that takes the first of a list for
// a default refuses.
const (
	answerRefuse  = "refuse"
	answerOnce    = "once"
	answerRun     = "run"
	answerSession = "session"
)

// question gives the form for an approval. All texts in it may be hostile: a model, a
// server and the client's own name are in it.
func question(p *host.PendingApproval, who Client) *mcp.ElicitParams {
	answers, names := []string{answerRefuse, answerOnce}, []string{"Refuse", "Allow this call"}
	if p.Call.Approval != host.ApprovalAlways {
		if p.Call.RunID != "" {
			answers, names = append(answers, answerRun), append(names, "Allow all calls of this tool by this program")
		}
		answers, names = append(answers, answerSession), append(names, "Allow all calls of this tool in this session")
	}
	return &mcp.ElicitParams{Mode: "form", Message: questionText(p, who), RequestedSchema: map[string]any{
		"type": "object",
		"properties": map[string]any{"decision": map[string]any{
			"type": "string", "title": "Decision", "enum": answers, "enumNames": names,
		}},
		"required": []string{"decision"},
	}}
}

// Bounds on the text of a question, in characters.
const (
	maxShownArguments = 2000
	maxShownMember    = 160
	maxShownMembers   = 40
)

func questionText(p *host.PendingApproval, who Client) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow a call of the tool %s?\n", oneLine(p.Call.Tool, 200))
	asks := "agent " + quoted(p.Call.Scope.AgentID)
	if who.Name != "" {
		asks += ", client " + quoted(who.Name)
	}
	if p.Call.Scope.Sender != "" {
		asks += ", for " + quoted(p.Call.Scope.Sender)
	}
	fmt.Fprintf(&b, "Asked by: %s\n", asks)
	if p.Call.Caller != "" {
		fmt.Fprintf(&b, "The call is made by the plugin %s.\n", quoted(p.Call.Caller))
	}
	if p.Call.Unsigned {
		b.WriteString("The tool comes from a plugin without a signature.\n")
	}
	b.WriteString("Arguments:\n" + shownArguments(p.Call.Input))
	return b.String()
}

func quoted(s string) string { return `"` + strings.ReplaceAll(oneLine(s, 80), `"`, `'`) + `"` }

// shownArguments shows a call's arguments. Where they are too long each member is cut
// by itself, so that a long one hides no other, and the text says so.
func shownArguments(input json.RawMessage) string {
	if utf8.RuneCount(input) <= maxShownArguments {
		return visible(string(input), maxShownArguments)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		return visible(string(input), maxShownArguments) + cutNote(len(input))
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for i, name := range names {
		if i == maxShownMembers {
			fmt.Fprintf(&b, "… and %d members more\n", len(names)-i)
			break
		}
		key, err := json.Marshal(name)
		if err != nil {
			continue // no string is refused
		}
		fmt.Fprintf(&b, "%s: %s", visible(string(key), 80), visible(string(members[name]), maxShownMember))
		if n := len(members[name]); n > maxShownMember {
			b.WriteString(cutNote(n))
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + cutNote(len(input))
}

func cutNote(size int) string { return fmt.Sprintf(" … (CUT: %d bytes in all)", size) }

// oneLine is visible for names: white space of any kind is a single space.
func oneLine(s string, limit int) string {
	if len(s) > limit*utf8.UTFMax {
		s = strings.ToValidUTF8(s[:limit*utf8.UTFMax], "")
	}
	return visible(strings.Join(strings.Fields(s), " "), limit)
}

// visible shows text to a person: what a reader cannot see, or what steers a terminal
// or the direction of text, is written as \u{…}. At most limit characters are shown.
func visible(s string, limit int) string {
	var b strings.Builder
	for n := 0; len(s) > 0; n++ {
		if n == limit {
			b.WriteString("…")
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == ' ' || unicode.IsPrint(r) && !unicode.Is(unicode.M, r) && !filler(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		s = s[size:]
	}
	return b.String()
}

// filler are characters that count as printable and show nothing.
func filler(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800:
		return true
	}
	return false
}

// decision reads the user's answer. Whatever is not one of the answers that were
// offered refuses.
func (s *session) decision(p *host.PendingApproval, res *mcp.ElicitResult) host.Decision {
	who := s.who()
	d := host.Decision{By: "elicitation"}
	if who.Principal != "" {
		d.By += ":" + who.Principal
	}
	if res == nil || res.Action != "accept" {
		d.Reason = "the user refused"
		if res != nil && res.Action == "cancel" {
			d.Reason = "the user closed the question"
		}
		return d
	}
	always := p.Call.Approval == host.ApprovalAlways
	switch answer, _ := res.Content["decision"].(string); {
	case answer == answerOnce:
		d.Approved, d.Extent = true, host.ApproveOnce
	case answer == answerRun && !always && p.Call.RunID != "":
		d.Approved, d.Extent = true, host.ApproveRun
	case answer == answerSession && !always:
		d.Approved, d.Extent = true, host.ApproveSession
	default:
		d.Reason = "the user refused"
	}
	return d
}
