package trust

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/plugins"
)

// versionForm is that of the manifest's schema: a semantic version in full, without a leading v.
var versionForm = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

const maxVersion = 64

// oldEnough holds the manifest's version against the least one, by the order of semantic versions: a pre-release is lower
// than its release.
func (c *checker) oldEnough(m *plugins.Manifest) *Error {
	least, ok := c.source.MinVersions[m.ID]
	if !ok || semver.Compare("v"+m.Version, "v"+least) >= 0 {
		return nil
	}
	return refuse(StepManifest, StateTooOld, nil, "it is version %s, and the trust policy takes none below %s; get a newer one with "+
		"cloister plugin install, or change minVersions if you want the old one", m.Version, least)
}

// minVersions checks the forms of ids and versions.
func (c *compiler) minVersions(p *Policy) {
	for _, id := range slices.Sorted(maps.Keys(p.MinVersions)) {
		path := "/minVersions/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(plaintext.Line(id, maxID))
		if len(id) > maxID || !exactIDForm.MatchString(id) {
			c.add(path, `write the id of a plugin, such as "acme.hello"`, "%s is no id of a plugin", text(id))
		}
		if v := p.MinVersions[id]; len(v) > maxVersion || !versionForm.MatchString(v) || !semver.IsValid("v"+v) {
			c.add(path, `write a semantic version in full, such as "1.2.0"`, "%s is no version", text(v))
		}
	}
}

// minVersions reads the member of the file.
func (r *reader) minVersions(m map[string]any) map[string]string {
	v, ok := m["minVersions"]
	if !ok {
		return nil
	}
	members, ok := v.(map[string]any)
	if !ok {
		r.add("/minVersions", `write an object such as {"acme.hello": "1.2.0"}`, "expected an object, got %s", text(v))
		return nil
	}
	if len(members) > MaxMinVersions {
		r.add("/minVersions", "", "%d entries are more than %d", len(members), MaxMinVersions)
		return nil
	}
	out := map[string]string{}
	for id := range members {
		out[id] = r.text("/minVersions", members, id, true)
	}
	return out
}

// threshold reads a publisher's.
func (r *reader) threshold(path string, m map[string]any) int {
	v, ok := m["threshold"]
	if !ok {
		return 0
	}
	number, isNumber := v.(json.Number)
	n, err := strconv.Atoi(number.String())
	if !isNumber || err != nil || n < 1 {
		r.add(path+"/threshold", "write how many of its signers must have signed, at least 1", "expected a number, got %s", text(v))
		return 0
	}
	return n
}
