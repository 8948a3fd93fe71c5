package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/schema"
)

const cutMark = "…"

// HashTool makes the lock entry of a text that a model reads under a name, with neither title nor hints: what a server
// says of itself, or a tool as version 1 of the file had it. [Definition.Entry] makes that of a tool. name is the tool's
// own name, not its id in the catalog; parameters and returns are JSON Schemas, returns may be nil.
//
// Hash is the SHA-256 of the canonical JSON (RFC 8785) of {"description": …, "name": …, "parameters": …, "returns": …},
// where a schema that is absent is left out; the other hashes are of the canonical JSON of one schema. A text or schema
// without canonical form goes in as {"descriptionRaw": "sha256:…"}, the hash of its bytes, under a name of its own, so
// that it can never pass for another. HashTool does not fail and is safe for concurrent use.
func HashTool(name, description string, parameters, returns json.RawMessage) Tool {
	t := Tool{Description: excerpt(description)}
	members := [][]byte{textMember("description", description), textMember("name", name)}
	for _, s := range []struct {
		name   string
		schema json.RawMessage
		hash   *string
	}{{"parameters", parameters, &t.ParametersHash}, {"returns", returns, &t.ReturnsHash}} {
		if len(bytes.TrimSpace(s.schema)) == 0 {
			continue
		}
		form, err := schema.Canonical(s.schema)
		if err != nil {
			*s.hash = sum([]byte("raw\n"), s.schema) // no canonical form starts with r
			members = append(members, rawMember(s.name, s.schema))
			continue
		}
		*s.hash = sum(form)
		members = append(members, append([]byte(`"`+s.name+`":`), form...))
	}
	if t.ParametersHash == "" {
		t.ParametersHash = sum(nil)
	}
	// The names are in the order of RFC 8785 already.
	t.Hash = sum([]byte("{"), bytes.Join(members, []byte(",")), []byte("}"))
	return t
}

// textMember is a member whose value is a text.
func textMember(name, value string) []byte {
	if !utf8.ValidString(value) {
		return rawMember(name, []byte(value))
	}
	text, err := json.Marshal(value)
	if err == nil {
		text, err = schema.Canonical(text)
	}
	if err != nil { // longer than JSON may be
		return rawMember(name, []byte(value))
	}
	return append([]byte(`"`+name+`":`), text...)
}

func rawMember(name string, value []byte) []byte {
	return []byte(`"` + name + `Raw":"` + sum(value) + `"`)
}

func sum(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// excerpt makes a description fit the file.
func excerpt(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= MaxDescriptionBytes {
		return s
	}
	cut := MaxDescriptionBytes
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + cutMark
}
