package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCheckCase(t *testing.T) {
	const mail = `{"type":"object","properties":{"to":{"type":"string"},"opts":{"properties":{"cc":{}}},"list":{"items":{"properties":{"id":{}}}}}}`
	for _, tt := range []struct{ name, schema, value, want string }{
		{"exact", mail, `{"to":"a","other":1}`, ""},
		{"capital", mail, `{"to":"a","To":"b"}`, `"To"`},
		{"alone", mail, `{"TO":"b"}`, `"TO"`},
		{"nested", mail, `{"opts":{"cc":1,"CC":2}}`, `"CC"`},
		{"in an array", mail, `{"list":[{"id":1},{"Id":2}]}`, `"Id"`},
		{"outside of what is declared", mail, `{"other":{"to":1,"To":2}}`, ""},
		{"Kelvin sign", `{"properties":{"key":{}}}`, `{"` + "\u212a" + `ey":1}`, "only in case"},
		{"long s", `{"properties":{"size":{}}}`, `{"` + "\u017f" + `ize":1}`, "only in case"},
		{"both declared", `{"properties":{"to":{},"To":{}}}`, `{"to":1,"To":2}`, ""},
		{"by a reference", `{"$ref":"#/$defs/m","$defs":{"m":{"properties":{"to":{}}}}}`, `{"To":2}`, `"To"`},
		{"in an alternative", `{"anyOf":[{"properties":{"a":{}}},{"properties":{"to":{}}}]}`, `{"To":2}`, `"To"`},
		{"allOf", `{"allOf":[{"properties":{"to":{}}}]}`, `{"To":2}`, `"To"`},
		{"recursive", `{"properties":{"next":{"$ref":"#"},"to":{}}}`, `{"next":{"next":{"To":1}}}`, `"To"`},
		{"no schema of members", `{"type":"object"}`, `{"a":1,"A":2}`, ""},
		{"a scalar", `true`, `1`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Decode([]byte(tt.value))
			if err != nil {
				t.Fatal(err)
			}
			err = mustCompile(t, tt.schema).CheckCase(v)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("CheckCase = %v, want one about %s", err, tt.want)
			}
		})
	}
}

// TestCheckCaseIsBounded: a schema and a value that would multiply cost a bounded number of steps.
func TestCheckCaseIsBounded(t *testing.T) {
	var alternatives []string
	for i := range 60 {
		alternatives = append(alternatives, fmt.Sprintf(`{"properties":{"n":{"$ref":"#"},"p%d":{}}}`, i))
	}
	s := mustCompile(t, `{"anyOf":[`+strings.Join(alternatives, ",")+`]}`)
	value := any(map[string]any{})
	for range 100 {
		value = map[string]any{"n": value, "list": []any{}}
	}
	if err := s.CheckCase(value); err != nil && !errors.Is(err, ErrTooCostly) {
		t.Error(err)
	}
}
