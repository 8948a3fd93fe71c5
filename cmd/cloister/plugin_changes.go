package main

import (
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/plugins"
)

// changeJSON is one difference as it is printed.
type changeJSON struct {
	Area   string         `json:"area"`
	Path   string         `json:"path,omitempty"`
	Text   string         `json:"text"`
	Before string         `json:"before,omitempty"`
	After  string         `json:"after,omitempty"`
	Widens bool           `json:"widens,omitempty"`
	Asks   bool           `json:"asks,omitempty"`
	Parts  []plugins.Part `json:"parts,omitempty"`
}

// changesJSON is a difference as it is printed, never null.
func changesJSON(d *plugins.Difference) []changeJSON {
	list := []changeJSON{}
	for _, c := range d.Changes {
		list = append(list, changeJSON(c))
	}
	return list
}

// Bounds of what is shown of one change. What is over them is counted, and --json has
// it all. A description of a manifest fits as a whole, in any script.
const (
	maxChange = 16 << 10 // bytes of one value
	maxPlaces = 50       // places in one value
)

// changesText lists changes by area; what widens is marked, and what else needs consent.
func changesText(s *stream, d *plugins.Difference) string {
	var b strings.Builder
	area := ""
	for _, c := range d.Changes {
		if c.Area != area {
			area = c.Area
			fmt.Fprintf(&b, "\n%s\n", s.paint(styleBold, escapeLine(area)))
		}
		mark := "  "
		switch {
		case c.Widens:
			mark = s.paint(styleYellow, "!") + " "
		case c.Asks:
			mark = s.paint(styleYellow, "?") + " "
		}
		for _, line := range wrapText(escapeLine(c.Text), min(s.width(), 100)-5) {
			b.WriteString("  " + mark + line + "\n")
			mark = "  "
		}
		valuesText(&b, s, &c)
	}
	return b.String()
}

// valuesText shows the values of a change, or the places where they differ.
func valuesText(b *strings.Builder, s *stream, c *plugins.Change) {
	if len(c.Parts) == 0 {
		if path := escapeLine(c.Path); path != "" {
			sides(b, s, unsaid(c, c.Before), unsaid(c, c.After))
		}
		return
	}
	for i, p := range c.Parts {
		if i == maxPlaces {
			fmt.Fprintf(b, "      and %d more places, which --json shows\n", len(c.Parts)-i)
			return
		}
		if p.Path != "" {
			for _, line := range foldText("at "+escapeLine(p.Path), min(s.width(), 100)-8) {
				b.WriteString("      " + line + "\n")
			}
		}
		sides(b, s, p.Before, p.After)
	}
}

// unsaid is a value unless the sentence has it, or says whether something is so.
func unsaid(c *plugins.Change, value string) string {
	if value == "true" || strings.Contains(c.Text, value) {
		return ""
	}
	return value
}

// sides shows what was and what is, each line behind its mark: a text of a stranger
// never begins a line.
func sides(b *strings.Builder, s *stream, before, after string) {
	for _, v := range []struct{ mark, text string }{{"- ", before}, {"+ ", after}} {
		if v.text == "" {
			continue
		}
		for _, line := range foldText(shownValue(v.text), min(s.width(), 100)-8) {
			b.WriteString("      " + v.mark + s.paint(styleDim, line) + "\n")
		}
	}
}

// shownValue makes a value safe, on one line; one that is cut says so.
func shownValue(text string) string {
	if len(text) <= maxChange {
		return escapeLine(text)
	}
	head := plaintext.Head(text, maxChange)
	return fmt.Sprintf("%s… (%d more bytes, which --json shows)", escapeLine(head), len(text)-len(head))
}

// foldText breaks a line into pieces of at most width columns, where spaces allow it and
// elsewhere if need be. Nothing is left out: spaces count in what is compared.
func foldText(text string, width int) (lines []string) {
	line, room := "", max(width, 20)
	for text != "" {
		n := strings.IndexByte(text, ' ') + 1
		if n == 0 {
			n = len(text)
		}
		word := text[:n]
		text = text[n:]
		if line != "" && textWidth(line+word) > room {
			lines, line = append(lines, line), ""
		}
		for textWidth(word) > room {
			head := clipColumns(word, room)
			lines, word = append(lines, head), word[len(head):]
		}
		line += word
	}
	return append(lines, line)
}

// clipColumns is the beginning of a text that fits a width, one character at least.
func clipColumns(text string, width int) string {
	end, columns := 0, 0
	for i, r := range text {
		if columns += textWidth(string(r)); columns > width && i > 0 {
			break
		}
		end = i + len(string(r))
	}
	return text[:end]
}

// legend says what the marks stand for.
func legend(s *stream, d *plugins.Difference) string {
	text := ""
	if d.Widens() {
		text += s.paint(styleYellow, "!") + " marks what the plugin did not have before.\n"
	}
	for _, c := range d.Changes {
		if c.Asks && !c.Widens {
			text += s.paint(styleYellow, "?") + " marks what else needs your consent: what a model reads, or decisions rest on.\n"
			break
		}
	}
	if text != "" {
		text = "\n" + text
	}
	return text
}
