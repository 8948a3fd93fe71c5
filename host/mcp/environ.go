package mcp

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// inherited are the variables that every server gets, if the host has them: what
// programs need to run at all, and none that is known to hold a secret.
var inherited = []string{"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "TERM"}

var inheritedWindows = []string{
	"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP", "USERNAME", "USERPROFILE", "HOMEDRIVE",
	"HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROCESSOR_ARCHITECTURE",
}

// sensitive are names of variables whose values are secrets, also where a configuration
// holds them as plain text.
var sensitive = regexp.MustCompile(`(?i)TOKEN|KEY|SECRET|PASS|AUTH|CRED`)

// environment is all that a server gets of the host's environment, what the
// configuration adds, and how deep it is, which neither of them decides.
func environment(ctx context.Context, cfg *Server, sec *secrets, depth int) ([]string, error) {
	names := inherited
	if runtime.GOOS == "windows" {
		names = inheritedWindows
	}
	values := map[string]string{}
	for _, kv := range os.Environ() {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		same := func(n string) bool {
			return n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)
		}
		// A shell function in a variable (Shellshock) is no value for anybody.
		if (slices.ContainsFunc(names, same) || strings.HasPrefix(name, "LC_")) && !strings.HasPrefix(value, "()") ||
			slices.ContainsFunc(cfg.InheritEnv, same) {
			values[name] = value
		}
	}
	for name, v := range cfg.Env {
		value, err := v.resolve(ctx)
		if err != nil {
			return nil, fmt.Errorf("env.%s: %w", name, err)
		}
		sec.add(value[len(v.Prefix):], v.Text == "" || sensitive.MatchString(name))
		values[name] = value
	}
	maps.DeleteFunc(values, func(name, _ string) bool { return strings.EqualFold(name, DepthVariable) })
	values[DepthVariable] = strconv.Itoa(depth)
	env := make([]string, 0, len(values))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}
