package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// readPolicy turns a file into a policy as far as its form allows, so that what it means can be checked in the same go.
// The policy is nil when there is nothing to check.
func readPolicy(data []byte) (*Policy, problemList) {
	r := reader{}
	if len(data) > MaxPolicyBytes {
		r.add("", "", "%d bytes are more than %d", len(data), MaxPolicyBytes)
		return nil, r.problemList
	}
	v, err := schema.Decode(data)
	if err != nil {
		r.syntax(err)
		return nil, r.problemList
	}
	m, ok := r.object("", v, "version", "publishers", "minVersions", "revoked", "trustedRoot")
	if !ok {
		return nil, r.problemList
	}
	if !r.version(m["version"]) {
		return nil, r.problemList // another version's rules are not ours to check
	}
	p := &Policy{Publishers: r.publishers(m), MinVersions: r.minVersions(m)}
	if revoked, ok := m["revoked"]; ok {
		if m, ok := r.object("/revoked", revoked, "keys", "digests"); ok {
			p.Revoked.Keys = r.texts("/revoked", m, "keys", MaxRevoked)
			p.Revoked.Digests = r.texts("/revoked", m, "digests", MaxRevoked)
		}
	}
	if _, ok := m["trustedRoot"]; ok {
		p.TrustedRoot = rawMember(data, "trustedRoot")
	}
	return p, r.problemList
}

// rawMember gives the text of one member of an object that was decoded before.
func rawMember(data []byte, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if err := schema.DecodeInto(data, &members, &schema.DecodeOptions{Checked: true}); err != nil {
		return json.RawMessage("null") // cannot be, and null is refused as a root
	}
	return members[name]
}

// reader walks decoded JSON and notes what has the wrong form.
type reader struct{ problemList }

func (r *reader) syntax(err error) {
	path, message := "", err.Error()
	var de *schema.DecodeError
	if errors.As(err, &de) {
		path, message = de.Path, de.Detail
		if de.Offset >= 0 {
			message += " (byte " + strconv.FormatInt(de.Offset, 10) + ")"
		}
	}
	r.add(path, "mend the JSON; other mistakes show after that", "%s", message)
}

func (r *reader) version(v any) bool {
	n, ok := v.(json.Number)
	switch {
	case v == nil:
		r.add("/version", `add "version": 1`, "the version is missing")
	case !ok || n.String() != strconv.Itoa(PolicyVersion):
		r.add("/version", "write 1; a newer version needs a newer Cloister", "version %s is not known", text(v))
	default:
		return true
	}
	return false
}

func (r *reader) publishers(m map[string]any) []Publisher {
	if _, ok := m["publishers"]; !ok {
		r.add("/publishers", `add "publishers": []; an empty list trusts nobody`, "the publishers are missing")
		return nil
	}
	var all []Publisher
	for i, v := range r.list("", m, "publishers", MaxPublishers) {
		path := at("publishers", i)
		var p Publisher
		if m, ok := r.object(path, v, "name", "threshold", "keys", "identities", "owns"); ok {
			p.Name = r.text(path, m, "name", true)
			p.Threshold = r.threshold(path, m)
			p.Keys = r.keys(path, m)
			p.Identities = r.identities(path, m)
			p.Owns = r.owns(path, m)
		}
		all = append(all, p)
	}
	return all
}

func (r *reader) keys(path string, m map[string]any) []Key {
	var keys []Key
	for i, v := range r.list(path, m, "keys", MaxSigners) {
		path := path + at("keys", i)
		var k Key
		if m, ok := r.object(path, v, "publicKey", "comment"); ok {
			k = Key{PublicKey: r.text(path, m, "publicKey", true), Comment: r.text(path, m, "comment", false)}
		}
		keys = append(keys, k)
	}
	return keys
}

func (r *reader) identities(path string, m map[string]any) []Identity {
	var ids []Identity
	for i, v := range r.list(path, m, "identities", MaxSigners) {
		path := path + at("identities", i)
		var id Identity
		if m, ok := r.object(path, v, "issuer", "subject"); ok {
			id = Identity{Issuer: r.text(path, m, "issuer", true), Subject: r.text(path, m, "subject", true)}
		}
		ids = append(ids, id)
	}
	return ids
}

func (r *reader) owns(path string, m map[string]any) Ownership {
	var o Ownership
	v, ok := m["owns"]
	path += "/owns"
	if !ok {
		r.add(path, `add "owns": {"ids": ["NAME."], "tools": ["*"]}`, "what the publisher owns is missing")
		return o
	}
	if m, ok := r.object(path, v, "ids", "tools", "globals"); ok {
		o.IDs = r.texts(path, m, "ids", MaxOwned)
		o.Tools = r.texts(path, m, "tools", MaxOwned)
		o.Globals = r.texts(path, m, "globals", MaxOwned)
	}
	return o
}

// object takes an object with no other members than those.
func (r *reader) object(path string, v any, members ...string) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		r.add(path, "write an object", "expected an object, got %s", text(v))
		return nil, false
	}
	for name := range m {
		if slices.Contains(members, name) {
			continue
		}
		hint := "the members are " + strings.Join(members, ", ")
		if near := schema.Suggest(name, members); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		r.add(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(plaintext.Line(name, 64)), hint, "unknown member")
	}
	return m, true
}

// list takes a list of at most so many values; a missing one is empty.
func (r *reader) list(path string, m map[string]any, name string, most int) []any {
	v, ok := m[name]
	if !ok {
		return nil
	}
	l, ok := v.([]any)
	if !ok {
		r.add(path+"/"+name, "write a list", "expected a list, got %s", text(v))
		return nil
	}
	if len(l) > most {
		r.add(path+"/"+name, "", "%d entries are more than %d", len(l), most)
		return nil
	}
	return l
}

func (r *reader) texts(path string, m map[string]any, name string, most int) []string {
	var all []string
	for i, v := range r.list(path, m, name, most) {
		s, ok := v.(string)
		if !ok {
			r.add(path+at(name, i), "write a text in quotes", "expected a text, got %s", text(v))
		}
		all = append(all, s)
	}
	return all
}

func (r *reader) text(path string, m map[string]any, name string, required bool) string {
	v, ok := m[name]
	s, isText := v.(string)
	switch {
	case !ok && required:
		r.add(path+"/"+name, "", "it is missing")
	case ok && !isText:
		r.add(path+"/"+name, "write a text in quotes", "expected a text, got %s", text(v))
	}
	return s
}

// text shows a value in a few words.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return strconv.Quote(plaintext.Line(v, 80))
	default:
		return plaintext.Line(fmt.Sprint(v), 40)
	}
}
