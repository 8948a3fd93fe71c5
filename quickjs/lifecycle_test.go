package quickjs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// uses are the calls that a closed, stopped or trapped VM must refuse.
func uses(vm *VM) map[string]func() error {
	ctx := context.Background()
	t := vm.Template()
	val := func(_ Value, err error) error { return err }
	return map[string]func() error{
		"Compile":       func() error { return val(vm.Compile(ctx, "1 /* "+marker+" */")) },
		"Compile long":  func() error { return val(vm.Compile(ctx, "1 /*"+string(make([]byte, 2*inputSize))+"*/")) },
		"Run":           func() error { return val(vm.Run(ctx, t.Undefined())) },
		"Call":          func() error { return val(vm.Call(ctx, t.Entry(0), t.Undefined())) },
		"Call with one": func() error { return val(vm.Call(ctx, t.Entry(0), t.Undefined(), Value(0x5a5a5a5a5a5a5a5a))) },
		"String":        func() error { return val(vm.String(ctx, marker)) },
		"ParseJSON":     func() error { return val(vm.ParseJSON(ctx, []byte(`"`+marker+`"`))) },
		"ReadString":    func() error { _, err := vm.ReadString(ctx, t.Undefined(), 10); return err },
		"Free":          func() error { return vm.Free(ctx, t.Undefined()) },
		"Result":        func() error { return val(vm.Result(ctx, t.Undefined())) },
		"Snapshot":      func() error { _, err := vm.Snapshot(ctx, nil); return err },
		"Turn": func() error {
			_, _, err := vm.Turn(ctx, t.Entry(1), nil, t.Entry(2), t.Undefined(), 10)
			return err
		},
		"Turn with a batch": func() error {
			_, _, err := vm.Turn(ctx, t.Entry(1), []Settlement{{Value: []byte{0}}}, t.Entry(2), t.Undefined(), 10)
			return err
		},
	}
}

// checkRefuses calls everything on a VM that is at its end.
func checkRefuses(t *testing.T, what string, vm *VM) {
	t.Helper()
	for name, use := range uses(vm) {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: %s panics: %v", what, name, r)
				}
			}()
			if err := use(); !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %s: %v, want %v", what, name, err, ErrClosed)
			}
		}()
	}
	// These have no error to give, and must not panic.
	for name, look := range map[string]func(){
		"Unhandled": func() { vm.Unhandled() }, "OutOfMemory": func() { vm.OutOfMemory() },
		"ModuleDenied": func() { vm.ModuleDenied() }, "Interrupted": func() { vm.Interrupted() }, "DirtyBytes": func() { vm.DirtyBytes() },
		"Stop": vm.Stop, "Close": vm.Close, "SetDeadline": func() { vm.SetDeadline(time.Now()) },
	} {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: %s panics: %v", what, name, r)
				}
			}()
			look()
		}()
	}
}

// The instance of a closed VM belongs to the next cell. Whatever is called on the
// closed one gives ErrClosed and writes nothing.
func TestUseAfterClose(t *testing.T) {
	ctx := context.Background()
	for _, m := range modes {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		t.Run(m.name+"/pooled", func(t *testing.T) {
			vm := newVM(t, tmpl, nil)
			if _, err := run(ctx, vm, "return 1"); err != nil {
				t.Fatal(err)
			}
			vm.Close()
			checkRefuses(t, "closed", vm)
			next, err := tmpl.blank(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer next.Close()
			checkImage(t, next)
		})
		t.Run(m.name+"/dropped", func(t *testing.T) {
			vm := newVM(t, tmpl, nil)
			if _, err := run(ctx, vm, "return new ArrayBuffer(3e7).byteLength"); err != nil {
				t.Fatal(err)
			}
			vm.Close()
			checkRefuses(t, "closed", vm)
		})
		t.Run(m.name+"/stopped", func(t *testing.T) {
			vm := newVM(t, tmpl, nil)
			vm.Stop()
			if _, err := run(ctx, vm, "for (;;);"); !errors.Is(err, ErrInterrupted) {
				t.Fatal(err)
			}
			checkRefuses(t, "stopped", vm)
		})
		t.Run(m.name+"/of a closed template", func(t *testing.T) {
			tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
			vm := newVM(t, tmpl, nil)
			tmpl.Close()
			vm.Close()
			checkRefuses(t, "closed", vm)
		})
	}
}

func TestTemplateClose(t *testing.T) {
	ctx := context.Background()
	for _, m := range modes {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		vm := newVM(t, tmpl, nil)
		newVM(t, tmpl, nil).Close()
		tmpl.Close()
		tmpl.Close()
		if _, err := tmpl.NewVM(ctx, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: NewVM: %v", m.name, err)
		}
		if got, err := run(ctx, vm, "return 6 * 7"); got != "42" {
			t.Errorf("%s: a VM in use gives %q, %v", m.name, got, err)
		}
		snap, err := vm.Snapshot(ctx, nil)
		if err != nil {
			t.Errorf("%s: Snapshot: %v", m.name, err)
		}
		if _, _, err := tmpl.Restore(ctx, snap, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: Restore: %v", m.name, err)
		}
		vm.Close()
		if n := idle(tmpl); n != 0 {
			t.Errorf("%s: %d VMs in the pool of a closed template", m.name, n)
		}
	}
}

func TestEngineClose(t *testing.T) {
	ctx := context.Background()
	e, err := loadEngine(false)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := newTemplate(t, e, TemplateOptions{})
	vm := newVM(t, tmpl, nil)
	if err := e.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := run(ctx, vm, "return 6 * 7"); got != "42" {
		t.Errorf("a VM in use gives %q, %v", got, err)
	}
	if _, err := tmpl.NewVM(ctx, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("NewVM: %v", err)
	}
	if _, err := e.NewTemplate(ctx, &TemplateOptions{Prelude: "(() => [])"}); !errors.Is(err, ErrClosed) {
		t.Errorf("NewTemplate: %v", err)
	}
	vm.Close()
	tmpl.Close()
	if err := e.Close(ctx); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if e.rt != nil {
		t.Error("the runtime is still there")
	}
}

// TestHammer uses one template from many goroutines: whole cells, cells that
// throw, that are stopped from another goroutine, that run out of time or memory,
// that are saved and continued. No cell may see another's result.
func TestHammer(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{MaxIdle: 4})
			var wg sync.WaitGroup
			cells := 60
			if testing.Short() {
				cells = 15
			}
			for g := range 6 {
				wg.Go(func() {
					for i := range cells {
						if err := hammerCell(tmpl, g, i); err != nil {
							t.Errorf("goroutine %d, cell %d: %v", g, i, err)
							return
						}
					}
				})
			}
			wg.Wait()
			if n := idle(tmpl); n > 4 {
				t.Errorf("%d VMs in the pool", n)
			}
		})
	}
}

func hammerCell(tmpl *Template, g, i int) error {
	ctx := context.Background()
	id := fmt.Sprintf("%d/%d", g, i)
	vm, err := tmpl.NewVM(ctx, nil)
	if err != nil {
		return err
	}
	defer vm.Close()
	want := func(got string, err error, text string) error {
		if err != nil || got != text {
			return fmt.Errorf("%q, %w, want %q", got, err, text)
		}
		return nil
	}
	switch i % 6 {
	case 0:
		got, err := run(ctx, vm, "if (globalThis.x) return 'left: ' + x; globalThis.x = '"+id+"'; return x")
		return want(got, err, id)
	case 1:
		got, err := run(ctx, vm, "throw new Error('"+id+"')")
		return want(got, err, "throw Error: "+id)
	case 2:
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			vm.Stop()
		}()
		_, err := run(ctx, vm, "for (;;);")
		<-stopped
		if !errors.Is(err, ErrInterrupted) {
			return fmt.Errorf("stopped: %w", err)
		}
	case 3:
		vm.SetDeadline(time.Now().Add(2 * time.Millisecond))
		if _, err := run(ctx, vm, "[].includes.call({ length: 2 ** 53 - 1 }, 1)"); !errors.Is(err, ErrInterrupted) {
			return fmt.Errorf("late: %w", err)
		}
	case 4:
		got, err := run(ctx, vm, "try { new ArrayBuffer(1e9); } catch { } return '"+id+"'")
		if !vm.OutOfMemory() {
			return errors.New("out of memory is not seen")
		}
		return want(got, err, id)
	case 5:
		c, err := startCell(ctx, vm, "const mine = '"+id+"'; const r = await ask(mine); return mine + r")
		if err != nil {
			return err
		}
		if _, _, err := c.turn(ctx); err != nil {
			return err
		}
		snap, err := vm.Snapshot(ctx, nil, c.main)
		if err != nil {
			return err
		}
		vm.Close()
		again, roots, err := tmpl.Restore(ctx, snap, nil)
		if err != nil {
			return err
		}
		defer again.Close()
		c = &cell{vm: again, main: roots[0]}
		st, _, err := c.turn(ctx, Settlement{Slot: 0, Flag: 1, Value: codecString("!")})
		if err != nil {
			return err
		}
		got, err := c.result(ctx, st)
		return want(got, err, id+"!")
	}
	return nil
}

// Template is documented as safe for concurrent use: Close may come while others
// make VMs. Each gets one that works, or ErrClosed.
func TestTemplateCloseWhileVMsAreMade(t *testing.T) {
	ctx := context.Background()
	for _, m := range modes {
		for range shorter(20, 4) {
			tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
			var wg sync.WaitGroup
			start := make(chan struct{})
			for range 4 {
				wg.Go(func() {
					<-start
					for range 5 {
						vm, err := tmpl.NewVM(ctx, nil)
						if errors.Is(err, ErrClosed) {
							return
						}
						if err != nil {
							t.Errorf("%s: %v", m.name, err)
							return
						}
						if got, err := run(ctx, vm, "return 6 * 7"); got != "42" {
							t.Errorf("%s: %q, %v", m.name, got, err)
						}
						vm.Close()
					}
				})
			}
			wg.Go(func() {
				<-start
				tmpl.Close()
			})
			close(start)
			wg.Wait()
			if n := idle(tmpl); n != 0 {
				t.Errorf("%s: %d VMs in the pool of a closed template", m.name, n)
			}
		}
	}
}
