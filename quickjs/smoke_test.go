package quickjs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

const setup0 = `{"tools":[{"id":"cloister:core:echo","name":"echo","description":"d","source":"cloister","sourceName":"core"}],"names":{"echo":"cloister:core:echo"},"files":{},"maxOutput":65536,"maxOpen":1024}`

func tmpl(t testing.TB, o *EngineOptions) *Template {
	e, err := Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	tt, err := e.NewTemplate(context.Background(), &TemplateOptions{Prelude: guestabi.Prelude(), Setup: []byte(setup0), Entries: guestabi.EntryCount,
		Train: func(ctx context.Context, vm *VM) error {
			_, _, err := runCell(ctx, vm, `const a = await tools.echo({x:1}); const b = JSON.parse(JSON.stringify([a,{z:[1,2,3]}])); return b`)
			return err
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tt.Close(); e.Close(context.Background()) })
	return tt
}

func runCell(ctx context.Context, vm *VM, src string) (string, string, error) {
	t := vm.t
	code, err := vm.Compile(ctx, guestabi.Wrap(src))
	if err != nil {
		return "", "", err
	}
	fn, err := vm.Run(ctx, code)
	if err != nil {
		return "", "", err
	}
	txt, err := vm.String(ctx, guestabi.FunctionText(src))
	if err != nil {
		return "", "", err
	}
	p, err := vm.Call(ctx, t.entries[guestabi.EntryStart], t.undefined, fn, txt)
	if err != nil {
		return "", "", err
	}
	for i := 1; ; i++ {
		st, out, err := vm.Turn(ctx, t.entries[guestabi.EntryDrain], p)
		if err != nil {
			return "", "", err
		}
		ob, err := vm.ReadString(ctx, out, 1<<20)
		if err != nil {
			return "", "", err
		}
		if st == Pending {
			if len(ob) == 0 {
				return "", "pending", nil
			}
			b, err := vm.ParseJSON(ctx, []byte(`[[`+string('0'+byte(i))+`,1,{"ok":true,"n":5}]]`))
			if err != nil {
				return "", "", err
			}
			if _, err := vm.Call(ctx, t.entries[guestabi.EntrySettle], t.undefined, b); err != nil {
				return "", "", err
			}
			continue
		}
		v, err := vm.Result(ctx, p)
		if err != nil {
			return "", "", err
		}
		ent := t.entries[guestabi.EntryFinish]
		if st == Rejected {
			ent = t.entries[guestabi.EntryExplain]
		}
		s, err := vm.Call(ctx, ent, t.undefined, v)
		if err != nil {
			return "", "", err
		}
		res, err := vm.ReadString(ctx, s, 1<<20)
		return string(res), string(ob), err
	}
}

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	t0 := time.Now()
	tt := tmpl(t, nil)
	t.Log("load+template", time.Since(t0), "image", tt.ImageBytes(), "size", tt.im.size, "base", tt.baseBytes, "hot", tt.im.hot, "cold", tt.im.cold)
	for _, src := range []string{"return 1+1", "return await tools.echo({a:1})", "text('hi'); json({a:1}); console.log('x', {a:1}); return ALL_TOOLS", "return Object.getOwnPropertyNames(globalThis).join()",
		"throw new TypeError('boom')", "return Math.random()", "return Math.random()", "return eval('1')", "return Function('return 1')()", "return (async()=>{}).constructor('return 1')", "}); evil(); (async function(){", "function f(){return f()}; return f()", "return await import('x')", "return new Date().toString()+Date.now()", "return structuredClone({a:[1,new Map([[1,{b:2}]])],d:new Date(0), e:new Error('x'), u:new Uint8Array([1,2])})",
		"return Error.prepareStackTrace+ ' '+Object.getOwnPropertyNames(Function.prototype)", "for(;;);", "const a=[]; for(;;) a.push(new Array(1000).fill(1))", "import x from 'y'", "let x = ;"} {
		vm, err := tt.NewVM(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		vm.SetDeadline(time.Now().Add(500 * time.Millisecond))
		t1 := time.Now()
		r, o, err := runCell(ctx, vm, src)
		var exc *Exception
		if errors.As(err, &exc) {
			s, _ := vm.Call(ctx, tt.entries[guestabi.EntryExplain], tt.undefined, exc.Value)
			b, _ := vm.ReadString(ctx, s, 10000)
			r = "EXC " + string(b)
		}
		t.Log(src, "=>", r, "|", o, "|", err, time.Since(t1), "oom", vm.OutOfMemory(), vm.ModuleDenied())
		vm.Close()
	}
}

func BenchmarkOne(b *testing.B) {
	tt := tmpl(b, nil)
	ctx := context.Background()
	for name, src := range map[string]string{"one": "return 1+1", "three": "let s=0; for (let i=0;i<3;i++) { const r = await tools.echo({i}); s += r.n } return s"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				vm, err := tt.NewVM(ctx, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := runCell(ctx, vm, src); err != nil {
					b.Fatal(err)
				}
				vm.Close()
			}
		})
	}
}

func BenchmarkSuspend(b *testing.B) {
	tt := tmpl(b, nil)
	ctx := context.Background()
	src := "const s = {a:[1,2,3], name:'x'.repeat(100)}; const m = new Map([[1,2]]); const r = await tools.echo({i:1}); return [s.a.length, m.size, r]"
	var size int
	for b.Loop() {
		vm, err := tt.NewVM(ctx, nil)
		if err != nil {
			b.Fatal(err)
		}
		t := vm.t
		code, _ := vm.Compile(ctx, guestabi.Wrap(src))
		fn, _ := vm.Run(ctx, code)
		txt, _ := vm.String(ctx, guestabi.FunctionText(src))
		p, err := vm.Call(ctx, t.entries[guestabi.EntryStart], t.undefined, fn, txt)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := vm.Turn(ctx, t.entries[guestabi.EntryDrain], p); err != nil {
			b.Fatal(err)
		}
		snap, err := vm.Snapshot(p)
		if err != nil {
			b.Fatal(err)
		}
		size = len(snap)
		vm.Close()
		vm, roots, err := tt.Restore(ctx, snap, nil)
		if err != nil {
			b.Fatal(err)
		}
		bt, _ := vm.ParseJSON(ctx, []byte(`[[1,1,{"ok":true,"n":5}]]`))
		if _, err := vm.Call(ctx, t.entries[guestabi.EntrySettle], t.undefined, bt); err != nil {
			b.Fatal(err)
		}
		st, _, err := vm.Turn(ctx, t.entries[guestabi.EntryDrain], roots[0])
		if err != nil || st != Fulfilled {
			b.Fatal(st, err)
		}
		v, _ := vm.Result(ctx, roots[0])
		sv, _ := vm.Call(ctx, t.entries[guestabi.EntryFinish], t.undefined, v)
		s, err := vm.ReadString(ctx, sv, 1000)
		if err != nil || string(s) != `[3,1,{"ok":true,"n":5}]` {
			b.Fatal(string(s), err)
		}
		vm.Close()
	}
	b.ReportMetric(float64(size), "snapbytes")
}
