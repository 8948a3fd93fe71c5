package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// guest is a VM with a cell in it, and the calls of the prelude.
type guest struct {
	vm   *quickjs.VM
	main quickjs.Value // the promise of the cell's value
}

// thrownError is a value that guest code threw.
type thrownError struct{ guestabi.Thrown }

func (e *thrownError) Error() string {
	switch {
	case e.Name != "" && e.Message != "":
		return e.Name + ": " + e.Message
	case e.Name != "":
		return e.Name
	}
	return e.Message
}

// syntaxError is a thrownError from compiling.
type syntaxError struct{ *thrownError }

func (e *syntaxError) Unwrap() error { return e.thrownError }

// closesWrapper is also in the prelude, for code that ran to its end.
const closesWrapper = "the code closes the function around it: unbalanced brackets"

// start compiles the cell and runs it up to its first suspension.
func (g *guest) start(ctx context.Context, code string) error {
	bytecode, err := g.vm.Compile(ctx, guestabi.Wrap(code))
	if err != nil {
		return g.syntax(ctx, err)
	}
	fn, err := g.vm.Run(ctx, bytecode)
	if err != nil {
		// To make a function cannot throw. What ran was code behind the wrapper's end.
		var exc *quickjs.Exception
		if errors.As(err, &exc) {
			return &syntaxError{&thrownError{guestabi.Thrown{Name: "SyntaxError", Message: closesWrapper}}}
		}
		return err
	}
	text, err := g.vm.String(ctx, guestabi.FunctionText(code))
	if err != nil {
		return g.thrown(ctx, err)
	}
	if g.main, err = g.call(ctx, guestabi.EntryStart, fn, text); err != nil {
		return g.syntax(ctx, err)
	}
	return nil
}

// syntax marks what start throws: the cell itself runs inside a promise, so it is
// always about the source.
func (g *guest) syntax(ctx context.Context, err error) error {
	err = g.thrown(ctx, err)
	var t *thrownError
	if errors.As(err, &t) {
		return &syntaxError{t}
	}
	return err
}

func (g *guest) call(ctx context.Context, entry int, args ...quickjs.Value) (quickjs.Value, error) {
	t := g.vm.Template()
	return g.vm.Call(ctx, t.Entry(entry), t.Undefined(), args...)
}

// result gives the settled main promise's value by way of an entry: Finish gives
// the JSON of a value, Explain describes a reason.
func (g *guest) result(ctx context.Context, entry, max int) ([]byte, error) {
	v, err := g.vm.Result(ctx, g.main)
	if err != nil {
		return nil, g.thrown(ctx, err)
	}
	return g.text(ctx, entry, v, max)
}

func (g *guest) text(ctx context.Context, entry int, v quickjs.Value, max int) ([]byte, error) {
	s, err := g.call(ctx, entry, v)
	if err != nil {
		return nil, g.thrown(ctx, err)
	}
	b, err := g.vm.ReadString(ctx, s, max)
	if err != nil {
		return nil, g.thrown(ctx, err)
	}
	return b, nil
}

// maxThrown bounds the description of a thrown value, in bytes.
const maxThrown = 256 << 10

// reason describes a value that was thrown or that a promise was rejected with.
func (g *guest) reason(ctx context.Context, v quickjs.Value) error {
	s, err := g.call(ctx, guestabi.EntryExplain, v)
	if err != nil {
		var exc *quickjs.Exception
		if errors.As(err, &exc) {
			return &thrownError{guestabi.Thrown{Message: "a value that cannot be described"}}
		}
		return err
	}
	b, err := g.vm.ReadString(ctx, s, maxThrown)
	if err != nil {
		var exc *quickjs.Exception
		if errors.As(err, &exc) || errors.Is(err, quickjs.ErrTooLarge) {
			return &thrownError{guestabi.Thrown{Message: "a value that cannot be described"}}
		}
		return err
	}
	t := &thrownError{}
	if err := json.Unmarshal(b, &t.Thrown); err != nil {
		return &thrownError{guestabi.Thrown{Message: "a value that cannot be described"}}
	}
	return t
}

// thrown turns a JavaScript exception into a description; other errors stay.
func (g *guest) thrown(ctx context.Context, err error) error {
	var exc *quickjs.Exception
	if !errors.As(err, &exc) {
		return err
	}
	return g.reason(ctx, exc.Value)
}
