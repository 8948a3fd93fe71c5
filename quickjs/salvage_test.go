package quickjs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

// TestSalvage: a program that was stopped at its deadline can be asked once for what it put out and where it was; one
// that trapped, or that was stopped for another reason, cannot.
func TestSalvage(t *testing.T) {
	tmpl := preludeTemplate(t)
	start := func(t *testing.T, src string, stop bool) (*VM, error) {
		t.Helper()
		vm, err := tmpl.NewVM(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(vm.Close)
		code, err := vm.Compile(t.Context(), guestabi.Wrap(src))
		if err != nil {
			t.Fatal(err)
		}
		fn, err := vm.Run(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		text, err := vm.String(t.Context(), guestabi.FunctionText(src))
		if err != nil {
			t.Fatal(err)
		}
		vm.SetDeadline(time.Now().Add(50 * time.Millisecond))
		if stop {
			vm.Stop()
		}
		_, err = vm.Call(t.Context(), tmpl.Entry(guestabi.EntryStart), tmpl.Undefined(), fn, text)
		return vm, err
	}
	look := func(vm *VM, entry int) (string, error) {
		out := ""
		err := vm.Salvage(t.Context(), func(thrown Value) error {
			args := []Value{thrown}
			if entry == guestabi.EntryDrain {
				args = nil
			}
			v, err := vm.Call(t.Context(), tmpl.Entry(entry), tmpl.Undefined(), args...)
			if err != nil {
				return err
			}
			text, err := vm.ReadString(t.Context(), v, 1<<20)
			out = string(text)
			return err
		})
		return out, err
	}
	for name, c := range map[string]struct {
		src   string
		entry int
		want  string
	}{
		"output": {"console.log('kept'); for (;;);", guestabi.EntryDrain, `llog,"kept"`},
		"place":  {"\n\nfor (;;) Math.max(1);", guestabi.EntryExplain, `cell.js:3:`},
	} {
		t.Run(name, func(t *testing.T) {
			vm, err := start(t, c.src, false)
			if !errors.Is(err, ErrInterrupted) {
				t.Fatalf("start: %v", err)
			}
			if got, err := look(vm, c.entry); err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%q, %v; want %q in it", got, err, c.want)
			}
			if _, err := look(vm, c.entry); !errors.Is(err, ErrClosed) {
				t.Errorf("a second look: %v", err)
			}
		})
	}
	t.Run("what it runs is bounded", func(t *testing.T) {
		vm, err := start(t, "Object.defineProperty(InternalError.prototype, 'name', { get() { for (;;); } }); for (;;);", false)
		if !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
		if _, err := look(vm, guestabi.EntryExplain); !errors.Is(err, ErrInterrupted) && !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	})
	t.Run("stopped by the host", func(t *testing.T) {
		vm, err := start(t, "for (;;);", true)
		if !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		if _, err := look(vm, guestabi.EntryDrain); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}
