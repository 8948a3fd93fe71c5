package host

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

type echoIn struct { X int `json:"x"`; S string `json:"s,omitempty"` }
type echoOut struct { Got int `json:"got"`; S string `json:"s"` }

func newTestHost(t testing.TB, o *Options) *Host {
	if o == nil { o = &Options{} }
	o.CodeMode.Enabled = true
	o.Tools = append(o.Tools, Tool("echo", "Echo a number.", func(ctx context.Context, in echoIn) (echoOut, error) { return echoOut{in.X, in.S}, nil }),
	Tool("slow", "Slow.", func(ctx context.Context, in struct{ Ms int `json:"ms"` }) (string, error) { select { case <-time.After(time.Duration(in.Ms)*time.Millisecond): return "done", nil; case <-ctx.Done(): return "", ctx.Err() } }))
	h, err := New(context.Background(), o)
	if err != nil { t.Fatal(err) }
	t.Cleanup(func() { h.Close() })
	return h
}

func TestSmoke(t *testing.T) {
	h := newTestHost(t, &Options{CodeMode: CodeModeConfig{TimeoutMs: 500}})
	r, err := h.NewRun(context.Background(), RunOptions{AgentRunID: "a", SessionID: "s"})
	if err != nil { t.Fatal(err) }
	for _, src := range []string{"return 1+1", "return await tools.echo({x:3})", "return await tools.echo({y:3})", "text('hi'); return await tools.search('echo')", "return await tools.describe('cloister:core:echo')", "tools.echo({x:'a'}); return 1", "await tools.nope()", "return await tools.call('cloister:core:ech', {})",
		"for(;;);", "import x from 'y'", "import('x'); return 1", "require('fs')", "export default 3", "import * as a from 'b'", "import 'x'", "import {a} from 'x'", "return import.meta", "const r = await tools.slow({ms:700}); return r + '!'", "await yield_control('hm'); return 5", "let a=[]; for(;;) a.push(new Array(1e4).fill(2))", "}); evil(); (async function(){", "}, async function(){", "text('x'.repeat(70000))", "throw new Error('boo')", "\n\n  foo.bar()", "return Promise.all(Array.from({length:256},(_, i)=>tools.echo({x:i}))).then(a=>a.length)", "await new Promise(()=>{})", "return {a:1n}", "Promise.reject(new Error('lost')); return 1", "// import x\nreturn 'import(1)'", "return a.import", "let s = 'export'; let x = ;"} {
		t0 := time.Now()
		res, err := r.Exec(context.Background(), ExecInput{Code: src})
		if err != nil { t.Fatal(err) }
		d := time.Since(t0)
		b, _ := json.Marshal(res)
		i := len(b); if i > 420 { i = 420 }
		t.Log(src, d, string(b[:i]))
		if res.Status == "waiting" {
			t0 = time.Now()
			res, err = r.Wait(context.Background(), WaitInput{RunID: res.RunID})
			if err != nil { t.Fatal(err) }
			b, _ := json.Marshal(res)
			t.Log("   wait", time.Since(t0), string(b[:200]))
		}
	}
	t.Log(r.Surface()[0].Description)
}

func BenchmarkExec(b *testing.B) {
	h := newTestHost(b, nil)
	r, err := h.NewRun(context.Background(), RunOptions{AgentRunID: "a", SessionID: "s"})
	if err != nil { b.Fatal(err) }
	for _, c := range []struct{ n, s string }{{"one", "return 1+1"}, {"three", "let s=0; for (let i=0;i<3;i++) { const r = await tools.echo({x:i}); s += r.got } return s"},
		{"fanout", "const r = await Promise.all(Array.from({length:256},(_, i)=>tools.echo({x:i,s:'y'.repeat(1000)}))); return r.length"}} {
		b.Run(c.n, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := r.Exec(context.Background(), ExecInput{Code: c.s})
				if err != nil || res.Status != "completed" { b.Fatal(res, err) }
			}
		})
	}
}
