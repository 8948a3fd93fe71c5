package plugins

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// SecretPermission is a secret that the host puts into headers of the plugin's requests, and where it goes.
//
// A manifest may write the bare name in its place where permissions.hosts names exactly one host, and that one without a
// wildcard: then there is one place that it can go to, and reading it so gives the plugin nothing that it did not say.
// With several hosts nobody but the author knows which of them the secret is for, so that a bare name is a mistake.
type SecretPermission struct {
	// Name is what the operator sets it under.
	Name string `json:"name"`
	// Hosts are where it may be sent, each as in [HostPermission.Host] and covered by an entry of permissions.hosts. A
	// manifest that was parsed has one at least.
	Hosts []string `json:"hosts"`
}

// UnmarshalJSON takes a bare name, too; [ParseManifest] adds its host.
func (s *SecretPermission) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), `"`) {
		*s = SecretPermission{}
		return json.Unmarshal(data, &s.Name)
	}
	type members SecretPermission // without this method
	return json.Unmarshal(data, (*members)(s))
}

// bindSecrets gives bare names the one host that there is, which [checker.secrets] has made sure of.
func (p *Permissions) bindSecrets() {
	for i := range p.Secrets {
		if s := &p.Secrets[i]; len(s.Hosts) == 0 && len(p.Hosts) > 0 {
			s.Hosts = []string{p.Hosts[0].Host}
		}
	}
}

// secret finds a secret by name.
func (p *Permissions) secret(name string) (*SecretPermission, bool) {
	i := slices.IndexFunc(p.Secrets, func(s SecretPermission) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return &p.Secrets[i], true
}

func (p *Permissions) secretNames() []string {
	names := make([]string, len(p.Secrets))
	for i, s := range p.Secrets {
		names[i] = s.Name
	}
	return names
}

// secrets checks that each has a name of its own, and hosts that requests may go to.
func (c *checker) secrets(list, permitted []any) {
	if len(list) > 0 && len(permitted) == 0 {
		c.add("/permissions/secrets", "add the hosts whose requests they are for, or remove them", "secrets go into HTTP requests, and no host is allowed")
		return
	}
	hosts := make([]string, 0, len(permitted))
	for _, h := range permitted {
		h, _ := h.(map[string]any)
		host, _ := h["host"].(string)
		hosts = append(hosts, host)
	}
	seen := map[string]int{}
	for i, v := range list {
		path := "/permissions/secrets/" + strconv.Itoa(i)
		name, bare := v.(string)
		if s, ok := v.(map[string]any); ok {
			name, _ = s["name"].(string)
			c.secretHosts(path+"/hosts", stringsOf(s["hosts"]), hosts)
		}
		if first, dup := seen[name]; dup && name != "" {
			c.add(path, "list all of its hosts in one entry", "%q is also secret %d", plaintext.Line(name, 80), first)
		}
		seen[name] = i
		if bare && !oneHost(hosts) {
			c.add(path, fmt.Sprintf(`write {"name": %q, "hosts": [ … ]} with the hosts that it is for`, plaintext.Line(name, 80)),
				"does not say where it may be sent, and permissions.hosts has more than one host")
		}
	}
}

// oneHost says whether a list names one host, maybe with an entry for each of several paths.
func oneHost(hosts []string) bool {
	for _, h := range hosts {
		if !strings.EqualFold(h, hosts[0]) || strings.HasPrefix(h, "*") {
			return false
		}
	}
	return len(hosts) > 0
}

func (c *checker) secretHosts(path string, hosts, permitted []string) {
	for i, host := range hosts {
		if host != "" && !slices.ContainsFunc(permitted, func(p string) bool { return hostCovers(p, host) }) {
			c.add(path+"/"+strconv.Itoa(i), "add it there, or take it out here", "%q is not covered by permissions.hosts, so that nothing is sent to it", plaintext.Line(host, 80))
		}
	}
}
