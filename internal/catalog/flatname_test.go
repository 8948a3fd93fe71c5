package catalog

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var (
	flatForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	flatRuns = regexp.MustCompile(`[-_]+|[A-Za-z0-9]+`)
)

func TestFlatName(t *testing.T) {
	long := strings.Repeat("very_long_", 10)
	for id, want := range map[string]string{
		"cloister:core:clock_now":       "clock_now",
		"cloister:core:_private":        "_-5fprivate",
		"cloister:acme.hello:greet":     "acme--hello__greet",
		"cloister:acme-x.hello-y:greet": "acme-x--hello-y__greet",
		"cloister:files:read_file":      "cloister__files__read_file",
		"mcp:files:read_file":           "files__read_file",
		"mcp:aaa:files_read_file":       "aaa__files_read_file",
		"mcp:files_read:file":           "files_read__file",
		"mcp:acme.hello:greet":          "mcp__acme--hello__greet",
		"mcp:git-hub:issues/create":     "git-hub__issues---create",
		"mcp:a:x.y":                     "a__x--y",
		"mcp:a:x__y":                    "a__x_-5f_-5fy",
		"mcp:a_:_b":                     "a_-5f___-5fb",
		"mcp:a:end_":                    "a__end_-5f",
		"client:app:pick":               "client__app__pick",
		"mcp:a:" + long:                 "a__very_long_very_long_very_long_very___5qunndn7tm3o6epgxpoqo5oj",
	} {
		if _, err := idOf(id); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if got := FlatName(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
}

// idOf checks an id.
func idOf(id string) (string, error) {
	part := strings.SplitN(id, ":", 3)
	return ID(part[0], part[1], part[2])
}

// unflatten is the inverse of FlatName for names that were not cut: two ids with one name cannot both be what it gives.
func unflatten(name string) (id string, cut bool, err error) {
	var parts []string
	part, escaped := "", false
	for _, run := range flatRuns.FindAllString(name, -1) {
		if run[0] != '-' && run[0] != '_' {
			if escaped {
				if len(run) < 2 {
					return "", false, fmt.Errorf("%s: an escape without a code", name)
				}
				code, err := hex.DecodeString(run[:2])
				if err != nil {
					return "", false, err
				}
				run = string(code) + run[2:]
			}
			part, escaped = part+run, false
			continue
		}
		switch run {
		case "_", "-":
			part += run
		case flatDot:
			part += "."
		case flatSlash:
			part += "/"
		case flatEscape:
			escaped = true
		case flatSeparator + flatEscape:
			parts, part, escaped = append(parts, part), "", true
		case flatSeparator:
			parts, part = append(parts, part), ""
		case flatHash:
			return "", true, nil
		default:
			return "", false, fmt.Errorf("%s: no mark is %q", name, run)
		}
	}
	parts = append(parts, part)
	switch {
	case len(parts) == 1:
		return "cloister:core:" + parts[0], false, nil
	case len(parts) == 2 && strings.Contains(parts[0], "."):
		return "cloister:" + strings.Join(parts, ":"), false, nil
	case len(parts) == 2:
		return "mcp:" + strings.Join(parts, ":"), false, nil
	case len(parts) == 3:
		return strings.Join(parts, ":"), false, nil
	}
	return "", false, fmt.Errorf("%s: %d parts", name, len(parts))
}

// checkFlat holds one id to the form of names and to the inverse.
func checkFlat(t *testing.T, id string) string {
	t.Helper()
	name := FlatName(id)
	if !flatForm.MatchString(name) {
		t.Fatalf("%s is %q", id, name)
	}
	back, cut, err := unflatten(name)
	switch {
	case err != nil:
		t.Fatalf("%s: %v", id, err)
	case cut && (len(id) < 20 || !strings.Contains(name, flatHash)):
		t.Fatalf("%s is cut: %s", id, name)
	case !cut && back != id:
		t.Fatalf("%s is %s, which is of %s", id, name, back)
	}
	return name
}

// All ids of few characters, with all ways in which marks can meet.
func TestFlatNamesNeverMeet(t *testing.T) {
	words := func(alphabet string, most int) (all []string) {
		last := []string{""}
		for range most {
			var next []string
			for _, w := range last {
				for _, c := range alphabet {
					next = append(next, w+string(c))
				}
			}
			all, last = append(all, next...), next
		}
		return all
	}
	owners, tools := append(words("a_-.", 3), "core", "mcp", "client", "cloister"), words("a_-./", 4)
	for _, tool := range words("a25df_-", 3) { // with what looks like the code of an escape
		if strings.ContainsAny(tool, "25df") {
			tools = append(tools, tool)
		}
	}
	seen := map[string]string{}
	for _, source := range []string{SourceCloister, SourceMCP, SourceClient} {
		for _, owner := range owners {
			if part := FlatPart(owner); strings.Contains(part, flatSeparator) {
				t.Fatalf("%s is %s", owner, part)
			}
			for _, tool := range tools {
				id, err := ID(source, owner, tool)
				if err != nil {
					continue
				}
				name := checkFlat(t, id)
				if other, taken := seen[name]; taken {
					t.Fatalf("%s and %s are both %s", other, id, name)
				}
				seen[name] = id
			}
		}
	}
	if len(seen) < 30_000 {
		t.Errorf("only %d ids", len(seen))
	}
}

// Names that are cut differ however long what they have in common is, and do not meet one that is not cut.
func TestLongFlatNames(t *testing.T) {
	seen := map[string]string{}
	for n := 20; n <= MaxToolLen; n++ {
		for _, end := range []string{"", "a", "b", "_", "-", ".", "_a", "..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"[:min(n-1, 38)]} {
			for _, owner := range []string{"a", "a.b", strings.Repeat("o", MaxOwnerLen), strings.Repeat("_", MaxOwnerLen)} {
				id, err := ID(SourceMCP, owner, strings.Repeat("x", n-len(end))+end)
				if err != nil {
					t.Fatal(err)
				}
				name := checkFlat(t, id)
				if other, taken := seen[name]; taken && other != id {
					t.Fatalf("%s and %s are both %s", other, id, name)
				}
				seen[name] = id
				// What a cut name looks like is the name of no other tool.
				if forged, err := ID(SourceMCP, "a", name); err == nil && FlatName(forged) == name {
					t.Fatalf("%s is the name of %s", name, forged)
				}
			}
		}
	}
}

func FuzzFlatName(f *testing.F) {
	f.Fuzz(func(t *testing.T, source1, owner1, tool1, source2, owner2, tool2 string) {
		a, errA := ID(source1, owner1, tool1)
		b, errB := ID(source2, owner2, tool2)
		if errA != nil || errB != nil {
			return
		}
		if x, y := checkFlat(t, a), checkFlat(t, b); x == y && a != b {
			t.Fatalf("%s and %s are both %s", a, b, x)
		}
	})
}
