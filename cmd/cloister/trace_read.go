package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/spans"
)

const maxShownText = 300 // bytes of an id

// readTrace reads a trace and builds its tree. Unless it is empty, only names the one
// run to keep.
func readTrace(ctx context.Context, r io.Reader, name, only string) (*spans.File, error) {
	t, err := spans.Read(ctx, r, &spans.ReadOptions{Run: only})
	var limit *spans.LimitError
	switch {
	case err == nil:
		return t, nil
	case ctx.Err() != nil:
		return nil, errInterrupted
	case errors.As(err, &limit):
		return nil, traceTooLarge(name, limit.Bound)
	}
	return nil, usageError(fmt.Errorf("trace: %w", err), "")
}

// readTraceFile reads a trace from a file, or from standard input for "-", and gives its
// name for messages.
func (a *app) readTraceFile(ctx context.Context, f *traceFlags, file string) (t *spans.File, name string, err error) {
	if file == "-" {
		t, err = readTrace(ctx, a.stdin, "stdin", f.run)
		return t, "stdin", err
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, file, usageError(fmt.Errorf("trace: %w", err), `FILE is what "cloister run --trace FILE" wrote; - is standard input`)
	}
	defer in.Close()
	switch info, err := in.Stat(); {
	case err != nil:
		return nil, file, usageError(fmt.Errorf("trace: %w", err), "")
	case info.IsDir():
		return nil, file, usageError(fmt.Errorf("trace: %s is a folder", file), `FILE is what "cloister run --trace FILE" wrote; - is standard input`)
	case info.Mode().IsRegular() && info.Size() > spans.MaxBytes:
		return nil, file, traceTooLarge(file, fmt.Sprintf("%d MiB", spans.MaxBytes>>20))
	}
	t, err = readTrace(ctx, in, file, f.run)
	return t, file, err
}

// traceTooLarge refuses a trace, whatever its name is.
func traceTooLarge(name, bound string) error {
	return usageError(fmt.Errorf("trace: %s has more than %s", name, bound), "take one run out of it: grep RUN-ID FILE | cloister trace show -")
}

// cutText bounds a text that is shown.
func cutText(s string) string {
	if len(s) <= maxShownText {
		return s
	}
	return plaintext.Head(s, maxShownText) + "…"
}
