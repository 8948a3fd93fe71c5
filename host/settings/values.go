package settings

import (
	"fmt"
	"math"
	"net/netip"

	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
)

func (r *reader) boolean(to *bool) keyReader {
	return func(n *json5.Node, path string) {
		if n.Kind != json5.Bool {
			r.fault(n.Pos, path, "must be true or false, not %s", kindOf(n))
			return
		}
		*to = n.Bool
	}
}

// strings reads a list, which is not nil afterwards: an empty list and an absent
// one differ. check gives what is wrong with an element, if anything.
func (r *reader) strings(to *[]string, check func(string) string) keyReader {
	return func(n *json5.Node, path string) {
		if n.Kind != json5.Array {
			r.fault(n.Pos, path, "must be an array of strings, not %s", kindOf(n))
			return
		}
		*to = []string{}
		for i, e := range n.Elements {
			key := fmt.Sprintf("%s[%d]", path, i)
			if e.Kind != json5.String {
				r.fault(e.Pos, key, "must be a string, not %s", kindOf(e))
				continue
			}
			if wrong := check(e.Text); wrong != "" {
				r.fault(e.Pos, key, "%s", wrong)
			}
			*to = append(*to, e.Text)
		}
	}
}

func (r *reader) rules(to *[]string) keyReader { return r.strings(to, forms.Rule) }

// text reads a string. check gives what is wrong with it, if anything.
func (r *reader) text(to *string, check func(string) string) keyReader {
	return func(n *json5.Node, path string) {
		if n.Kind != json5.String {
			r.fault(n.Pos, path, "must be a string, not %s", kindOf(n))
			return
		}
		if wrong := check(n.Text); wrong != "" {
			r.fault(n.Pos, path, "%s", wrong)
		}
		*to = n.Text
	}
}

// count reads a whole number within bounds.
func (r *reader) count(least, most int, take func(int)) keyReader {
	return func(n *json5.Node, path string) {
		switch {
		case n.Kind != json5.Number:
			r.fault(n.Pos, path, "must be a number, not %s", kindOf(n))
		case n.Number != math.Trunc(n.Number), n.Number < float64(least), n.Number > float64(most), math.IsNaN(n.Number):
			r.fault(n.Pos, path, "must be a whole number of %d to %d", least, most)
		default:
			take(int(n.Number))
		}
	}
}

// prefixes reads a list of networks, such as 127.0.0.0/8.
func (r *reader) prefixes(to *[]netip.Prefix) keyReader {
	return func(n *json5.Node, path string) {
		var texts []string
		r.strings(&texts, func(s string) string {
			prefix, err := netip.ParsePrefix(s)
			if err != nil {
				return fmt.Sprintf("%q is no network; write an address and a length, such as 127.0.0.0/8", s)
			}
			*to = append(*to, prefix.Masked())
			return ""
		})(n, path)
	}
}
