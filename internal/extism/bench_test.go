package extism

import (
	"context"
	"strings"
	"testing"
)

func BenchmarkCall1KB(b *testing.B) {
	i := instance(b, guestModule(b, Config{}))
	in := []byte(`{"name":"n","tags":["` + strings.Repeat("abcdefg\",\"", 98) + `x"]}`)
	for _, export := range []string{"echo", "work"} {
		b.Run(export, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := i.Call(context.Background(), export, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkInstance(b *testing.B) {
	m := guestModule(b, Config{})
	b.Run("make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			i, err := m.NewInstance(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			i.Close()
		}
	})
	b.Run("make and call once", func(b *testing.B) {
		for b.Loop() {
			i, err := m.NewInstance(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := i.Call(context.Background(), "echo", []byte("x")); err != nil {
				b.Fatal(err)
			}
			i.Close()
		}
	})
}

func BenchmarkCompileFromCache(b *testing.B) {
	guestModule(b, Config{})
	wasm := guest(b)
	b.Run("prepare", func(b *testing.B) {
		for b.Loop() {
			if err := Check(wasm); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			m, err := Compile(context.Background(), wasm, Config{CacheDir: sharedCache()})
			if err != nil || !m.FromCache() {
				b.Fatal(err, "or not from the cache")
			}
			if err := m.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
