package bundle

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whichever byte of a file is damaged, the file is refused, and the error names the step.
func TestEveryDamagedByte(t *testing.T) {
	f := testFiles()
	f.Wasm = f.Wasm[:9]
	a := mustBuild(t, f)
	if err := a.AddSignature(testSignature("one")); err != nil {
		t.Fatal(err)
	}
	raw := tarOf(t, a.layout())
	step := 3 // coprime to a block: over all headers each of their bytes is tried
	if testing.Short() {
		step = 13
	}
	damaged := func(at int, b byte) {
		old := raw[at]
		if b == old {
			return
		}
		raw[at] = b
		got, err := ReadTar(bytes.NewReader(raw))
		raw[at] = old
		var e *Error
		if got != nil || !errors.As(err, &e) || e.Step != StepBounds && e.Step != StepDigests && e.Step != StepFormat {
			t.Fatalf("byte %d as %#x instead of %#x: %v", at, b, old, err)
		}
	}
	for at := 0; at < len(raw); at += step {
		for _, b := range []byte{raw[at] ^ 1, raw[at] ^ 0x80, 0, ' '} {
			damaged(at, b)
		}
	}
	if _, err := ReadTar(bytes.NewReader(raw)); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
}

// The same of a directory, in which nothing but digests and these forms finds damage.
func TestEveryDamagedByteOfALayout(t *testing.T) {
	day := int(time.Now().Unix() / (24 * 60 * 60))
	for _, name := range []string{fileMarker, fileIndex} {
		dir := dirOf(t, signed(t, "one").layout())
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// The tag is the one text that another tool chooses.
		tag := bytes.Index(raw, []byte(`ref.name":"`)) + len(`ref.name":"`)
		for at := range raw {
			if testing.Short() && (at+day)%5 != 0 {
				continue // another day
			}
			if name == fileIndex && at >= tag && at < tag+len("1.2.3_build.7") {
				continue
			}
			for _, b := range []byte{raw[at] ^ 1, raw[at] ^ 0x80, ' '} {
				if b == raw[at] {
					continue
				}
				now := bytes.Clone(raw)
				now[at] = b
				if err := os.WriteFile(path, now, 0o644); err != nil {
					t.Fatal(err)
				}
				if _, err := Read(dir); err == nil {
					t.Fatalf("%s: byte %d as %#x is taken", name, at, b)
				}
			}
		}
	}
}

// What nobody has signed has fixed forms: an attacker who mends all digests above what he changed gets no other copy of the
// same plugin.
func TestOtherForms(t *testing.T) {
	edit := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	}
	index := map[string]func([]byte) []byte{
		"white space":            edit(`,`, `, `),
		"a line end":             func(b []byte) []byte { return append(b, '\n') },
		"another tag":            edit(`ref.name":"1.2.3_build.7`, `ref.name":"1.2.4_build.7`),
		"an escape":              edit(`ref.name":"1`, `ref.name":"\u0031`),
		"an annotation more":     edit(`"annotations":{`, `"annotations":{"com.example":"x",`),
		"of the index":           edit(`"schemaVersion":2,`, `"schemaVersion":2,"annotations":{"a":"b"},`),
		"an unknown member":      edit(`"schemaVersion":2,`, `"schemaVersion":2,"x":1,`),
		"an unknown member of a": edit(`"size":`, `"x":1,"size":`),
		"a platform":             edit(`"size":`, `"platform":{"os":"x","architecture":"y"},"size":`),
		"an artifactType":        edit(`"schemaVersion":2,`, `"schemaVersion":2,"artifactType":"x",`),
		"a subject":              edit(`"schemaVersion":2,`, `"schemaVersion":2,"subject":{"mediaType":"x","digest":"y","size":1},`),
		"a signature's tag":      edit(`"artifactType":"`+SignatureType+`"`, `"artifactType":"`+SignatureType+`","annotations":{"`+annotationRefName+`":"x"}`),
	}
	referrer := map[string]func([]byte) []byte{
		"white space":                 edit(`,`, `, `),
		"a line end":                  func(b []byte) []byte { return append(b, '\n') },
		"an annotation more":          edit(`"annotations":{`, `"annotations":{"com.example":"x",`),
		"an annotation less":          edit(`,"`+annotationCreated+`":"`+created+`"`, ``),
		"another content":             edit(`"dsse-envelope"`, `"message-signature"`),
		"no date":                     edit(created, "yesterday"),
		"an unknown member":           edit(`"schemaVersion":2,`, `"schemaVersion":2,"x":1,`),
		"annotations of the config":   edit(`{"mediaType":"`+typeEmpty+`",`, `{"mediaType":"`+typeEmpty+`","annotations":{"a":"b"},`),
		"another config's type":       edit(`"mediaType":"`+typeEmpty+`"`, `"mediaType":"text/plain"`),
		"other data of the config":    edit(`{"mediaType":"`+typeEmpty+`",`, `{"mediaType":"`+typeEmpty+`","data":"e31=",`),
		"annotations of the layer":    edit(`{"mediaType":"`+SignatureType+`",`, `{"mediaType":"`+SignatureType+`","annotations":{"a":"b"},`),
		"an artifactType of the subj": edit(`"subject":{`, `"subject":{"artifactType":"x",`),
	}
	bundles := map[string]func([]byte) []byte{
		"white space":        edit(`,`, `, `),
		"after a colon":      edit(`:`, `: `),
		"a line end":         func(b []byte) []byte { return append(b, '\n') },
		"a tab":              edit(`{`, "{\t"),
		"an escape":          edit(`"one"`, `"\u006fne"`),
		"an escape of a /":   edit(`application/`, `application\/`),
		"an upper-case \\u":  edit(`"one"`, `"one\u001F"`),
		"a long \\u for \\n": edit(`"one"`, `"one\u000a"`),
	}
	check := func(t *testing.T, files []namedFile) {
		t.Helper()
		_, err := ReadTar(bytes.NewReader(tarOf(t, files)))
		wantError(t, err, ErrFormat, "")
		if strings.Contains(t.Name(), "another_tag") {
			return // in a directory it is the choice of the tool that filled it
		}
		_, err = Read(dirOf(t, files))
		wantError(t, err, ErrFormat, "")
	}
	for name, edit := range index {
		t.Run("index "+name, func(t *testing.T) {
			files := signed(t, "one").layout()
			was := files[1].data
			if files[1].data = edit(bytes.Clone(was)); bytes.Equal(was, files[1].data) {
				t.Fatal("nothing changed")
			}
			check(t, files)
		})
	}
	for name, edit := range referrer {
		t.Run("signature's manifest "+name, func(t *testing.T) {
			a, b := signed(t), testSignature("one")
			was := a.referrer(b)
			now := edit(bytes.Clone(was))
			if bytes.Equal(was, now) {
				t.Fatal("nothing changed")
			}
			check(t, withReferrer(t, a, now, b))
		})
	}
	for name, edit := range bundles {
		t.Run("signature "+name, func(t *testing.T) {
			a, was := signed(t), testSignature("one")
			now := edit(bytes.Clone(was))
			if bytes.Equal(was, now) {
				t.Fatal("nothing changed")
			}
			check(t, withReferrer(t, a, a.referrer(now), now))
		})
	}
	t.Run("marker", func(t *testing.T) {
		for _, text := range []string{`{"imageLayoutVersion": "1.0.0"}`, `{"imageLayoutVersion":"1.0.0"}` + "\n", `{"imageLayoutVersion":"1.0.0","x":1}`} {
			files := signed(t, "one").layout()
			files[0].data = []byte(text)
			check(t, files)
		}
	})
	t.Run("config", func(t *testing.T) {
		a, b := signed(t), testSignature("one")
		for _, config := range []string{`{ }`, `{"x":1}`, `[]`} {
			empty, other := describe(typeEmpty, emptyConfig), describe(typeEmpty, []byte(config))
			m := bytes.Replace(a.referrer(b), encode(empty), encode(other), 1)
			files := append(drop(withReferrer(t, a, m, b), blobFile(emptyConfig).name), blobFile([]byte(config)))
			check(t, files)
		}
	})
}

// A blank after each comma, as some builds of cosign write it, is the one other form of a signature.
func TestBlanksAfterCommas(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1,"b":[2,3]}`:   true,
		`{"a":1, "b":[2, 3]}`: true,
		`{"a":", , ","b":1}`:  true,
		`{"a":",", "b":1}`:    true,
		`{"a":1, "b":[2,3]}`:  false,
		`{"a":1,  "b":2}`:     false,
		`{"a": 1}`:            false,
		` {"a":1}`:            false,
		`{"a":"\n\u001f\""}`:  true,
		`{"a":"\u0041"}`:      false,
		`{"a":"é"}`:           true,
	} {
		if got := onOneLine([]byte(text), true); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if spaced := strings.Contains(text, `, "b"`); spaced && onOneLine([]byte(text), false) {
			t.Errorf("%s passes without blanks", text)
		}
	}
}
