package declare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValue(t *testing.T) {
	v, err := Parse([]byte(` {"z": [1, "a\u0062", null], "\u0061": {"t": true, "f": false}} `))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var walk func(path string, v Value)
	walk = func(path string, v Value) {
		kinds := ""
		for _, k := range []struct {
			is   bool
			name string
		}{{v.IsObject(), "object"}, {v.IsArray(), "array"}, {v.IsString(), "string"}, {v.IsNumber(), "number"}, {v.IsTrue(), "true"}, {v.IsFalse(), "false"}, {v.IsNull(), "null"}} {
			if k.is {
				kinds += k.name
			}
		}
		got = append(got, path+" "+kinds+" "+v.Raw()+" "+v.Text())
		if v.Size() != len(v.Raw()) || !v.Exists() {
			t.Errorf("%s: size %d of %s", path, v.Size(), v.Raw())
		}
		for name, c := range v.Children() {
			walk(path+"/"+name, c)
		}
	}
	walk("", v)
	want := []string{
		` object {"z":[1,"a\u0062",null],"\u0061":{"t":true,"f":false}} `,
		`/z array [1,"a\u0062",null] `,
		`/z/ number 1 `,
		`/z/ string "a\u0062" ab`,
		`/z/ null null `,
		`/a object {"t":true,"f":false} `,
		`/a/t true true `,
		`/a/f false false `,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestZeroValue(t *testing.T) {
	var v Value
	if v.Exists() || v.IsObject() || v.IsArray() || v.IsString() || v.IsNumber() || v.IsTrue() || v.IsFalse() || v.IsNull() || v.IsBool() || v.Member("a").Exists() || v.Text() != "" || v.Raw() != "" || v.Size() != 0 {
		t.Error("the zero Value is something")
	}
	for range v.Children() {
		t.Error("the zero Value has children")
	}
}
