package spans

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
)

// Bounds of a trace that is read.
const (
	// MaxBytes is how many bytes Read takes.
	MaxBytes  = 64 << 20
	maxEvents = 1_000_000
	maxLine   = 64 << 10
	// maxDamage is how many damaged lines are named.
	maxDamage = 5
	// maxText bounds names, a status or a rule.
	maxText = 303
)

// ReadOptions are the choices of [Read].
type ReadOptions struct {
	// Run is the ID of the one run to keep, or "" for all.
	Run string
	// MaxEvents bounds the lines that are not blank, a million by default.
	MaxEvents int
}

// File is a trace that was read.
type File struct {
	*Tree // finished
	// Damaged is the number of lines that are no events, and Damage has the first few.
	Damaged int
	Damage  []Damage
	// LeftOut says that ReadOptions.Run left events out, and OtherRun is the first of
	// their runs, if they are of any.
	LeftOut  bool
	OtherRun string
}

// Damage is a line of a trace that is no event.
type Damage struct {
	Line int // from 1
	Err  error
}

// Read reads a trace of JSON lines and makes its tree. Damaged lines are left out and
// counted. A trace beyond the bounds is an error, ErrTooLarge; others are those of ctx
// and of r. Nil o is the zero value.
func Read(ctx context.Context, r io.Reader, o *ReadOptions) (*File, error) {
	if o == nil {
		o = &ReadOptions{}
	}
	most := cmp.Or(o.MaxEvents, maxEvents)
	f := &File{Tree: NewTree(maxText)}
	lines := bufio.NewReaderSize(&boundedReader{r: r, left: MaxBytes}, maxLine)
	events := 0
	for number := 1; ; number++ {
		if number%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		line, err := nextLine(lines)
		switch {
		case errors.Is(err, io.EOF):
			f.Finish()
			return f, nil
		case errors.Is(err, errLine):
			f.damage(number, err)
			continue
		case err != nil:
			return nil, err
		case len(bytes.Trim(line, " \t\r\n")) == 0:
			continue
		}
		if events++; events > most {
			return nil, &LimitError{Bound: fmt.Sprintf("%d events", most)}
		}
		e, err := Decode(line)
		if err != nil {
			f.damage(number, err)
			continue
		}
		f.add(e, o.Run)
	}
}

// add takes an event of the run that is wanted.
func (f *File) add(e *Event, only string) {
	if only != "" && e.RunID != only {
		f.LeftOut = true
		f.OtherRun = cmp.Or(f.OtherRun, e.RunID)
		return
	}
	f.Add(e)
}

// damage counts a damaged line and remembers the first few.
func (f *File) damage(line int, why error) {
	if f.Damaged++; f.Damaged <= maxDamage {
		f.Damage = append(f.Damage, Damage{line, why})
	}
}

// nextLine gives the next line, valid until the next call. What is too long is passed
// over to its end.
func nextLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
		return line, nil
	case !errors.Is(err, bufio.ErrBufferFull):
		return nil, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, errLine
	}
	return nil, err
}

// boundedReader fails, rather than ends, where there is more than it may give.
type boundedReader struct {
	r    io.Reader
	left int
}

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1] // one more tells whether there is more
	}
	n, err := b.r.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, &LimitError{Bound: fmt.Sprintf("%d MiB", MaxBytes>>20)}
	}
	return n, err
}
