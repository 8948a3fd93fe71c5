package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// serverTarget is what a server runs or connects to, without what may be secret.
func serverTarget(s *mcp.Server) string {
	if s.Command == "" {
		return shownURL(s.URL)
	}
	words := []string{quoteWord(s.Command)}
	for _, arg := range shownArgs(s) {
		words = append(words, quoteWord(arg))
	}
	return strings.Join(words, " ")
}

// shownArgs are the arguments, those that look like secrets left out.
func shownArgs(s *mcp.Server) []string {
	args := slices.Clone(s.Args)
	for _, where := range plainSecrets(s) {
		var n int
		if _, err := fmt.Sscanf(where, "argument %d", &n); err == nil && n >= 1 && n <= len(args) {
			name, _, assigned := strings.Cut(args[n-1], "=")
			args[n-1] = "…"
			if assigned {
				args[n-1] = name + "=…"
			}
		}
	}
	return args
}

// quoteWord writes a word of a command line so that its ends can be seen.
func quoteWord(s string) string {
	plain := func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`$\\|&;<>()*?[]#~!{}", r) }
	if s != "" && !strings.ContainsFunc(s, plain) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// serversText is the table of servers.
func serversText(s *stream, list []serverJSON) string {
	if len(list) == 0 {
		return "No MCP servers; cloister mcp add adds one, cloister mcp import those of another client.\n"
	}
	width := 0
	for _, r := range list {
		width = max(width, textWidth(r.Name))
	}
	var b strings.Builder
	file := ""
	byFile := slices.Clone(list)
	slices.SortStableFunc(byFile, func(x, y serverJSON) int { return strings.Compare(x.File, y.File) })
	for _, r := range byFile {
		if r.File != file {
			if file = r.File; b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(s.paint(styleDim, "in "+escapeLine(file)) + "\n")
		}
		note := ""
		if r.State == stateDisabled {
			note = " " + s.paint(styleYellow, "(disabled)")
		}
		target := r.URL
		if len(r.Command) > 0 {
			words := make([]string, len(r.Command))
			for i, word := range r.Command {
				words[i] = quoteWord(word)
			}
			target = strings.Join(words, " ")
		}
		b.WriteString("  " + s.paint(styleBold, pad(escapeLine(r.Name), width)) + "  " + cutLine(s, escapeLine(target), width+4) + note + "\n")
		if r.Ended != nil {
			b.WriteString("  " + pad("", width) + "  " + s.paint(styleYellow, endedText(r.Ended)) + "\n")
		}
		if len(r.Plain) > 0 {
			b.WriteString("  " + pad("", width) + "  " + s.paint(styleYellow, "a secret in plain text: "+escapeLine(strings.Join(r.Plain, ", "))) + "\n")
		}
	}
	return b.String()
}

// plannedText shows what adding a server will do.
func plannedText(s *stream, server *mcp.Server) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %s  %s\n", pad(name, 8), text) }
	b.WriteString(s.paint(styleBold, escapeLine(server.Name)) + "\n")
	if server.Command != "" {
		row("runs", escapeLine(serverTarget(server)))
		if server.Dir != "" {
			row("in", escapeLine(server.Dir))
		}
	} else {
		row("connects", escapeLine(serverTarget(server)))
	}
	for _, list := range []struct {
		name   string
		values map[string]mcp.Value
	}{{"variable", server.Env}, {"header", server.Headers}} {
		for _, name := range namesOf(list.values) {
			row(list.name, escapeLine(name+" from "+list.values[name].String()))
		}
	}
	for _, name := range server.InheritEnv {
		row("variable", escapeLine(name+" handed on"))
	}
	if server.OAuth != nil {
		row("oauth", "asks for your consent in a browser, the first time")
	}
	if server.Approval != "" {
		row("approval", escapeLine(string(server.Approval))+", for all its tools")
	}
	for _, where := range plainSecrets(server) {
		row(s.paint(styleYellow, "warning "), escapeLine(where)+" looks like a secret in plain text; "+secretRemedy(where))
	}
	return b.String()
}

// secretRemedy says how to keep what plainSecrets found out of the list. Arguments and URLs have no other form than the text.
func secretRemedy(where string) string {
	switch {
	case strings.HasPrefix(where, "argument "):
		return "if the program takes it from a variable, --env NAME=env:VARIABLE keeps it out of the list"
	case strings.HasSuffix(where, " of the url"):
		return "if the server takes it in a header, --header NAME=env:VARIABLE or --bearer env:VARIABLE keeps it out of the list"
	default:
		return "NAME=env:VARIABLE or NAME=file:PATH keeps it out of the list"
	}
}

// probeText shows what a server said and offers.
func probeText(s *stream, r *mcp.Report) string {
	var b strings.Builder
	who := strings.TrimSpace(r.ServerName + " " + r.ServerVersion)
	fmt.Fprintf(&b, "%s  %s, protocol %s, connected in %s\n", s.paint(styleBold, escapeLine(r.Name)), escapeLine(who), escapeLine(r.Protocol), shownDuration(r.Connected))
	b.WriteString(probedInstructions(s, r.Instructions))
	b.WriteString(probedTools(s, r))
	var more []string
	for _, c := range []struct {
		n    int
		what string
		has  bool
	}{{r.Resources, "resource", r.HasResources && r.Templates == 0}, {r.Templates, "resource template", false}, {r.Prompts, "prompt", r.HasPrompts}} {
		if c.n > 0 || c.has {
			more = append(more, count(c.n, c.what))
		}
	}
	if len(more) > 0 {
		b.WriteString("  and " + strings.Join(more, ", ") + "\n")
	}
	for _, note := range r.Notes {
		b.WriteString("  " + s.paint(styleYellow, "note") + "  " + escapeLine(note) + "\n")
	}
	return b.String()
}

// probedInstructions shows what a server says of itself to a model, all of it: it is agreed to with the tools. Line
// ends of its own would only move the rest out of sight.
func probedInstructions(s *stream, text string) string {
	words := strings.Join(strings.Fields(text), " ")
	if words == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("  it tells the model:\n")
	for _, line := range wrapText(escapeText(words), min(s.width(), 100)-6) {
		b.WriteString("  > " + line + "\n")
	}
	return b.String()
}

// probedTools lists tools with what they need, and those left out. All names and texts
// are the server's own.
func probedTools(s *stream, r *mcp.Report) string {
	var b strings.Builder
	width := 0
	for i := range r.List {
		width = max(width, textWidth(escapeLine(r.List[i].Name)))
	}
	width = min(width, maxNameWidth)
	for i := range r.List {
		t := &r.List[i]
		need := pad(string(approvalOf(t)), 6)
		if approvalOf(t) != host.ApprovalNever {
			need = s.paint(styleYellow, need)
		}
		line := "  " + pad(escapeLine(t.Name), width) + "  " + need + "  "
		text := firstSentence(plaintext.Head(t.Description, 2000))
		if t.Title != "" && t.Title != t.Name {
			text = strings.TrimSuffix(escapeLine(plaintext.Head(t.Title, 200))+": "+text, ": ")
		}
		b.WriteString(strings.TrimRight(line+cutLine(s, text, width+12), " ") + "\n")
	}
	if len(r.List) == 0 {
		b.WriteString("  no tools\n")
	}
	for _, t := range r.Skipped {
		b.WriteString("  " + s.paint(styleYellow, "left out") + "  " + escapeLine(t.Tool+": "+t.Reason) + "\n")
	}
	return b.String()
}

func approvalOf(t *host.MCPTool) host.Approval {
	if t.Approval == "" {
		return host.ApprovalNever
	}
	return t.Approval
}

func shownDuration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return d.Round(100 * time.Millisecond).String()
}

// probeReport is what mcp test and mcp add print for programs.
type probeReport struct {
	Name         string            `json:"name"`
	OK           bool              `json:"ok"`
	Error        string            `json:"error,omitempty"`
	Protocol     string            `json:"protocol,omitempty"`
	Server       string            `json:"server,omitempty"`
	Version      string            `json:"version,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	ConnectedMs  int64             `json:"connectedMs,omitempty"`
	Tools        []probedTool      `json:"tools"`
	Skipped      map[string]string `json:"skipped,omitempty"`
	Resources    int               `json:"resources"`
	Templates    int               `json:"resourceTemplates"`
	Prompts      int               `json:"prompts"`
	HasResources bool              `json:"hasResources"`
	HasPrompts   bool              `json:"hasPrompts"`
	Notes        []string          `json:"notes,omitempty"`
}

type probedTool struct {
	Name        string               `json:"name"`
	Title       string               `json:"title,omitempty"`
	Description string               `json:"description"`
	Approval    host.Approval        `json:"approval"`
	Annotations host.ToolAnnotations `json:"annotations"`
}

func probeJSON(r *mcp.Report, err error) probeReport {
	out := probeReport{OK: err == nil, Tools: []probedTool{}, Skipped: map[string]string{}}
	if err != nil {
		out.Error = err.Error()
	}
	if r == nil {
		return out
	}
	out.Name, out.Protocol, out.Server, out.Version = r.Name, r.Protocol, r.ServerName, r.ServerVersion
	out.Instructions, out.ConnectedMs = r.Instructions, r.Connected.Milliseconds()
	out.Resources, out.Templates, out.Prompts = r.Resources, r.Templates, r.Prompts
	out.HasResources, out.HasPrompts, out.Notes = r.HasResources, r.HasPrompts, r.Notes
	for i := range r.List {
		t := &r.List[i]
		out.Tools = append(out.Tools, probedTool{t.Name, t.Title, t.Description, approvalOf(t), t.Annotations})
	}
	for _, t := range r.Skipped {
		out.Skipped[t.Tool] = t.Reason
	}
	return out
}

// lastLines keeps what a server wrote to standard error last.
type lastLines struct {
	mu    sync.Mutex
	lines []string
}

const maxLastLines = 20

func (l *lastLines) add(_, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines = append(l.lines, line); len(l.lines) > maxLastLines {
		l.lines = slices.Clone(l.lines[1:])
	}
}

func (l *lastLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
