package guest

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// Guest is a VM with a cell in it, and the calls of the prelude.
type Guest struct {
	VM   *quickjs.VM
	Main quickjs.Value // the promise of the cell's value
}

// closesWrapper is also in the prelude, for code that ran to its end.
const closesWrapper = "the code closes the function around it: unbalanced brackets"

// Start compiles the cell and runs it up to its first suspension.
func (g *Guest) Start(ctx context.Context, code string) error {
	bytecode, err := g.VM.Compile(ctx, guestabi.Wrap(code))
	if err != nil {
		return g.syntax(ctx, err)
	}
	fn, err := g.VM.Run(ctx, bytecode)
	if err != nil {
		// To make a function cannot throw. What ran was code behind the wrapper's end.
		var exc *quickjs.Exception
		if errors.As(err, &exc) {
			return &SyntaxError{&Thrown{guestabi.Thrown{Name: "SyntaxError", Message: closesWrapper}}}
		}
		return err
	}
	text, err := g.VM.String(ctx, guestabi.FunctionText(code))
	if err != nil {
		return g.Thrown(ctx, err)
	}
	if g.Main, err = g.Call(ctx, guestabi.EntryStart, fn, text); err != nil {
		return g.syntax(ctx, err)
	}
	return nil
}

// syntax marks what start throws: the cell itself runs inside a promise, so it is
// always about the source.
func (g *Guest) syntax(ctx context.Context, err error) error {
	err = g.Thrown(ctx, err)
	var t *Thrown
	if errors.As(err, &t) {
		return &SyntaxError{t}
	}
	return err
}

// Call calls an entry of the prelude.
func (g *Guest) Call(ctx context.Context, entry int, args ...quickjs.Value) (quickjs.Value, error) {
	t := g.VM.Template()
	return g.VM.Call(ctx, t.Entry(entry), t.Undefined(), args...)
}

// Result gives the settled main promise's value by way of an entry: Finish gives
// the JSON of a value, Explain describes a reason.
func (g *Guest) Result(ctx context.Context, entry, max int) ([]byte, error) {
	v, err := g.VM.Result(ctx, g.Main)
	if err != nil {
		return nil, g.Thrown(ctx, err)
	}
	return g.text(ctx, entry, v, max)
}

func (g *Guest) text(ctx context.Context, entry int, v quickjs.Value, max int) ([]byte, error) {
	s, err := g.Call(ctx, entry, v)
	if err != nil {
		return nil, g.Thrown(ctx, err)
	}
	b, err := g.VM.ReadString(ctx, s, max)
	if err != nil {
		return nil, g.Thrown(ctx, err)
	}
	return b, nil
}

// maxThrown bounds the description of a thrown value, in bytes.
const maxThrown = 256 << 10

// Reason describes a value that was thrown or that a promise was rejected with.
func (g *Guest) Reason(ctx context.Context, v quickjs.Value) error {
	s, err := g.Call(ctx, guestabi.EntryExplain, v)
	if err != nil {
		var exc *quickjs.Exception
		if errors.As(err, &exc) {
			return &Thrown{guestabi.Thrown{Message: "a value that cannot be described"}}
		}
		return err
	}
	b, err := g.VM.ReadString(ctx, s, maxThrown)
	if err != nil {
		var exc *quickjs.Exception
		if errors.As(err, &exc) || errors.Is(err, quickjs.ErrTooLarge) {
			return &Thrown{guestabi.Thrown{Message: "a value that cannot be described"}}
		}
		return err
	}
	t := &Thrown{}
	if err := json.Unmarshal(b, &t.Thrown); err != nil {
		return &Thrown{guestabi.Thrown{Message: "a value that cannot be described"}}
	}
	return t
}

// Thrown turns a JavaScript exception into a description; other errors stay.
func (g *Guest) Thrown(ctx context.Context, err error) error {
	var exc *quickjs.Exception
	if !errors.As(err, &exc) {
		return err
	}
	return g.Reason(ctx, exc.Value)
}
