package guestabi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

// decode is the reference reader of the codec, for tests. The real one is a
// function added to the engine.
func decode(t *testing.T, b []byte) (any, []byte) {
	t.Helper()
	tag := b[0]
	b = b[1:]
	u32 := func() uint32 {
		n := binary.LittleEndian.Uint32(b)
		b = b[4:]
		return n
	}
	switch tag {
	case TagNull:
		return nil, b
	case TagFalse:
		return false, b
	case TagTrue:
		return true, b
	case TagInt32:
		return float64(int32(u32())), b
	case TagFloat64:
		f := math.Float64frombits(binary.LittleEndian.Uint64(b))
		return f, b[8:]
	case TagString:
		n := u32()
		return string(b[:n]), b[n:]
	case TagArray:
		list := []any{}
		for n := u32(); n > 0; n-- {
			var v any
			v, b = decode(t, b)
			list = append(list, v)
		}
		return list, b
	case TagObject:
		obj := map[string]any{}
		for n := u32(); n > 0; n-- {
			k := u32()
			key := string(b[:k])
			var v any
			v, b = decode(t, b[k:])
			obj[key] = v
		}
		return obj, b
	}
	t.Fatalf("unknown tag %d", tag)
	return nil, nil
}

func TestAppendJSON(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `0`, `-1`, `2147483647`, `2147483648`, `-2147483648`, `-2147483649`, `1.5`, `-0.25`, `1e3`, `1E-7`,
		`""`, `"abc"`, `"\"\\\/\b\f\n\r\t"`, `"äöü €"`, `"\u00e4\u20ac\ud83d\ude00"`, `[]`, `[ ]`, `[1,[2,[3]],"x"]`,
		`{}`, `{ }`, `{"a":1,"b":{"c":[null,true]}}`, " { \"a\" : [ 1 , 2 ] } \n", `{"__proto__":{"x":1}}`,
	} {
		got, err := AppendJSON(nil, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v, rest := decode(t, got)
		if len(rest) != 0 {
			t.Errorf("%s: %d bytes left", text, len(rest))
		}
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(v)
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: got %s, want %s", text, a, b)
		}
	}
}

func TestAppendJSONKeepsNegativeZero(t *testing.T) {
	b, err := AppendJSON(nil, []byte(`-0`))
	if err != nil || b[0] != TagFloat64 || !math.Signbit(math.Float64frombits(binary.LittleEndian.Uint64(b[1:]))) {
		t.Errorf("got % x, %v", b, err)
	}
}

func TestAppendJSONReplacesLoneSurrogates(t *testing.T) {
	for _, text := range []string{`"\ud800"`, `"\udc00x"`, `"\ud800\ud800"`, `"\ud800\n"`} {
		b, err := AppendJSON(nil, []byte(text))
		if err != nil || !strings.Contains(string(b), "\uFFFD") {
			t.Errorf("%s: got %q, %v", text, b, err)
		}
	}
}

func TestAppendJSONRefuses(t *testing.T) {
	for _, text := range []string{
		``, ` `, `nul`, `tru`, `01`, `-`, `1.`, `.5`, `1e`, `1e+`, `+1`, `"`, `"\x"`, `"\u12"`, "\"\n\"", "\"\xff\"", `[`, `[1`, `[1,]`, `[,1]`,
		`{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1 "b":2}`, `1 2`, `[1]]`, `NaN`, `'a'`, `undefined`,
		strings.Repeat("[", MaxValueDepth+1) + strings.Repeat("]", MaxValueDepth+1),
	} {
		if b, err := AppendJSON([]byte("x"), []byte(text)); !errors.Is(err, ErrValue) || string(b) != "x" {
			t.Errorf("%.40q: got %q, %v", text, b, err)
		}
	}
}

func FuzzAppendJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := AppendJSON(nil, text)
		if (err == nil) != json.Valid(text) && validDiffers(text) {
			t.Fatalf("%q: %v, but json.Valid says %t", text, err, json.Valid(text))
		}
		if err != nil {
			return
		}
		if _, rest := decode(t, got); len(rest) != 0 {
			t.Fatalf("%q: %d bytes left", text, len(rest))
		}
	})
}

// validDiffers excludes what this codec bounds and encoding/json does not.
func validDiffers(text []byte) bool {
	return bytes.Count(text, []byte("[")) < 200 && bytes.Count(text, []byte("{")) < 200 && string(bytes.ToValidUTF8(text, nil)) == string(text)
}

func BenchmarkAppendJSON(b *testing.B) {
	text := []byte(`{"n":5,"text":"` + strings.Repeat("x", 1024) + `","list":[1,2,3],"ok":true}`)
	b.SetBytes(int64(len(text)))
	var buf []byte
	for b.Loop() {
		var err error
		if buf, err = AppendJSON(buf[:0], text); err != nil {
			b.Fatal(err)
		}
	}
}
