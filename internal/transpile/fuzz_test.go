package transpile

import (
	"context"
	"errors"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzTransform sends any source through a real worker. Whatever it is, the
// error has one of the promised types; what comes out is the body of an async
// function without module syntax, and its lines lead to places in the source.
func FuzzTransform(f *testing.F) {
	w := newTestWorker(f, nil)
	f.Fuzz(func(t *testing.T, source string) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		out, err := w.Transform(ctx, Input{Source: source})
		var syntax *SyntaxError
		var module *ModuleAccessError
		switch {
		case errors.As(err, &syntax):
			checkPlace(t, source, syntax.Position)
			return
		case errors.As(err, &module):
			checkPlace(t, source, module.Position)
			return
		case errors.Is(err, ErrWorkerDied), errors.Is(err, ErrTimeLimit), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrOutputTooLarge), errors.Is(err, ErrSourceTooLarge):
			return
		case err != nil:
			t.Fatalf("%q: %v", source, err)
		}
		if !utf8.ValidString(out.Code) {
			t.Errorf("%q became %q, which is not UTF-8", source, out.Code)
		}
		checkOrder(t, out.Map)
		for _, s := range out.Map.segs {
			checkPlace(t, source, Position{int(s.srcLine), int(s.srcCol)})
		}
		// The sources are short here, so what esbuild made of them is harmless.
		if syntax, at, ok := probeModuleSyntax(out.Code); syntax != "" || !ok {
			t.Errorf("%q became %q, which is no function body: %s at %v", source, out.Code, syntax, at)
		}
	})
}

func checkPlace(t *testing.T, source string, p Position) {
	t.Helper()
	lines := newLineTable(source)
	if p.Line < 1 || p.Line > len(lines.starts) || p.Column < 1 || lines.position(lines.offset(p)) != p {
		t.Errorf("%q has no place %v", source, p)
	}
}
