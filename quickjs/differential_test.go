package quickjs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// describeJS turns any value into text that tells values apart: signs of zero,
// holes, property order, prototypes, cycles, descriptors, stacks.
const describeJS = `(function () {
  'use strict';
  const { stringify } = JSON;
  const seen = [];
  const number = (x) => Object.is(x, -0) ? '-0' : String(x);
  const key = (k) => typeof k === 'symbol' ? '[' + String(k) + ']' : /^[A-Za-z_$][\w$]*$/.test(k) ? k : stringify(k);
  function properties(v, skip) {
    const out = [];
    for (const k of Reflect.ownKeys(v)) {
      if (skip(k)) continue;
      const d = Object.getOwnPropertyDescriptor(v, k);
      const flags = (d.enumerable ? '' : '!e') + (d.configurable ? '' : '!c') + ('value' in d && !d.writable ? '!w' : '');
      out.push(flags + key(k) + ': ' + ('value' in d ? text(d.value) : 'accessor ' + typeof d.get + ' ' + typeof d.set));
    }
    return out;
  }
  function text(v) {
    if (typeof v === 'string') return stringify(v);
    if (typeof v === 'number') return number(v);
    if (typeof v === 'bigint') return v + 'n';
    if (typeof v === 'symbol') return String(v);
    if (v === null || typeof v !== 'object' && typeof v !== 'function') return String(v);
    if (v === globalThis) return 'globalThis';
    const at = seen.indexOf(v);
    if (at >= 0) return '<' + at + '>';
    seen.push(v);
    if (typeof v === 'function') return 'function ' + v.name + '/' + v.length;
    if (v instanceof Error) return v.name + ' ' + stringify(v.message) + ' ' + stringify(v.stack) + list(properties(v, (k) => k === 'message' || k === 'stack'));
    let head = '', skip = () => false;
    const proto = Object.getPrototypeOf(v);
    const name = proto === null ? 'null' : proto.constructor && proto.constructor.name;
    if (Array.isArray(v)) {
      const items = [];
      for (let i = 0; i < v.length; i++) items.push(i in v ? text(v[i]) : 'hole');
      return (name === 'Array' ? '' : name) + '[' + items.join(', ') + ']' + list(properties(v, (k) => k === 'length' || String(k >>> 0) === k && k >>> 0 < v.length));
    }
    if (v instanceof Map) head = 'Map{' + [...v].map(([k, x]) => text(k) + ' => ' + text(x)).join(', ') + '}';
    else if (v instanceof Set) head = 'Set{' + [...v].map(text).join(', ') + '}';
    else if (v instanceof Date) head = 'Date(' + v.getTime() + ')';
    else if (v instanceof RegExp) head = String(v) + '@' + v.lastIndex, skip = (k) => k === 'lastIndex';
    else if (ArrayBuffer.isView(v)) {
      head = v.constructor.name + '(' + (v.length === undefined ? v.byteLength : Array.prototype.map.call(v, (x) => typeof x === 'bigint' ? x + 'n' : number(x)).join(' ')) + ')';
      if (v.length !== undefined) skip = (k) => typeof k === 'string' && String(k >>> 0) === k;
    }
    else if (v instanceof Number || v instanceof String || v instanceof Boolean) head = 'Object(' + text(v.valueOf()) + ')';
    return head + (name === 'Object' || head ? '' : name + ' ') + list(properties(v, skip), head);
  }
  function list(items, head) {
    return items.length === 0 && head ? '' : items.length === 0 ? '{}' : '{ ' + items.join(', ') + ' }';
  }
  const GuestPromise = Promise, done = Promise.resolve();
  return [
    function describe(v) { seen.length = 0; return text(v); },
    function promise(v) { return v instanceof GuestPromise ? v : done; },
    function drain() {},
  ];
})`

var fixedTime = time.Date(2026, 11, 20, 14, 33, 7, 120e6, time.UTC)

// TestRewritingChangesNothing runs the scripts of testdata/js in the engine as it
// is published and in the rewritten one. What they give, and what they throw with
// its stack, must be equal, and equal to the golden file.
func TestRewritingChangesNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/js/*.js")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	e := testEngine(t, false)
	tmpl := newTemplate(t, e, TemplateOptions{Prelude: describeJS, Entries: 3, MemoryLimit: 256 << 20})
	for _, file := range sample(files, 4) {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o := newOriginal(t, fixedTime)
			fn, thrown := o.eval(describeJS, "prelude.js")
			if thrown {
				t.Fatal(o.string(fn))
			}
			entries, thrown := o.apply(fn, uint64(tmpl.Undefined()))
			if thrown {
				t.Fatal(o.string(entries))
			}
			describe := o.call("JS_GetPropertyUint32", o.ctxPtr, entries, 0)
			want := o.outcome(describe, string(src))
			got := rewrittenOutcome(t, tmpl, string(src))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("rewriting changed the outcome (-original +rewritten):\n%s", d)
			}
			golden(t, strings.TrimSuffix(file, ".js")+".golden", want)
		})
	}
}

// golden compares text with a file, or writes the file with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update accepts):\n%s", file, d)
	}
}

// rewrittenOutcome is original.outcome for a VM.
func rewrittenOutcome(t *testing.T, tmpl *Template, src string) string {
	t.Helper()
	ctx := context.Background()
	vm := newVM(t, tmpl, &VMOptions{Now: func() time.Time { return fixedTime }})
	vm.SetDeadline(time.Now().Add(time.Minute))
	code, err := vm.Compile(ctx, src)
	var v Value
	if err == nil {
		v, err = vm.Run(ctx, code)
	}
	label := "value"
	var exc *Exception
	switch {
	case errors.As(err, &exc):
		label, v = "thrown", exc.Value
	case err != nil:
		t.Fatal(err)
	default:
		if label, v, err = settled(ctx, vm, v); err != nil {
			t.Fatal(err)
		}
	}
	out, err := vm.Call(ctx, tmpl.Entry(0), tmpl.Undefined(), v)
	if err != nil {
		t.Fatal(err)
	}
	text, err := vm.ReadString(ctx, out, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	_, unhandled := vm.Unhandled()
	return outcomeText(label, string(text), unhandled)
}

// settled runs jobs and follows v, if it is a promise.
func settled(ctx context.Context, vm *VM, v Value) (string, Value, error) {
	t := vm.Template()
	main, err := vm.Call(ctx, t.Entry(1), t.Undefined(), v)
	if err != nil {
		return "", 0, err
	}
	st, _, err := vm.Turn(ctx, t.Undefined(), nil, t.Entry(2), main, 1<<20)
	if err != nil || main != v {
		return "value", v, err
	}
	if st != Pending {
		v, err = vm.Result(ctx, v)
	}
	return []string{"pending", "fulfilled", "rejected"}[st], v, err
}
