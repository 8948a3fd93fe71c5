package spans

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

const someEvent = `{"time":"2026-03-01T00:00:00Z","event":"a","runId":"r"}`

func TestDamage(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"cut", `{"time":"2026-03-01T00:00:00Z","ev`, "not valid JSON"},
		{"duplicate key", `{"time":"2026-03-01T00:00:00Z","event":"a","event":"b"}`, `twice`},
		{"duplicate unknown key", `{"time":"2026-03-01T00:00:00Z","event":"a","x":1,"x":2}`, `twice`},
		{"folded key is another", `{"Time":"2026-03-01T00:00:00Z","event":"a"}`, "time is missing"},
		{"no event", `{"time":"2026-03-01T00:00:00Z"}`, "event is missing"},
		{"wrong type", `{"time":"2026-03-01T00:00:00Z","event":7}`, "/event"},
		{"bad time", `{"time":"yesterday","event":"a"}`, "/time"},
		{"negative size", `{"time":"2026-03-01T00:00:00Z","event":"a","inputBytes":-1}`, "negative"},
		{"huge size", `{"time":"2026-03-01T00:00:00Z","event":"a","inputBytes":99999999999999999999}`, "/inputBytes"},
		{"huge number", `{"time":"2026-03-01T00:00:00Z","event":"a","durationMs":1e999}`, "exponent"},
		{"negative count", `{"time":"2026-03-01T00:00:00Z","event":"a","count":-1}`, "negative"},
		{"two values", someEvent + someEvent, "more text"},
		{"not UTF-8", "{\"time\":\"2026-03-01T00:00:00Z\",\"event\":\"\xff\"}", "UTF-8"},
		{"nested deeply", `{"time":"2026-03-01T00:00:00Z","event":"a","x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, "deeper"},
		{"null", "null", "event is missing"},
		{"too long", `{"x":"` + strings.Repeat("x", maxLine) + `"}`, "more than 64 KiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, after := range []string{"", "\n", "\n" + someEvent + "\n"} {
				f, err := Read(t.Context(), strings.NewReader(someEvent+"\n\n"+test.line+after), nil)
				if err != nil {
					t.Fatal(err)
				}
				if f.Damaged != 1 || f.Damage[0].Line != 3 || !strings.Contains(f.Damage[0].Err.Error(), test.want) {
					t.Errorf("damage %+v, want line 3 with %q", f.Damage, test.want)
				}
				if want := 1 + min(len(after)/10, 1); len(f.Runs) != 1 || len(f.Runs[0].Spans) != want {
					t.Errorf("%d events are read, want %d", len(f.Runs[0].Spans), want)
				}
			}
		})
	}
}

// forever repeats a text.
type forever struct{ text string }

func (f forever) Read(p []byte) (int, error) {
	if len(p) < len(f.text) {
		return copy(p, f.text), nil
	}
	n := 0
	for n+len(f.text) <= len(p) {
		n += copy(p[n:], f.text)
	}
	return n, nil
}

func TestBounds(t *testing.T) {
	refused := func(err error, bound string) {
		t.Helper()
		if le := (*LimitError)(nil); !errors.Is(err, ErrTooLarge) || !errors.As(err, &le) || le.Bound != bound {
			t.Errorf("error %v, want %q", err, bound)
		}
	}
	// 64 MiB of one line are passed over, and no more are read.
	_, err := Read(t.Context(), forever{strings.Repeat("x", 4096)}, nil)
	refused(err, "64 MiB")
	atBound := io.LimitReader(forever{strings.Repeat(" ", 4096)}, MaxBytes)
	if f, err := Read(t.Context(), atBound, nil); err != nil || f.Damaged != 1 {
		t.Errorf("a trace at the bound: %v", err)
	}
	for _, line := range []string{someEvent + "\n", "damaged\n"} {
		for _, run := range []string{"", "other"} {
			_, err = Read(t.Context(), forever{line}, &ReadOptions{MaxEvents: 100, Run: run})
			refused(err, "100 events")
		}
		if _, err := Read(t.Context(), strings.NewReader(strings.Repeat(line, 100)), &ReadOptions{MaxEvents: 100}); err != nil {
			t.Errorf("100 events: %v", err)
		}
	}
}

func TestReadStops(t *testing.T) {
	cause := errors.New("the cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := Read(ctx, forever{"\n"}, nil); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if _, err := Read(t.Context(), io.MultiReader(strings.NewReader(someEvent), failing{cause}), nil); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Only the run that is asked for is kept.
func TestOneRun(t *testing.T) {
	text := someEvent + "\n" + strings.Replace(someEvent, `"r"`, `"q"`, 1)
	for run, want := range map[string]int{"r": 1, "q": 1, "": 2, "no": 0} {
		f, err := Read(t.Context(), strings.NewReader(text), &ReadOptions{Run: run})
		if err != nil {
			t.Fatal(err)
		}
		if f.LeftOut != (run != "") || len(f.Runs) != want || want == 1 && f.Runs[0].ID != run {
			t.Errorf("Run %q gives %d runs", run, len(f.Runs))
		}
	}
}
