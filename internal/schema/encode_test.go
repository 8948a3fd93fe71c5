package schema

import (
	"math"
	"testing"
)

func TestMarshal(t *testing.T) {
	for _, test := range []struct {
		in   any
		want string
	}{
		{map[string]any{"b": "<&>", "a": []int{1}}, `{"a":[1],"b":"<&>"}`},
		{"x\n", `"x\n"`},
		{nil, `null`},
		{math.NaN(), `null`},
	} {
		if got := string(Marshal(test.in)); got != test.want {
			t.Errorf("%v: %s; want %s", test.in, got, test.want)
		}
	}
}
