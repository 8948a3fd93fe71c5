package quickjs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/guestabi"
)

// function compiles a script whose value is a function.
func function(tb testing.TB, vm *VM, src string) Value {
	tb.Helper()
	ctx := context.Background()
	code, err := vm.Compile(ctx, src)
	if err != nil {
		tb.Fatal(err)
	}
	fn, err := vm.Run(ctx, code)
	if err != nil {
		tb.Fatal(err)
	}
	return fn
}

// texts are strings at the borders of sizes and encodings.
func texts() map[string]string {
	return map[string]string{
		"empty": "", "ASCII": "plain", "two bytes": "é", "three bytes": "漢字", "four bytes": "😀🇩🇪", "NUL": "a\x00b\x00",
		"quotes": `"'\` + "`${x}", "lines": "a\nb\r\u2028c", "just below the buffer": strings.Repeat("x", inputSize-1),
		"the buffer": strings.Repeat("x", inputSize), "just over it": strings.Repeat("é", inputSize/2+1), "a megabyte": strings.Repeat("mega😀", 150_000),
	}
}

func TestStringsGoInAndOut(t *testing.T) {
	ctx := context.Background()
	vm := newVM(t, testTemplate(t), nil)
	length := function(t, vm, "((s) => s.length + ' ' + typeof s)")
	for name, s := range texts() {
		v, err := vm.String(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := vm.ReadString(ctx, v, len(s)); string(got) != s || err != nil {
			t.Errorf("%s: %d bytes became %d, %v", name, len(s), len(got), err)
		}
		if len(s) > 0 {
			if got, err := vm.ReadString(ctx, v, len(s)-1); !errors.Is(err, ErrTooLarge) || got != nil {
				t.Errorf("%s: over the bound: %d bytes, %v", name, len(got), err)
			}
		}
		r, err := vm.Call(ctx, length, vm.Template().Undefined(), v)
		if err != nil {
			t.Fatal(err)
		}
		units := 0
		for _, c := range s {
			units++
			if c > 0xffff {
				units++
			}
		}
		if got, err := vm.ReadString(ctx, r, 100); string(got) != fmt.Sprint(units)+" string" || err != nil {
			t.Errorf("%s: %s, %v, want %d units", name, got, err, units)
		}
		if err := errors.Join(vm.Free(ctx, v), vm.Free(ctx, r)); err != nil {
			t.Error(err)
		}
	}
}

// What a guest makes of lone surrogates, and what Go code calls a string of
// invalid UTF-8, must not break the other side.
func TestStringsThatAreNoUnicode(t *testing.T) {
	ctx := context.Background()
	vm := newVM(t, testTemplate(t), nil)
	make := function(t, vm, `((s) => s === undefined ? 'a\ud800b\udc00\udc00c' : s.length + ' ' + s.split('').map((c) => c.charCodeAt(0).toString(16)).join())`)
	v, err := vm.Call(ctx, make, vm.Template().Undefined())
	if err != nil {
		t.Fatal(err)
	}
	got, err := vm.ReadString(ctx, v, 100)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(got) {
		t.Errorf("ReadString gives %q, which is not UTF-8 as it promises", got)
	}
	for in, want := range map[string]string{"a\xffb": "3 61,fffd,62", "\xc3": "1 fffd", "\xed\xa0\x80": ""} {
		s, err := vm.String(ctx, in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		r, err := vm.Call(ctx, make, vm.Template().Undefined(), s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := vm.ReadString(ctx, r, 100); err != nil || want != "" && string(got) != want {
			t.Errorf("%q: %s, %v, want %s", in, got, err, want)
		}
	}
}

func TestParseJSON(t *testing.T) {
	ctx := context.Background()
	vm := newVM(t, testTemplate(t), nil)
	text := function(t, vm, "((v) => JSON.stringify(v))")
	for _, c := range []struct{ in, want string }{
		{`{"a":[1,-0.5,true,null,"é"]}`, `{"a":[1,-0.5,true,null,"é"]}`}, {` [ ] `, `[]`}, {`"x"`, `"x"`}, {`{"__proto__":{"a":1}}`, `{"__proto__":{"a":1}}`},
		{"[" + strings.Repeat(`"xxxxxxxxxxxxxxxx",`, 3000) + "1]", "[" + strings.Repeat(`"xxxxxxxxxxxxxxxx",`, 3000) + "1]"},
	} {
		v, err := vm.ParseJSON(ctx, []byte(c.in))
		if err != nil {
			t.Errorf("%.40s: %v", c.in, err)
			continue
		}
		r, err := vm.Call(ctx, text, vm.Template().Undefined(), v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := vm.ReadString(ctx, r, 1<<20); string(got) != c.want || err != nil {
			t.Errorf("%.40s: %.80s, %v", c.in, got, err)
		}
	}
	for _, bad := range []string{"", "{", "[1,]", "{'a':1}", "undefined", "1 2", "\x00", strings.Repeat("[", 100_000)} {
		_, err := vm.ParseJSON(ctx, []byte(bad))
		var exc *Exception
		if !errors.As(err, &exc) {
			t.Errorf("%.20q: %v, want an exception", bad, err)
		}
	}
	if got, err := show(ctx, vm, must(t)(vm.ParseJSON(ctx, []byte("1")))); got != "1" || err != nil {
		t.Errorf("after the errors: %q, %v", got, err)
	}
}

func must(tb testing.TB) func(Value, error) Value {
	return func(v Value, err error) Value {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func TestCall(t *testing.T) {
	ctx := context.Background()
	vm := newVM(t, testTemplate(t), nil)
	undefined := vm.Template().Undefined()
	fn := function(t, vm, "(() => { 'use strict'; return function (...a) { return [typeof this, ...a.map(String)].join(); }; })()")
	str := func(s string) Value { return must(t)(vm.String(ctx, s)) }
	for n, want := range []string{"undefined", "undefined,a", "undefined,a,b", "undefined,a,b,c", "undefined,a,b,c,d"} {
		argv := []Value{str("a"), str("b"), str("c"), str("d")}[:n]
		if got, err := show(ctx, vm, must(t)(vm.Call(ctx, fn, undefined, argv...))); got != want || err != nil {
			t.Errorf("%d arguments: %q, %v", n, got, err)
		}
	}
	if _, err := vm.Call(ctx, fn, undefined, 1, 2, 3, 4, 5); err == nil {
		t.Error("five arguments are accepted")
	}
	if got, err := show(ctx, vm, must(t)(vm.Call(ctx, fn, str("this")))); got != "string" || err != nil {
		t.Errorf("this: %q, %v", got, err)
	}
	var exc *Exception
	if _, err := vm.Call(ctx, undefined, undefined); !errors.As(err, &exc) || exc.Error() == "" {
		t.Errorf("calling undefined: %v", err)
	}
}

func TestReadStringRunsGuestCode(t *testing.T) {
	ctx := context.Background()
	vm := newVM(t, testTemplate(t), nil)
	make := function(t, vm, "((k) => k === undefined ? { toString() { return 'made'; } } : k === 'throw' ? { toString() { throw new Error('no'); } } : Symbol('s'))")
	get := func(argv ...Value) Value { return must(t)(vm.Call(ctx, make, vm.Template().Undefined(), argv...)) }
	if got, err := vm.ReadString(ctx, get(), 10); string(got) != "made" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	var exc *Exception
	if _, err := vm.ReadString(ctx, get(must(t)(vm.String(ctx, "throw"))), 10); !errors.As(err, &exc) {
		t.Errorf("a toString that throws: %v", err)
	}
	if _, err := vm.ReadString(ctx, get(must(t)(vm.String(ctx, "symbol"))), 10); !errors.As(err, &exc) {
		t.Errorf("a symbol: %v", err)
	}
	if got, err := vm.ReadString(ctx, get(), 3); !errors.Is(err, ErrTooLarge) || got != nil {
		t.Errorf("over the bound: %q, %v", got, err)
	}
}

func TestTurn(t *testing.T) {
	ctx := context.Background()
	tmpl := testTemplate(t)
	start := func(src string) *cell {
		t.Helper()
		c, err := startCell(ctx, newVM(t, tmpl, nil), src)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	answer := func(slot uint32, s string) Settlement { return Settlement{Slot: slot, Flag: 1, Value: codecString(s)} }

	c := start("const a = ask('a'), b = ask('b'); return await b + await a")
	if st, out, err := c.turn(ctx); st != Pending || out != "0 \"a\"\n1 \"b\"\n" || err != nil {
		t.Errorf("first turn: %d, %q, %v", st, out, err)
	}
	if st, out, err := c.turn(ctx); st != Pending || out != "" || err != nil {
		t.Errorf("a turn without news: %d, %q, %v", st, out, err)
	}
	if st, _, err := c.turn(ctx, answer(1, "B")); st != Pending || err != nil {
		t.Errorf("one answer: %d, %v", st, err)
	}
	st, _, err := c.turn(ctx, answer(0, "A"))
	if got, rerr := c.result(ctx, st); got != "BA" || err != nil || rerr != nil {
		t.Errorf("both answers: %q, %v, %v", got, err, rerr)
	}

	c = start("try { await ask(1); } catch (e) { return 'caught ' + e; }")
	if _, _, err := c.turn(ctx); err != nil {
		t.Fatal(err)
	}
	if st, _, err = c.turn(ctx, Settlement{Flag: 0, Value: codecString("refused")}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.result(ctx, st); got != "caught refused" {
		t.Errorf("a failure: %q, %v", got, err)
	}

	var exc *Exception
	c = start("await ask(1)")
	if _, _, err := c.turn(ctx, answer(77, "nobody asked")); !errors.As(err, &exc) {
		t.Errorf("a settle function that throws: %v", err)
	}

	vm := newVM(t, tmpl, nil)
	thrower := function(t, vm, "(() => { throw new Error('drain'); })")
	main := must(t)(vm.Call(ctx, tmpl.Entry(entryShow), tmpl.Undefined(), thrower))
	if _, _, err := vm.Turn(ctx, tmpl.Undefined(), nil, thrower, main, 10); !errors.As(err, &exc) {
		t.Errorf("a drain function that throws: %v", err)
	}

	vm = newVM(t, tmpl, nil)
	drain := function(t, vm, "(() => 'x'.repeat(100))")
	if _, _, err := vm.Turn(ctx, tmpl.Undefined(), nil, drain, tmpl.Undefined(), 1000); err == nil {
		t.Error("a main value that is no promise is accepted")
	}
	c = start("for (let i = 0; i < 10; i++) ask('x'.repeat(100)); return 1")
	if _, _, err := c.vm.Turn(ctx, tmpl.Entry(entrySettle), nil, tmpl.Entry(entryDrain), c.main, 500); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an outbox over the bound: %v", err)
	}
}

// Many answers, and large ones, arrive in one turn.
func TestTurnWithLargeBatches(t *testing.T) {
	ctx := context.Background()
	tmpl := testTemplate(t)
	for _, c := range []struct{ n, size int }{{1, inputSize - 13}, {1, inputSize - 12}, {1, inputSize}, {1, 3 << 20}, {2000, 1}, {500, 5000}} {
		vm := newVM(t, tmpl, nil)
		cell, err := startCell(ctx, vm, fmt.Sprintf("const all = await Promise.all(Array.from({ length: %d }, (_, i) => ask(i))); return all.length + ' ' + all.reduce((n, s) => n + s.length, 0)", c.n))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := cell.turn(ctx); err != nil {
			t.Fatal(err)
		}
		var batch []Settlement
		for i := range c.n {
			batch = append(batch, Settlement{Slot: uint32(i), Flag: 1, Value: codecString(strings.Repeat("v", c.size))})
		}
		st, _, err := cell.turn(ctx, batch...)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cell.result(ctx, st); got != fmt.Sprintf("%d %d", c.n, c.n*c.size) || err != nil {
			t.Errorf("%d answers of %d bytes: %q, %v", c.n, c.size, got, err)
		}
		vm.Close()
	}
}

// Values of the codec arrive as JSON.parse would make them, in a realm that the
// cell has rewritten too.
func TestCodecValues(t *testing.T) {
	ctx := context.Background()
	tmpl := testTemplate(t)
	values := []string{
		`null`, `true`, `false`, `0`, `-1`, `2147483647`, `-2147483648`, `2147483648`, `0.1`, `-1.5e300`, `5e-324`, `""`, `"text"`, `"é漢😀"`, `"\u0000"`,
		`[]`, `[[],[[]]]`, `{}`, `{"a":{"b":[1,{"c":null}]}}`, `{"__proto__":1,"constructor":2,"toString":3}`, `{"1":"a","0":"b","x":"c"}`, `{"":1}`, `[null,null]`,
		`{"length":5,"then":1}`, `["` + strings.Repeat("long ", 20_000) + `"]`, strings.Repeat("[", 200) + strings.Repeat("]", 200),
	}
	// JSON.stringify is the engine's, and meets the setters too.
	const restore = "try { delete Object.prototype.a; delete Array.prototype[0]; delete Array.prototype[1]; } catch { }"
	for _, rewrite := range []string{
		"", "for (const [o, k] of [[Object.prototype, 'a'], [Array.prototype, 0], [Array.prototype, 1]]) Object.defineProperty(o, k, { set() { throw 1; }, configurable: true });",
		"Array.prototype.push = Object.defineProperty = () => { throw 1; }; globalThis.Array = globalThis.Object = null;",
		"Object.freeze(Object.prototype); Object.freeze(Array.prototype);",
	} {
		for _, text := range values {
			vm := newVM(t, tmpl, nil)
			c, err := startCell(ctx, vm, "const { stringify } = JSON; "+rewrite+" const v = await ask(1); "+restore+" return stringify(v)")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := c.turn(ctx); err != nil {
				t.Fatal(err)
			}
			encoded, err := guestabi.AppendJSON(nil, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			st, _, err := c.turn(ctx, Settlement{Flag: 1, Value: encoded})
			if err != nil {
				t.Errorf("%q, %.40s: %v", rewrite, text, err)
				vm.Close()
				continue
			}
			got, err := c.result(ctx, st)
			want := mustRun(t, tmpl, "return JSON.stringify(JSON.parse("+quoteJS(text)+"))")
			if got != want || err != nil {
				t.Errorf("%q, %.40s: %.80q, %v, want %.80q", rewrite, text, got, err, want)
			}
			vm.Close()
		}
	}
}

// quoteJS is a JavaScript string literal.
func quoteJS(s string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`", "$", "\\$").Replace(s) + "`"
}
