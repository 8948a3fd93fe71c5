package extism

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// component is a component of sections with one import or export each.
func component(imports, exports []string) []byte {
	out := []byte("\x00asm\x0d\x00\x01\x00")
	out = append(out, section(1, []byte("\x00asm\x01\x00\x00\x00"))...) // a core module in it
	for _, name := range imports {
		out = append(out, section(10, join([]byte{1, 0}, str(name), []byte{5, 0}))...)
	}
	for _, name := range exports {
		out = append(out, section(11, join([]byte{1, 0}, str(name), []byte{5, 0, 0}))...)
	}
	return out
}

func TestComponentNamesItsWorld(t *testing.T) {
	many := slices.Repeat([]string{"wasi:io/poll@0.2.0"}, 100)
	for name, c := range map[string]struct {
		wasm []byte
		want []string
	}{
		"both": {component([]string{"wasi:cli/environment@0.2.0"}, []string{"wasi:http/incoming-handler@0.2.0"}),
			[]string{"imports wasi:cli/environment@0.2.0", "exports wasi:http/incoming-handler@0.2.0", "core module"}},
		"many":               {component(many, nil), []string{"and more", "core module"}},
		"a name of 64 KiB":   {component([]string{strings.Repeat("x", 1<<16)}, nil), []string{"imports xxx", "core module"}},
		"control characters": {component([]string{"a\x1b[2J\nb"}, nil), []string{"imports a\ufffd[2J b"}},
		"none":               {component(nil, nil), []string{"core module"}},
	} {
		for cutAt := range min(len(c.wasm)-8, 200) { // no beginning of it does harm
			if err := Check(c.wasm[:8+cutAt], nil); !errors.Is(err, ErrComponent) {
				t.Fatalf("%s, cut at %d: %v", name, cutAt, err)
			}
		}
		err := Check(c.wasm, nil)
		if !errors.Is(err, ErrComponent) || len(err.Error()) > 1000 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
	if err := Check(bytes.Repeat([]byte{0xff}, 100), nil); !errors.Is(err, ErrModule) {
		t.Errorf("no component: %v", err)
	}
}
