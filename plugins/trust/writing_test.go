package trust

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// A good signature in another writing is another file that says the same: it is refused, so that every copy that was damaged
// or edited is found. What the library would take:
func TestOtherWritings(t *testing.T) {
	k := testKey(t, "one")
	p := policy(t, publisher("acme", k))
	a := artifact(t, helloJSON)
	good := string(sig(t, a, k))
	idle := func(s string) string { // the last character before "==" has four bits that nobody reads
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
		i := strings.LastIndex(s, `=="`) - 1
		at := strings.IndexByte(alphabet, s[i])
		return s[:i] + alphabet[at^1:][:1] + s[i+1:]
	}
	for name, text := range map[string]string{
		"idle bits":             idle(good),
		"without padding":       strings.Replace(good, `=="`, `"`, 1),
		"another alphabet":      strings.NewReplacer("+/", "-_").Replace(strings.ReplaceAll(strings.ReplaceAll(good, "application/vnd.in-toto+json", "\x00"), "/", "_")),
		"names of protobuf":     strings.Replace(good, `"mediaType"`, `"media_type"`, 1),
		"more names":            strings.Replace(good, `"payloadType"`, `"payload_type"`, 1),
		"a member that is null": strings.Replace(good, `{"mediaType"`, `{"x":null,"mediaType"`, 1),
	} {
		text = strings.ReplaceAll(text, "\x00", "application/vnd.in-toto+json")
		if text == good {
			t.Fatalf("%s: nothing changed", name)
		}
		b := artifact(t, helloJSON)
		add(t, b, []byte(text))
		if _, err := p.Verify(t.Context(), b); !errors.Is(err, ErrInvalidSignature) || Classify(err).Step != StepSignature {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What other tools write for what is not there is no such form.
	var m map[string]any
	if err := json.Unmarshal([]byte(good), &m); err != nil {
		t.Fatal(err)
	}
	m["dsseEnvelope"].(map[string]any)["signatures"].([]any)[0].(map[string]any)["keyid"] = ""
	m["verificationMaterial"].(map[string]any)["tlogEntries"] = []any{}
	m["verificationMaterial"].(map[string]any)["timestampVerificationData"] = map[string]any{"rfc3161Timestamps": []any{}}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	b := artifact(t, helloJSON)
	add(t, b, text)
	if _, err := p.Verify(t.Context(), b); err != nil {
		t.Errorf("empty members: %v", err)
	}
}

// What cosign wrote passes the rules about writing, with a blank after each comma as well, which some builds of it write.
func TestCosignsWriting(t *testing.T) {
	for _, name := range []string{"cosign-sign.json", "cosign-attest.json"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{string(text), strings.ReplaceAll(string(text), ",", ", ")} {
			a := artifact(t, helloJSON)
			if err := a.AddSignature([]byte(s)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, refused := readSignature([]byte(s)); refused != nil {
				t.Errorf("%s: %v", name, refused)
			}
		}
		for _, s := range []string{strings.Replace(string(text), ",", ", ", 1), strings.Replace(string(text), ":", ": ", 1), string(text) + "\n"} {
			if err := artifact(t, helloJSON).AddSignature([]byte(s)); err == nil {
				t.Errorf("%s: other white space is taken", name)
			}
		}
	}
}
