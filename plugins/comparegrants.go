package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/extism"
)

func (c *comparison) permissions(before, after *Permissions) {
	c.hosts(before.Hosts, after.Hosts)
	c.names("/permissions/config", "read the configuration key", before.Config, after.Config)
	c.secrets(before, after)
	if before.KV != after.KV {
		c.add("permissions", "/permissions/kv", yes(before.KV), yes(after.KV), after.KV, "It may %s keep entries in a store.", now(after.KV))
	}
	c.names("/permissions/tools", "call the tool", before.Tools, after.Tools)
	if was, is := memoryOf(before), memoryOf(after); before.MemoryBytes != after.MemoryBytes && was != is {
		c.add("permissions", "/permissions/memoryBytes", size(before.MemoryBytes), size(after.MemoryBytes), is > was,
			"An instance may have %s of memory, before it was %s.", size(is), size(was))
	}
	c.time("permissions", "/permissions/timeoutMs", "A call", before.TimeoutMs, after.TimeoutMs)
}

func now(allowed bool) string {
	if allowed {
		return "now"
	}
	return "no longer"
}

func memoryOf(p *Permissions) int64 {
	if p.MemoryBytes == 0 {
		return extism.DefaultMemoryBytes
	}
	return p.MemoryBytes
}

func (c *comparison) time(area, path, what string, before, after int) {
	if before == after {
		return
	}
	longer := after == 0 || before != 0 && after > before
	c.add(area, path, milliseconds(before), milliseconds(after), longer, "%s may take %s, before it was %s.", what, bound(after), bound(before))
}

func bound(ms int) string {
	if ms == 0 {
		return "as long as the host allows"
	}
	return milliseconds(ms)
}

// names compares lists of things that the plugin may use.
func (c *comparison) names(path, what string, before, after []string) {
	for _, n := range after {
		if !slices.Contains(before, n) {
			c.add("permissions", path+"/"+n, "", n, true, "It may now %s %s.", what, n)
		}
	}
	for _, n := range before {
		if !slices.Contains(after, n) {
			c.add("permissions", path+"/"+n, n, "", false, "It may no longer %s %s.", what, n)
		}
	}
}

// secrets compares which secrets go where.
func (c *comparison) secrets(before, after *Permissions) {
	const path = "/permissions/secrets/"
	for _, s := range after.Secrets {
		is := hostsInWords(s.Hosts)
		was, there := before.secret(s.Name)
		if !there {
			c.add("permissions", path+s.Name, "", is, true, "It may now have the secret %s sent to %s.", s.Name, is)
			continue
		}
		more, fewer := !coveredHosts(was.Hosts, s.Hosts), !coveredHosts(s.Hosts, was.Hosts)
		if more || fewer {
			c.add("permissions", path+s.Name, hostsInWords(was.Hosts), is, more, "The secret %s may be sent to %s, before it was %s.", s.Name, is, hostsInWords(was.Hosts))
		}
	}
	for _, s := range before.Secrets {
		if _, there := after.secret(s.Name); !there {
			c.add("permissions", path+s.Name, hostsInWords(s.Hosts), "", false, "It may no longer have the secret %s sent anywhere.", s.Name)
		}
	}
}

// coveredHosts says whether each of hosts is one of list, or below it.
func coveredHosts(list, hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(h string) bool {
		return !slices.ContainsFunc(list, func(o string) bool { return hostCovers(o, h) })
	})
}

// hosts compares what requests are allowed, not how the entries are cut.
func (c *comparison) hosts(before, after []HostPermission) {
	const path = "/permissions/hosts/"
	for _, h := range after {
		if was := sameHost(before, h); !covered(before, h) {
			c.add("permissions", path+h.Host, inWords(was), hostInWords(h), true, "It may now send %s.", hostInWords(h))
		}
	}
	for _, h := range before {
		if is := sameHost(after, h); !covered(after, h) {
			text := fmt.Sprintf("It may no longer send all of these: %s.", hostInWords(h))
			if len(is) == 0 {
				text = fmt.Sprintf("It may no longer send requests to %s by an entry of its own.", h.Host)
			}
			c.add("permissions", path+h.Host, hostInWords(h), inWords(is), false, "%s", text)
		}
	}
}

func sameHost(list []HostPermission, h HostPermission) (same []HostPermission) {
	for _, o := range list {
		if strings.EqualFold(o.Host, h.Host) {
			same = append(same, o)
		}
	}
	return same
}

func inWords(list []HostPermission) string {
	var parts []string
	for _, h := range list {
		parts = append(parts, hostInWords(h))
	}
	return strings.Join(parts, "; ")
}

// covered says whether everything that h allows is allowed by one of the list, method by method and path by path. Where
// that takes several entries together, the answer is no: asking once too often is the safe side.
func covered(list []HostPermission, h HostPermission) bool {
	paths := h.Paths
	if len(paths) == 0 {
		paths = []string{""} // every path, which only an entry without paths covers
	}
	for _, method := range methodsOf(h) {
		for _, path := range paths {
			if !slices.ContainsFunc(list, func(o HostPermission) bool {
				return hostCovers(o.Host, h.Host) && slices.Contains(methodsOf(o), method) && pathCovers(o.Paths, path) && (o.Insecure || !h.Insecure)
			}) {
				return false
			}
		}
	}
	return true
}

func methodsOf(h HostPermission) []string {
	if len(h.Methods) == 0 {
		return []string{"GET", "HEAD"}
	}
	return h.Methods
}

// hostCovers compares as internal/egress matches: a wildcard covers names below it with the same port.
func hostCovers(wide, narrow string) bool {
	if strings.EqualFold(wide, narrow) {
		return true
	}
	suffix, wildcard := strings.CutPrefix(strings.ToLower(wide), "*")
	return wildcard && strings.HasSuffix(strings.ToLower(narrow), suffix)
}

func pathCovers(prefixes []string, path string) bool {
	return len(prefixes) == 0 || path != "" && slices.ContainsFunc(prefixes, func(p string) bool {
		return path == p || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/")
	})
}
