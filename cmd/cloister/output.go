package main

import (
	"encoding/json"
	"strings"

	"github.com/cloister-wasm/cloister/host"
)

// outputPrinter writes a run's output and value for people.
type outputPrinter struct {
	ui *ui
	// quiet leaves out the lines of the console.
	quiet   bool
	printed int
}

// print writes the items that have not been written: the output of a result
// covers the whole run.
func (p *outputPrinter) print(items []host.OutputItem) {
	for ; p.printed < len(items); p.printed++ {
		item := items[p.printed]
		switch {
		case item.Level != "":
			if !p.quiet {
				p.ui.do(func() { p.ui.print(p.ui.err, consoleLines(p.ui.err, item)) })
			}
		case item.Type == "json":
			p.ui.do(func() { p.ui.print(p.ui.out, prettyJSON(item.Value, p.ui.out.width())+"\n") })
		default:
			p.ui.do(func() { p.ui.print(p.ui.out, endLine(p.ui.out.text(item.Text))) })
		}
	}
}

// value writes the value that the cell returned: a string as it is, other values
// as JSON, and null not at all, since a cell without return gives it.
func (p *outputPrinter) value(value json.RawMessage) {
	var text string
	switch {
	case len(value) == 0 || string(value) == "null":
		return
	case json.Unmarshal(value, &text) == nil:
		text = endLine(p.ui.out.text(text))
	default:
		text = prettyJSON(value, p.ui.out.width()) + "\n"
	}
	p.ui.do(func() { p.ui.print(p.ui.out, text) })
}

// endLine adds a line feed where text does not end in one.
func endLine(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// levelStyles are the styles of console levels that stand out.
var levelStyles = map[string]string{"error": styleRed, "warn": styleYellow, "debug": styleDim}

// consoleLines lays one call of the console out. Further lines are indented, so
// that the guest cannot write a line that looks like one of ours.
func consoleLines(s *stream, item host.OutputItem) string {
	label := "[" + escapeLine(item.Level) + "] "
	lines := strings.Split(strings.TrimSuffix(escapeText(item.Text), "\n"), "\n")
	text := strings.Join(lines, "\n"+strings.Repeat(" ", len(label)))
	style, ok := levelStyles[item.Level]
	if !ok {
		style = styleCyan
	}
	return s.paint(style, strings.TrimRight(label, " ")) + " " + text + "\n"
}
