package trust

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A registry that answers with an old release, signed as well as the new one, is not enough where the policy has a least
// version (rollback attack). The order is that of semantic versions.
func TestMinVersions(t *testing.T) {
	k := testKey(t, "one")
	tests := []struct {
		version, least string
		ok             bool
	}{
		{"1.0.0", "1.0.0", true},
		{"1.0.1", "1.0.0", true},
		{"1.10.0", "1.9.0", true},
		{"1.0.0+build.2", "1.0.0+build.7", true}, // builds have no order
		{"0.9.9", "1.0.0", false},
		{"1.9.0", "1.10.0", false},
		{"1.0.0-rc.1", "1.0.0", false},
		{"1.0.0-rc.1", "1.0.0-rc.2", false},
	}
	for _, tt := range tests {
		t.Run(tt.version+" of "+tt.least, func(t *testing.T) {
			p := policy(t, publisher("acme", k))
			if err := p.SetMinVersion("acme.hello", tt.least); err != nil {
				t.Fatal(err)
			}
			if err := p.SetMinVersion("acme.other", "99.0.0"); err != nil {
				t.Fatal(err)
			}
			a := artifact(t, strings.Replace(helloJSON, "1.0.0", tt.version, 1))
			signWith(t, a, k)
			_, err := p.Verify(t.Context(), a)
			if tt.ok && err != nil {
				t.Fatal(err)
			}
			if e := Classify(err); !tt.ok && (e == nil || e.Step != StepManifest || e.State != StateTooOld || !errors.Is(err, ErrTooOld) ||
				!strings.Contains(e.Detail, "none below "+tt.least) || e.Plugin != "acme.hello") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What is set by hand counts at once, as what the methods set does, and is written and read.
func TestMinVersionsEdit(t *testing.T) {
	k := testKey(t, "one")
	p := policy(t, publisher("acme", k))
	a := artifact(t, helloJSON)
	signWith(t, a, k)
	for _, least := range []string{"1.0.0", "2.0.0"} {
		p.MinVersions = map[string]string{"acme.hello": least}
		if _, err := p.Verify(t.Context(), a); errors.Is(err, ErrTooOld) != (least == "2.0.0") {
			t.Errorf("least %s: %v", least, err)
		}
	}
	again, err := ParsePolicy(p.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.MinVersions, again.MinVersions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := again.RemoveMinVersion("acme.hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Verify(t.Context(), a); err != nil {
		t.Error(err)
	}
	if err := again.RemoveMinVersion("acme.hello"); !errors.Is(err, ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	for id, version := range map[string]string{"acme.": "1.0.0", "acme.hello": "v1.0.0", "acme.two": "1.0", "acme.three": "01.0.0", "../x": "1.0.0"} {
		if err := again.SetMinVersion(id, version); !errors.Is(err, ErrPolicy) {
			t.Errorf("%s %s: %v", id, version, err)
		}
	}
	if len(again.MinVersions) != 0 {
		t.Errorf("half an edit: %v", again.MinVersions)
	}
}

func TestMinVersionsAndThresholdsInFiles(t *testing.T) {
	key := quoted(t, string(testKey(t, "one").PublicPEM()))
	publishers := func(more string) string {
		return `"publishers": [{"name": "acme", "keys": [{"publicKey": ` + key + `}], "owns": {"ids": ["acme."], "tools": ["*"]}` + more + `}]`
	}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"good":                {publishers(`, "threshold": 1`) + `, "minVersions": {"acme.hello": "1.0.0-rc.1+x"}`, nil},
		"no object":           {publishers("") + `, "minVersions": ["acme.hello"]`, []string{"/minVersions"}},
		"no text":             {publishers("") + `, "minVersions": {"acme.hello": 1}`, []string{"/minVersions/acme.hello"}},
		"null":                {publishers("") + `, "minVersions": null`, []string{"/minVersions"}},
		"no version":          {publishers("") + `, "minVersions": {"acme.hello": "1.0", "acme/x": "1.0.0"}`, []string{"/minVersions/acme.hello", "/minVersions/acme~1x"}},
		"more than there are": {publishers(`, "threshold": 2`), []string{"/publishers/0/threshold"}},
		"none":                {publishers(`, "threshold": 0`), []string{"/publishers/0/threshold"}},
		"negative":            {publishers(`, "threshold": -1`), []string{"/publishers/0/threshold"}},
		"a fraction":          {publishers(`, "threshold": 1.5`), []string{"/publishers/0/threshold"}},
		"a text":              {publishers(`, "threshold": "2"`), []string{"/publishers/0/threshold"}},
		"over all bounds":     {publishers(`, "threshold": 99999999999999999999`), []string{"/publishers/0/threshold"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePolicy([]byte(`{"version": 1, ` + tt.text + `}`))
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, problems(t, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
