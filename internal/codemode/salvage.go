package codemode

import (
	"bytes"
	"context"
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/guest"
	"github.com/cloister-wasm/cloister/quickjs"
)

// lastWords completes the error of a program that ran out of time: what it had put out in the turn that was
// stopped is kept, and the error says where it was. What went over the cap of the output is the error then. Calls that it
// asked for in that turn are not made.
func (c *cell) lastWords(g guest.Guest, late *runError) *runError {
	ctx := context.Background() // the caller's may have ended; Salvage bounds the work
	err := g.VM.Salvage(ctx, func(thrown quickjs.Value) error {
		if err := c.takeOutput(ctx, g); err != nil {
			return err
		}
		var t *guest.Thrown
		if errors.As(g.Reason(ctx, thrown), &t) {
			late.line, late.column = c.loopAt(c.place(t.Stack))
		}
		return nil
	})
	var e *runError
	if errors.As(err, &e) {
		return e
	}
	return late
}

// takeOutput reads the outbox and keeps what the program put out.
func (c *cell) takeOutput(ctx context.Context, g guest.Guest) error {
	said, err := g.Call(ctx, guestabi.EntryDrain)
	if err != nil || said == g.VM.Template().Undefined() {
		return err
	}
	outbox, err := g.VM.ReadString(ctx, said, maxOutbox)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(outbox) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if len(line) == 0 || !bytes.ContainsRune([]byte{guestabi.MsgText, guestabi.MsgJSON, guestabi.MsgConsole, guestabi.MsgOverflow}, rune(line[0])) {
			continue
		}
		if err := c.Message(line); err != nil {
			return err
		}
	}
	return nil
}
