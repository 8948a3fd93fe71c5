package bundle

import (
	"net/http"
	"testing"
)

func TestContradicts(t *testing.T) {
	for _, tt := range []struct {
		tag, version string
		want         bool
	}{
		{"0.2.0", "0.1.0", true},
		{"v0.2.0", "0.1.0", true},
		{"0.2.0", "0.2.0-rc.1", true},
		{"1.0.0_b2", "1.0.0+b1", true},
		{"1.0.0-rc.1", "1.0.0", true},
		{"0.2", "0.3.1", true},
		{"v1", "2.0.0", true},

		{"0.2.0", "0.2.0", false},
		{"v0.2.0", "0.2.0", false},
		{"1.2.3", "1.2.3+build.7", false},
		{"1.2.3_build.7", "1.2.3+build.7", false},
		{"1.0.0-rc.1", "1.0.0-rc.1", false},
		{"0.3", "0.3.1", false},
		{"v2", "2.0.0", false},
		{"2", "1.0.0", false},
		{"20260101", "1.0.0", false},
		{"latest", "1.0.0", false},
		{"stable-2.0", "1.0.0", false},
		{"01.0.0", "1.0.0", false},
		{"1.0.0.0", "2.0.0", false},
		{"vv1.0.0", "2.0.0", false},
		{"", "1.0.0", false},
	} {
		if got := (Reference{Tag: tt.tag}).Contradicts(tt.version); got != tt.want {
			t.Errorf("%s and %s: %v", tt.tag, tt.version, got)
		}
	}
}

func TestNames(t *testing.T) {
	for tag, want := range map[string]bool{"1.2.3_build.7": true, "v1.2.3_build.7": true, "1.2.3": false, "1.2": false, "latest": false, "": false} {
		if got := (Reference{Tag: tag}).Names("1.2.3+build.7"); got != want {
			t.Errorf("%s: %v", tag, got)
		}
	}
}

// A tag of another version is refused before anything is sent.
func TestPushWithAnotherVersionsTag(t *testing.T) {
	sent := false
	host := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent = true }))
	_, err := anonymous().Push(t.Context(), host+"/acme/hello:1.2.4", signed(t))
	wantError(t, err, ErrTag, "the tag is 1.2.4 and this is acme.hello 1.2.3+build.7; push it with the tag 1.2.3_build.7")
	if sent {
		t.Error("something was sent")
	}
}
