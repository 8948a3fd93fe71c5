package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/cloister-wasm/cloister/internal/clientconfig"
	"github.com/cloister-wasm/cloister/internal/redact"
)

const (
	diffContext  = 2
	maxDiffLines = 200 // of one step
	maxDiffLine  = 1000
)

// plainDiff is for a diff that is data.
var plainDiff = &stream{Writer: io.Discard}

// diffOf shows each of the steps from one document to the last. What is in the file is a stranger's for a terminal, and holds
// its user's secrets.
func diffOf(out *stream, before *clientconfig.Document, steps []*clientconfig.Document) string {
	var b strings.Builder
	text := before.Text()
	for _, step := range steps {
		b.WriteString(fileDiff(out, text, step.Text()))
		text = step.Text()
	}
	return b.String()
}

// fileDiff shows two texts that differ in one place, as a unified diff does.
func fileDiff(out *stream, before, after []byte) string {
	x, y := diffLines(before), diffLines(after)
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	tail := 0
	for tail < min(len(x), len(y))-same && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	start := max(0, same-diffContext)
	end := min(tail, diffContext)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", out.paint(styleCyan, fmt.Sprintf("@@ -%d,%d +%d,%d @@", start+1, len(x)-tail+end-start, start+1, len(y)-tail+end-start)))
	shown := 0
	write := func(sign, style string, lines []string) {
		for _, line := range lines {
			if shown++; shown == maxDiffLines {
				b.WriteString(out.paint(styleDim, "… more lines") + "\n")
			}
			if shown < maxDiffLines {
				b.WriteString(out.paint(style, sign+escapeLine(redact.New().Text(strings.TrimSuffix(line, "\r"), maxDiffLine))) + "\n")
			}
		}
	}
	write(" ", styleDim, x[start:same])
	write("-", styleRed, x[same:len(x)-tail])
	write("+", styleBold, y[same:len(y)-tail])
	write(" ", styleDim, x[len(x)-tail:len(x)-tail+end])
	return b.String()
}

func diffLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(text, []byte("\n"))), "\n")
}
