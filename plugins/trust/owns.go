package trust

import (
	"strings"
)

// ownsID says whether the publisher may use a plugin id. The rule of the policy: an exact id, or a prefix that ends in
// "." or "-".
func (o *Ownership) ownsID(id string) bool {
	for _, e := range o.IDs {
		if !isPrefix(e, ".-") && e == id || isPrefix(e, ".-") && len(id) > len(e) && strings.HasPrefix(id, e) {
			return true
		}
	}
	return false
}

// ownsTool says the same of a tool's name: exact, a prefix that ends in "_" or "-", or "*". Case counts here, and does not
// when two publishers are kept apart: both on the strict side.
func (o *Ownership) ownsTool(name string) bool {
	for _, e := range o.Tools {
		if e == "*" || e == name || isPrefix(e, "_-") && strings.HasPrefix(name, e) {
			return true
		}
	}
	return false
}

func (o *Ownership) ownsGlobal(name string) bool {
	for _, e := range o.Globals {
		if e == name {
			return true
		}
	}
	return false
}

func isPrefix(entry, ends string) bool {
	return entry != "" && strings.IndexByte(ends, entry[len(entry)-1]) >= 0
}

// claim is an entry of one publisher's ownership.
type claim struct {
	publisher int
	entry     string // folded
	path      string
	prefix    bool
}

// ownership checks the forms of all entries and that no two publishers own the same thing.
func (c *compiler) ownership(p *Policy) {
	var ids, tools, globals []claim
	for i := range p.Publishers {
		o := &p.Publishers[i].Owns
		path := at("publishers", i, "owns")
		if len(o.IDs) == 0 {
			c.add(path+"/ids", `write ids or prefixes, for example "acme."`, "it owns no plugin id, so it can have no plugin")
		}
		if len(o.Tools) == 0 {
			c.add(path+"/tools", `write names or prefixes, or "*" for all`, "it owns no tool name, and every plugin has a tool")
		}
		ids = append(ids, c.idClaims(i, path+"/ids", o.IDs)...)
		tools = append(tools, c.toolClaims(i, path+"/tools", o.Tools)...)
		globals = append(globals, c.globalClaims(i, path+"/globals", o.Globals)...)
	}
	c.overlaps(ids)
	c.overlaps(tools)
	c.overlaps(globals)
}

func (c *compiler) idClaims(publisher int, path string, list []string) (claims []claim) {
	for k, e := range list {
		if len(e) > maxID || !idForm.MatchString(e) {
			c.add(path+at(k), `write an id such as "acme.hello", or a prefix that ends in "." or "-" such as "acme."`, "%s is neither an id nor a prefix of ids", text(e))
			continue
		}
		claims = append(claims, claim{publisher, e, path + at(k), isPrefix(e, ".-")})
	}
	return claims
}

func (c *compiler) toolClaims(publisher int, path string, list []string) (claims []claim) {
	for k, e := range list {
		switch {
		case len(e) > maxTool || !toolForm.MatchString(e):
			c.add(path+at(k), `write a name such as "greet", a prefix that ends in "_" or "-" such as "acme_", or "*"`, "%s is neither a tool's name nor a prefix of names", text(e))
		case e == "*":
			claims = append(claims, claim{publisher, "", path + at(k), true})
		default:
			// The catalog does not tell names apart by case, see plugins.Tool.
			claims = append(claims, claim{publisher, strings.ToLower(e), path + at(k), isPrefix(e, "_-")})
		}
	}
	return claims
}

func (c *compiler) globalClaims(publisher int, path string, list []string) (claims []claim) {
	for k, e := range list {
		if why := globalName(e); why != "" {
			c.add(path+at(k), "", "%s", why)
			continue
		}
		claims = append(claims, claim{publisher, e, path + at(k), false})
	}
	return claims
}

// overlaps finds entries that own the same name. Of two that overlap, one is equal to the other or a prefix of it, so it
// is enough to look up every beginning of every entry: the work is linear, however long the lists are.
func (c *compiler) overlaps(claims []claim) {
	prefixes := map[string]claim{}
	for _, cl := range claims {
		if _, taken := prefixes[cl.entry]; !taken && cl.prefix {
			prefixes[cl.entry] = cl
		}
	}
	seen := map[string]claim{}
	for _, cl := range claims {
		if first, taken := seen[cl.entry]; taken && first.prefix == cl.prefix {
			c.overlap(first, cl)
			continue
		}
		seen[cl.entry] = cl
		for n := range len(cl.entry) + 1 {
			if p, ok := prefixes[cl.entry[:n]]; ok && p.publisher != cl.publisher {
				c.overlap(p, cl)
				break
			}
		}
	}
}

func (c *compiler) overlap(a, b claim) {
	if a.publisher == b.publisher {
		c.add(b.path, "remove one", "it is in the list twice")
		return
	}
	if comparePaths(a.path, b.path) > 0 {
		a, b = b, a
	}
	c.add(b.path, "give each publisher names of its own, for example by prefixes", "publisher %d owns this too, by %s", a.publisher, a.path)
}
