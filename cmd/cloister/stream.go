package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// stream is one of the program's outputs.
type stream struct {
	io.Writer
	// tty says that a person looks at it. It decides about escapes, colours and
	// widths.
	tty bool
	// color says that colours are wanted.
	color bool
	// size gives the width of the terminal now; nil where there is none.
	size func() int
}

// newStream looks at what a file is.
func newStream(f *os.File) *stream {
	s := &stream{Writer: f, tty: term.IsTerminal(int(f.Fd()))}
	s.color = s.tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	s.size = func() int {
		w, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return w
	}
	return s
}

const (
	plainWidth = 80  // of terminals that do not tell
	fileWidth  = 100 // of what is laid out for files and pipes
)

// width is the number of columns to lay text out for.
func (s *stream) width() int {
	if !s.tty {
		return fileWidth
	}
	if s.size != nil {
		if w := s.size(); w > 0 {
			return max(w, 20)
		}
	}
	return plainWidth
}

// tableWidth is the width of lines that may be cut: without bound where a
// program may read them.
func (s *stream) tableWidth() int {
	if !s.tty {
		return 0
	}
	return s.width()
}

// text makes text ready for this stream: as it is for files and pipes, escaped
// for terminals.
func (s *stream) text(t string) string {
	if s.tty {
		return escapeText(t)
	}
	return t
}

// Styles, as ANSI codes.
const (
	styleBold   = "1"
	styleDim    = "2"
	styleRed    = "1;31"
	styleYellow = "33"
	styleCyan   = "36"
)

// paint puts a style around text if colours are wanted.
func (s *stream) paint(style, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}
