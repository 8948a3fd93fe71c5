package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/host"
)

// listText is the table of all tools: a heading for each owner, under it a line
// for each tool, cut to the width of a terminal. vouches says who vouches for an
// owner; it may be nil.
func listText(s *stream, entries []host.CatalogEntry, vouches func(owner string) string) string {
	if len(entries) == 0 {
		return "No tools: policy hides all of them.\n"
	}
	nameWidth := columnWidth(s, entries, func(e host.CatalogEntry) string { return e.Name })
	var b strings.Builder
	for len(entries) > 0 {
		owner := ownerOf(entries[0])
		n := slices.IndexFunc(entries, func(e host.CatalogEntry) bool { return ownerOf(e) != owner })
		if n < 0 {
			n = len(entries)
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s %s\n", s.paint(styleBold, owner), s.paint(styleDim, ownerNote(entries[:n], vouches)))
		for _, e := range entries[:n] {
			b.WriteString(toolLine(s, e.Name, nameWidth, e))
		}
		entries = entries[n:]
	}
	return b.String()
}

// maxNameWidth keeps one long name from pushing all descriptions away.
const maxNameWidth = 40

// columnWidth is the width of the column of names: at most two fifths of a
// terminal.
func columnWidth(s *stream, entries []host.CatalogEntry, name func(host.CatalogEntry) string) int {
	width := 0
	for _, e := range entries {
		width = max(width, textWidth(escapeLine(name(e))))
	}
	width = min(width, maxNameWidth)
	if all := s.tableWidth(); all > 0 {
		width = min(width, all*2/5)
	}
	return width
}

// toolLine is a name and the first sentence of a description, cut to the width.
// Beside a long name there is no room for it: it gets a line of its own.
func toolLine(s *stream, name string, nameWidth int, e host.CatalogEntry) string {
	text := e.Description
	if text == "" {
		text = e.Label
	}
	text = firstSentence(text)
	name = escapeLine(name)
	if textWidth(name) > nameWidth && s.tty && text != "" {
		return "  " + name + "\n      " + cutLine(s, text, 6) + "\n"
	}
	return strings.TrimRight("  "+pad(name, nameWidth)+"  "+cutLine(s, text, nameWidth+4), " ") + "\n"
}

// cutLine cuts text that begins in a column to the width of a terminal. Names
// and ids are never cut: people copy them.
func cutLine(s *stream, text string, column int) string {
	if width := s.tableWidth(); width > 0 {
		return clip(text, max(width-1-column, 1))
	}
	return text
}

// ownerOf is the part of an id before the tool's name.
func ownerOf(e host.CatalogEntry) string {
	return escapeLine(e.ID[:max(0, strings.LastIndexByte(e.ID, ':'))])
}

func ownerNote(entries []host.CatalogEntry, vouches func(string) string) string {
	note := "1 tool"
	if n := len(entries); n != 1 {
		note = fmt.Sprintf("%d tools", n)
	}
	if entries[0].Unsigned {
		note += ", unsigned"
	} else if vouches != nil {
		if who := vouches(ownerOf(entries[0])); who != "" {
			note += ", " + who
		}
	}
	return "(" + note + ")"
}

// searchText lists hits, best first, by their full ids.
func searchText(s *stream, entries []host.CatalogEntry) string {
	width := columnWidth(s, entries, func(e host.CatalogEntry) string { return e.ID })
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(toolLine(s, e.ID, width, e))
	}
	return b.String()
}

// firstSentence is the first sentence of a text, on one line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(escapeText(text)), " ")
	for at := 0; ; {
		end := strings.Index(text[at:], ". ")
		if end < 0 {
			return strings.TrimSuffix(text, ".")
		}
		at += end
		// "e.g. " and "i.e. " end no sentence.
		if !strings.HasSuffix(text[:at], "e.g") && !strings.HasSuffix(text[:at], "i.e") {
			return text[:at]
		}
		at += 2
	}
}

// describeText shows one tool. vouches is as for listText.
func describeText(s *stream, e *host.CatalogEntry, vouches func(owner string) string) string {
	var b strings.Builder
	b.WriteString(s.paint(styleBold, escapeLine(e.ID)))
	if e.Unsigned {
		b.WriteString(" " + s.paint(styleYellow, "(unsigned)"))
	} else if vouches != nil {
		if who := vouches(ownerOf(*e)); who != "" {
			b.WriteString(" (" + who + ")")
		}
	}
	b.WriteByte('\n')
	if e.Label != "" {
		b.WriteString(escapeLine(e.Label) + "\n")
	}
	for _, line := range wrapText(escapeText(e.Description), min(s.width(), 100)) {
		b.WriteString(line + "\n")
	}
	section(&b, s, "Takes", e.Parameters)
	section(&b, s, "Gives", e.Returns)
	fmt.Fprintf(&b, "\n%s\n  %s\n", s.paint(styleBold, "Call"), callExample(e))
	return b.String()
}

// section shows a schema: its members as a table if it is a plain object, else
// the schema itself.
func section(b *strings.Builder, s *stream, title string, schema json.RawMessage) {
	if len(schema) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", s.paint(styleBold, title))
	members, ok := readMembers(schema)
	if !ok {
		text := prettyJSON(schema, s.width()-2)
		fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
		return
	}
	if len(members) == 0 {
		b.WriteString("  {}\n")
	}
	nameWidth, typeWidth := 0, 0
	for _, m := range members {
		nameWidth = min(max(nameWidth, textWidth(m.shown())), maxNameWidth)
		typeWidth = min(max(typeWidth, textWidth(m.kind)), maxNameWidth)
	}
	for _, m := range members {
		head := "  " + pad(m.shown(), nameWidth) + "  " + pad(m.kind, typeWidth) + "  "
		indent := textWidth(head)
		if m.about != "" && s.width()-indent < minAbout {
			b.WriteString(strings.TrimRight(head, " ") + "\n")
			head, indent = "      ", 6
		}
		for _, line := range wrapText(m.about, s.width()-indent-1) {
			b.WriteString(strings.TrimRight(head+line, " ") + "\n")
			head = strings.Repeat(" ", indent)
		}
	}
}

// minAbout is the narrowest column that a description is put into.
const minAbout = 24

// callExample is the call as a cell would write it.
func callExample(e *host.CatalogEntry) string {
	members, ok := readMembers(e.Parameters)
	var args []string
	for _, m := range members {
		if m.required && m.depth == 0 {
			args = append(args, m.key()+": …")
		}
	}
	input := "{}"
	switch {
	case len(args) > 0:
		input = "{ " + strings.Join(args, ", ") + " }"
	case !ok:
		input = "{ … }"
	}
	return fmt.Sprintf("await tools.call(%s, %s)", escapeJSON(marshalPlain(e.ID)), input)
}
