package sdk

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/schema"
)

type inner struct {
	X int8   `json:"x" jsonschema:"from inner"`
	Y uint16 `json:"y,omitempty"`
}

type middle struct {
	inner
	Z string `json:"z"`
}

type everything struct {
	middle
	*subIn
	Name  string             `json:"name" jsonschema:"A name, with \"quotes\" and <tags>"`
	Flag  bool               `json:"flag,omitempty"`
	I     int                `json:"i"`
	I32   int32              `json:"i32"`
	I64   int64              `json:"i64,omitzero"`
	U     uint               `json:"u"`
	U8    uint8              `json:"u8"`
	U32   uint32             `json:"u32"`
	F     float32            `json:"f"`
	P     *string            `json:"p,omitempty"`
	PP    **int              `json:"pp,omitempty"`
	List  []inner            `json:"list"`
	Four  [4]string          `json:"four"`
	Map   map[string]float64 `json:"map"`
	Deep  map[string][]inner `json:"deep,omitempty"`
	Any   any                `json:"any"`
	When  time.Time          `json:"when"`
	Until *time.Time         `json:"until,omitempty"`
	NoTag string
	Out   func() `json:"-"`
	Twice inner  `json:"twice"`
	Again *inner `json:"again"`
}

type shadow struct {
	inner
	X string `json:"x"` // less embedded than inner's
}

type named struct {
	Inner inner `json:"inner"`
	inner `json:"other"`
}

// TestSchemaLikeTheHosts holds the derivation against the one that the host uses for Go tools.
func TestSchemaLikeTheHosts(t *testing.T) {
	like[everything](t)
	like[shadow](t)
	like[*everything](t)
	like[struct{}](t)
	like[map[string]inner](t)
	like[[]string](t)
	like[string](t)
	like[any](t)
	like[addIn](t)
}

func like[T any](t *testing.T) {
	t.Helper()
	var zero T
	want, err := schema.For[T]()
	if err != nil {
		t.Fatal(err)
	}
	got, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain(jsonValue(t, want)), plain(jsonValue(t, got))); diff != "" {
		t.Errorf("%T (-host +sdk):\n%s", zero, diff)
	}
}

// plain writes {} as true, which means the same, and drops empty lists of properties.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return true
		}
		out := map[string]any{}
		for k, e := range v {
			if p, ok := e.(map[string]any); k == "properties" && ok && len(p) == 0 {
				continue
			}
			out[k] = plain(e)
		}
		return out
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

type level int

func (l level) MarshalText() ([]byte, error) { return []byte("level"), nil }

type odd struct{ V int }

func (o *odd) UnmarshalJSON([]byte) error { return nil }

type loop struct {
	Next []loop `json:"next"`
}

type Selfish struct {
	*Selfish
	A int `json:"a"`
}

// What the host's derivation gets wrong or does not know: encoding/json is what reads and writes the values.
func TestSchemaOfJSONTypes(t *testing.T) {
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"raw", json.RawMessage{}, `{}`},
		{"number", json.Number(""), `{"type":"number"}`},
		{"bytes", []byte{}, `{"type":["null","string"],"contentEncoding":"base64"}`},
		{"text", level(0), `{"type":"string"}`},
		{"text in a list", []level{}, `{"type":["null","array"],"items":{"type":"string"}}`},
		{"text as a key", map[level]int{}, `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"own JSON", odd{}, `{}`},
		{"own JSON by pointer", &odd{}, `{}`},
		{"quoted", struct {
			A int64 `json:"a,string"`
		}{}, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		{"an embedded struct with a name", named{}, `{"type":"object","properties":{"inner":{"type":"object","properties":{"x":{"type":"integer","minimum":-128,"maximum":127,"description":"from inner"},"y":{"type":"integer","minimum":0,"maximum":65535}},"required":["x"],"additionalProperties":false}},"required":["inner"],"additionalProperties":false}`},
		{"two of one name", struct {
			A struct{} `json:"a"`
			left
			right
		}{}, `{"type":"object","properties":{"a":{"type":"object","additionalProperties":false},"V":{"type":"integer"},"W":{"type":"integer"}},"required":["a","V","W"],"additionalProperties":false}`},
		{"embeds itself", Selfish{}, `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := schemaOf(reflect.TypeOf(tt.v))
			if err != nil || string(got) != tt.want {
				t.Errorf("schemaOf =\n%s, %v, want\n%s", got, err, tt.want)
			}
			if _, err := schema.Compile(got); err != nil {
				t.Errorf("the host refuses it: %v", err)
			}
		})
	}
}

type left struct{ X, V int }

type right struct{ W, X int } // of two X neither counts

func TestDescribe(t *testing.T) {
	fresh(t)
	Tool("b", "Second by name.", func(*subIn) ([]string, error) { return nil, nil })
	Tool("a", "", func(map[string]any) (any, error) { return nil, nil })
	got := answer(guestabi.ExportDescribe, nil)
	want := `{"abi":1,"value":{"tools":[{"name":"b","description":"Second by name.",` +
		`"parameters":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"],"additionalProperties":false},` +
		`"returns":{"type":["null","array"],"items":{"type":"string"}}},{"name":"a","parameters":{"type":"object","additionalProperties":{}},"returns":{}}]}}`
	if string(got) != want {
		t.Errorf("answer =\n%s\nwant\n%s", got, want)
	}
}

func TestDescribeFails(t *testing.T) {
	tests := []struct {
		name, want string
		register   func()
	}{
		{"recursive", "next[]: the type sdk.loop contains itself", func() { Tool("x", "", func(loop) (int, error) { return 0, nil }) }},
		{"recursive result", "the result of x: ", func() { Tool("x", "", func(struct{}) (*loop, error) { return nil, nil }) }},
		{"no object", "take a struct", func() { Tool("x", "", func(string) (int, error) { return 0, nil }) }},
		{"a channel", "c: the type chan int has no JSON form", func() {
			Tool("x", "", func(struct {
				C chan int `json:"c"`
			}) (int, error) {
				return 0, nil
			})
		}},
		{"keys", "the keys of map[int]string are not strings", func() { Tool("x", "", func(map[int]string) (int, error) { return 0, nil }) }},
		{"an empty tag", "is empty", func() {
			Tool("x", "", func(struct {
				A int `json:"a" jsonschema:""`
			}) (int, error) {
				return 0, nil
			})
		}},
		{"an option", "looks like an option", func() {
			Tool("x", "", func(struct {
				A int `json:"a" jsonschema:"minimum=1"`
			}) (int, error) {
				return 0, nil
			})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fresh(t)
			tt.register()
			if _, err := Describe(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Describe = %v, want %q in it", err, tt.want)
			}
		})
	}
}
