package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sealed puts the text of a generation into a file whose checksum is right.
func sealed(inner string) []byte {
	return fmt.Appendf(nil, `{"version":1,"sum":%q,"generation":%s}`, digestOf([]byte(inner)), inner)
}

func goodGeneration() *Generation {
	d := func(s string) string { return digestOf([]byte(s)) }
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &Generation{Number: 7, Created: at, Reason: "update acme.a 1.0.0 → 1.1.0-rc.1+x", Entries: []Entry{
		{ID: "acme.a", Version: "1.1.0-rc.1+x", Digest: d("1"), Ref: "registry.example/acme/a:1", Publisher: "Acme <Inc>", Signer: "sha256:ab",
			Signatures: []string{d("1")}, Blobs: []string{d("1")}, Tools: []string{"greet", "x_Y-1"}, Globals: []string{"$A", "B_1"}, Installed: at},
		{ID: "acme.b-c", Version: "0.0.0", Digest: d("2"), Publisher: "p", Signer: "s", Signatures: []string{}, Blobs: []string{d("2")},
			Tools: []string{"other"}, Disabled: true, Installed: at},
	}}
}

func TestGenerationRoundTrip(t *testing.T) {
	for _, g := range []*Generation{goodGeneration(), emptyGeneration()} {
		text, err := encodeGeneration(g)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseGeneration(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(g, got); diff != "" {
			t.Error(diff)
		}
		if again, err := encodeGeneration(got); err != nil || string(again) != string(text) {
			t.Errorf("not the same bytes again: %v\n%s", err, again)
		}
		if !json.Valid(text) || !strings.HasSuffix(string(text), "}\n") {
			t.Errorf("%s", text)
		}
	}
}

// Each of these is refused with all checksums right, by the writer and by the reader.
func TestGenerationRefuses(t *testing.T) {
	entry := func(change func(*Entry)) func(*Generation) { return func(g *Generation) { change(&g.Entries[0]) } }
	tests := []struct {
		name   string
		change func(*Generation)
		kind   error
	}{
		{"negative number", func(g *Generation) { g.Number = -1 }, ErrInvalid},
		{"number too high", func(g *Generation) { g.Number = MaxGeneration + 1 }, ErrInvalid},
		{"no reason", func(g *Generation) { g.Reason = "" }, ErrInvalid},
		{"reason of two lines", func(g *Generation) { g.Reason = "a\nb" }, ErrInvalid},
		{"reason that turns the text around", func(g *Generation) { g.Reason = "a\u202eb" }, ErrInvalid},
		{"half seconds", func(g *Generation) { g.Created = g.Created.Add(time.Second / 2) }, ErrInvalid},
		{"local time", func(g *Generation) { g.Created = g.Created.In(time.FixedZone("", 3600)) }, ErrInvalid},
		{"no list", func(g *Generation) { g.Entries = nil }, ErrInvalid},
		{"not sorted", func(g *Generation) { g.Entries[0], g.Entries[1] = g.Entries[1], g.Entries[0] }, ErrInvalid},
		{"twice", func(g *Generation) { g.Entries[1] = g.Entries[0] }, ErrInvalid},
		{"one tool of two", func(g *Generation) { g.Entries[1].Tools = []string{"GREET"} }, ErrConflict},
		{"one global of two", func(g *Generation) { g.Entries[1].Globals = []string{"$A"} }, ErrConflict},
		{"too many", func(g *Generation) {
			e := g.Entries[1]
			g.Entries = nil
			for i := range MaxEntries + 1 {
				e.ID, e.Tools = fmt.Sprintf("acme.p%04d", i), []string{fmt.Sprintf("t%04d", i)}
				g.Entries = append(g.Entries, e)
			}
		}, ErrFull},
		{"id that climbs", entry(func(e *Entry) { e.ID = "../a" }), ErrInvalid},
		{"id of capitals", entry(func(e *Entry) { e.ID = "Acme.a" }), ErrInvalid},
		{"id too long", entry(func(e *Entry) { e.ID = "a." + strings.Repeat("a", maxID) }), ErrInvalid},
		{"version with v", entry(func(e *Entry) { e.Version = "v1.0.0" }), ErrInvalid},
		{"version of two parts", entry(func(e *Entry) { e.Version = "1.0" }), ErrInvalid},
		{"version of two parts and dots", entry(func(e *Entry) { e.Version = "1.0-a.b" }), ErrInvalid},
		{"digest that climbs", entry(func(e *Entry) { e.Digest = "sha256:../../../../../../etc/passwd" }), ErrInvalid},
		{"digest of capitals", entry(func(e *Entry) { e.Digest = "sha256:" + strings.Repeat("A", 64) }), ErrInvalid},
		{"other algorithm", entry(func(e *Entry) { e.Digest = "sha512:" + strings.Repeat("a", 64) }), ErrInvalid},
		{"blobs without the manifest", entry(func(e *Entry) { e.Blobs = []string{digestOf(nil)} }), ErrInvalid},
		{"no blobs", entry(func(e *Entry) { e.Blobs = nil }), ErrInvalid},
		{"no signatures list", entry(func(e *Entry) { e.Signatures = nil }), ErrInvalid},
		{"signature twice", entry(func(e *Entry) { e.Signatures = append(e.Signatures, e.Signatures...) }), ErrInvalid},
		{"signature that climbs", entry(func(e *Entry) { e.Signatures = []string{"sha256:../x"} }), ErrInvalid},
		{"no tools", entry(func(e *Entry) { e.Tools = nil }), ErrInvalid},
		{"tools not sorted", entry(func(e *Entry) { e.Tools = []string{"b", "a"} }), ErrInvalid},
		{"tool with a space", entry(func(e *Entry) { e.Tools = []string{"a b"} }), ErrInvalid},
		{"global with a dot", entry(func(e *Entry) { e.Globals = []string{"a.b"} }), ErrInvalid},
		{"no publisher", entry(func(e *Entry) { e.Publisher = "" }), ErrInvalid},
		{"no signer", entry(func(e *Entry) { e.Signer = "" }), ErrInvalid},
		{"signer too long", entry(func(e *Entry) { e.Signer = strings.Repeat("x", maxSigner+1) }), ErrInvalid},
		{"reference with a line end", entry(func(e *Entry) { e.Ref = "a\n" }), ErrInvalid},
		{"installed before time", entry(func(e *Entry) { e.Installed = time.Time{} }), ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := goodGeneration()
			tt.change(g)
			if _, err := encodeGeneration(g); !errors.Is(err, tt.kind) {
				t.Errorf("encode = %v, want %v", err, tt.kind)
			}
			inner, err := json.Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := parseGeneration(sealed(string(inner))); got != nil || !errors.Is(err, tt.kind) {
				t.Errorf("parse = %v, want %v", err, tt.kind)
			}
		})
	}
}

func TestGenerationFileRefuses(t *testing.T) {
	text, err := encodeGeneration(goodGeneration())
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	for name, bad := range map[string]string{
		"empty":               "",
		"two values":          good + good,
		"unknown member":      strings.Replace(good, `"version": 1`, `"version": 1, "more": 1`, 1),
		"member twice":        strings.Replace(good, `"version": 1`, `"version": 1, "version": 1`, 1),
		"other case":          strings.Replace(good, `"version"`, `"Version"`, 1),
		"version 0":           strings.Replace(good, `"version": 1`, `"version": 0`, 1),
		"version of a text":   strings.Replace(good, `"version": 1`, `"version": "1"`, 1),
		"no version":          strings.Replace(good, `"version": 1,`, ``, 1),
		"reason changed":      strings.Replace(good, "update", "upDate", 1),
		"space in the list":   strings.Replace(good, `"number": 7`, `"number":  7`, 1),
		"no sum":              strings.Replace(good, "sha256:", "", 1),
		"unknown in an entry": string(sealed(`{"number":1,"created":"2026-01-02T03:04:05Z","reason":"x","entries":[],"more":1}`)),
		"number of a float":   string(sealed(`{"number":1.5,"created":"2026-01-02T03:04:05Z","reason":"x","entries":[]}`)),
		"null":                string(sealed(`null`)),
		"too large":           good + strings.Repeat(" ", maxGenerationBytes),
		"deep":                `{"version":1,"sum":"","generation":` + strings.Repeat("[", 1<<20),
	} {
		if g, err := parseGeneration([]byte(bad)); err == nil {
			t.Errorf("%s: parsed as %+v", name, g)
		}
	}
	if _, err := parseGeneration([]byte(strings.Replace(good, `"version": 1`, `"version": 99`, 1))); !errors.Is(err, ErrTooNew) {
		t.Errorf("a newer version = %v, want ErrTooNew", err)
	}
}

// FuzzGeneration parses a file as it is, and with its checksum made right: nothing may panic, and what is read is written
// and read again as the same.
func FuzzGeneration(f *testing.F) {
	text, err := encodeGeneration(goodGeneration())
	if err != nil {
		f.Fatal(err)
	}
	inner, err := json.Marshal(goodGeneration())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(inner)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range [][]byte{data, sealed(string(data))} {
			g, err := parseGeneration(file)
			if err != nil {
				continue
			}
			text, err := encodeGeneration(g)
			if err != nil {
				t.Fatalf("read, but not to be written: %v", err)
			}
			again, err := parseGeneration(text)
			if diff := cmp.Diff(g, again); err != nil || diff != "" {
				t.Fatalf("%v\n%s", err, diff)
			}
		}
	})
}

// The corpus has files that are read: otherwise the fuzzing would start from nothing.
func TestFuzzCorpusIsRead(t *testing.T) {
	names, err := filepath.Glob("testdata/fuzz/FuzzGeneration/*")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var value string
		if _, err := fmt.Sscanf(strings.SplitN(string(text), "\n", 2)[1], "[]byte(%q)", &value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, file := range [][]byte{[]byte(value), sealed(value)} {
			if _, err := parseGeneration(file); err == nil {
				read++
			}
		}
	}
	if read < 2 {
		t.Errorf("of %d files %d are read", len(names), read)
	}
}
