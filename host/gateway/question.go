package gateway

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
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
		if p.Call.CellID != "" {
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

// Bounds on the text of a question: maxShownArguments in characters, so that the
// limit is the same for all scripts, the others in bytes.
const (
	maxShownArguments = 2000 // of JSON that is shown as it is
	maxShownMember    = 160
	maxShownKey       = 80
	maxShownName      = 80
	maxShownTool      = 400
	maxShownMembers   = 40
)

func questionText(p *host.PendingApproval, who Client) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow a call of the tool %s?\n", plaintext.Show(p.Call.Tool, maxShownTool))
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

func quoted(s string) string {
	return `"` + strings.ReplaceAll(plaintext.Show(s, maxShownName), `"`, `'`) + `"`
}

// shownArguments shows a call's arguments. Where they are too long each member is cut
// by itself, so that a long one hides no other, and the text says so.
func shownArguments(input json.RawMessage) string {
	if utf8.RuneCount(input) <= maxShownArguments {
		return shownJSON(input, plaintext.Whole)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		return shownJSON(input, maxShownArguments) + cutNote(len(input))
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
		value := shownJSON(members[name], maxShownMember)
		b.WriteString(shownJSON(key, maxShownKey) + ": " + value)
		if strings.HasSuffix(value, "…") { // which ends no JSON
			b.WriteString(cutNote(len(members[name])))
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + cutNote(len(input))
}

// shownJSON shows JSON on one line of at most n bytes, in the escapes that `cloister
// approvals` shows it in.
func shownJSON(text json.RawMessage, n int) string {
	return plaintext.Show(plaintext.ShowJSON(string(text)), n)
}

func cutNote(size int) string { return fmt.Sprintf(" … (CUT: %d bytes in all)", size) }

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
	case answer == answerRun && !always && p.Call.CellID != "":
		d.Approved, d.Extent = true, host.ApproveRun
	case answer == answerSession && !always:
		d.Approved, d.Extent = true, host.ApproveSession
	default:
		d.Reason = "the user refused"
	}
	return d
}
