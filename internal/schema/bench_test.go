package schema

import (
	"bytes"
	"strings"
	"testing"
)

// toolSchema is the size of schema that most tools have.
const toolSchema = `{
	"type": "object",
	"properties": {
		"owner":  {"type": "string", "minLength": 1, "maxLength": 100},
		"repo":   {"type": "string", "pattern": "^[A-Za-z0-9._-]+$"},
		"state":  {"type": "string", "enum": ["open", "closed", "all"]},
		"labels": {"type": "array", "items": {"type": "string"}, "maxItems": 20},
		"page":   {"type": "integer", "minimum": 1, "maximum": 1000}
	},
	"required": ["owner", "repo"],
	"additionalProperties": false
}`

const toolInput = `{"owner":"octo","repo":"hello-world","state":"open","labels":["bug","help wanted"],"page":2}`

func mustCompile(tb testing.TB, raw string) *Schema {
	tb.Helper()
	s, err := Compile([]byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func mustDecode(tb testing.TB, raw string) any {
	tb.Helper()
	v, err := Decode([]byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func BenchmarkValidate(b *testing.B) {
	v := mustDecode(b, toolInput)
	b.Run("ours", func(b *testing.B) {
		s := mustCompile(b, toolSchema)
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Validate(v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		s, err := compile([]byte(toolSchema))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Validate(v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("refusal", func(b *testing.B) {
		s := mustCompile(b, toolSchema)
		bad := mustDecode(b, `{"owner":"octo","repo":"a b","stat":"open","page":0}`)
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Validate(bad); err == nil {
				b.Fatal("accepted")
			}
		}
	})
}

func BenchmarkDecode1KB(b *testing.B) {
	in := []byte(`[` + strings.TrimSuffix(strings.Repeat(toolInput+",", 11), ",") + `]`)
	in = in[:bytes.LastIndexByte(in, ']')+1]
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			if _, err := Compile([]byte(toolSchema)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		c := NewCache(8)
		for b.Loop() {
			if _, err := c.Compile([]byte(toolSchema)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStep shows what a step of the budget costs: an array of integers, two steps an item.
func BenchmarkMillionItems(b *testing.B) {
	s := mustCompile(b, `{"type":"array","items":{"type":"integer","minimum":0}}`)
	v := mustDecode(b, "["+strings.Repeat("1,", 1<<20-2)+"1]")
	for b.Loop() {
		if err := s.Validate(v); err != nil {
			b.Fatal(err)
		}
	}
}
