package plugins

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// InWords says what the permissions mean, for people who decide: one plain sentence each, the weighty ones first. There is
// always one.
func (p Permissions) InWords() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, h := range p.Hosts {
		say("It may send %s.", hostInWords(h))
	}
	for _, s := range p.Secrets {
		whose := "whoever runs that host"
		if len(s.Hosts) != 1 || strings.HasPrefix(s.Hosts[0], "*") {
			whose = "whoever runs one of them"
		}
		say("It may have the secret %s sent to %s, in headers of its requests; %s gets it and may pass it on, to the plugin too.", s.Name, hostsInWords(s.Hosts), whose)
	}
	if len(p.Tools) > 0 {
		say("It may call %s by itself, under this host's policy.", countable("the tool", "the tools", p.Tools))
	}
	if len(p.Config) > 0 {
		say("It may read %s.", countable("the configuration key", "the configuration keys", p.Config))
	}
	if p.KV {
		say("It may keep entries in a store of its own, apart for each agent and session.")
	}
	if len(out) == 0 {
		say("It asks for no access to anything outside of its own memory.")
	}
	if p.MemoryBytes > 0 {
		say("An instance may have %s of memory.", size(p.MemoryBytes))
	}
	if p.TimeoutMs > 0 {
		say("A call may take %s.", milliseconds(p.TimeoutMs))
	}
	return out
}

// hostInWords describes an entry, to stand behind "send".
func hostInWords(h HostPermission) string {
	where := hostsInWords([]string{h.Host})
	how := "over https only"
	if h.Insecure {
		how = "over https, or http, which anybody on the way can read and change"
	}
	paths := ""
	if len(h.Paths) > 0 {
		paths = ", to paths that start with " + join(h.Paths, "or") + ","
	}
	return fmt.Sprintf("%s requests to %s%s %s", join(methodsOf(h), "and"), where, paths, how)
}

// hostsInWords spells wildcards out.
func hostsInWords(hosts []string) string {
	words := make([]string, len(hosts))
	for i, h := range hosts {
		words[i] = h
		if below, ok := strings.CutPrefix(h, "*."); ok {
			words[i] = "every host below " + below
		}
	}
	return join(words, "and")
}

func countable(one, many string, names []string) string {
	if len(names) == 1 {
		return one + " " + names[0]
	}
	return many + " " + join(names, "and")
}

func join(names []string, last string) string {
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
	}
	return strings.Join(names, "")
}

func size(bytes int64) string {
	switch {
	case bytes == 0:
		return ""
	case bytes%(1<<20) == 0:
		return strconv.FormatInt(bytes>>20, 10) + " MiB"
	default:
		return strconv.FormatInt(bytes, 10) + " bytes"
	}
}

func milliseconds(ms int) string {
	if ms == 0 {
		return ""
	}
	return (time.Duration(ms) * time.Millisecond).String()
}
