package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/json5"
)

// configName is the file that is read from the working folder.
const configName = "cloister.json5"

// config is what a configuration file says. The zero value is that of no file.
type config struct {
	// file is the name as it was given, empty if there is no file.
	file string
	// codeMode is tools.codeMode. turnedOff says that the file turns it off in so
	// many words; what it does not say, `run` implies.
	codeMode  host.CodeModeConfig
	turnedOff bool
	// allow and deny are tools.allow and tools.deny.
	allow, deny []string
	// sandbox is tools.sandbox.tools.
	sandbox host.SandboxPolicy
	// dirs is plugins.dirs, resolved against the file's folder.
	dirs []string
	// allowUnsigned is plugins.allowUnsignedUnsafe, of a file that the user named.
	allowUnsigned bool
	// plugins is what else the file says about plugins.
	plugins pluginConfig
	// mcp, serve and approvals are the sections of these names.
	mcp       mcpConfig
	serve     serveConfig
	approvals approvalsConfig
	// policy is the section of this name.
	policy cedarConfig
	// found says that nobody named the file: it lay in the working folder.
	found bool
}

// configPath finds the configuration file: that of --config, that of
// CLOISTER_CONFIG, or the one in the working folder. Empty means none.
func configPath(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if env := os.Getenv("CLOISTER_CONFIG"); env != "" {
		return env, nil
	}
	_, err := os.Lstat(configName)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return configName, err
}

// loadConfig reads the configuration file that applies, and the user's own list of
// MCP servers.
func loadConfig(flag string) (*config, error) {
	c, err := loadConfigFile(flag)
	if err != nil {
		return nil, err
	}
	return c, c.mcp.addUserList()
}

// loadConfigFile reads the configuration file that applies.
func loadConfigFile(flag string) (*config, error) {
	name, err := configPath(flag)
	if err != nil {
		return nil, usageError(fmt.Errorf("configuration: %w", err), "")
	}
	if name == "" {
		return parseConfig("", nil)
	}
	data, err := readConfig(name)
	if err != nil {
		hint := "--config names the file"
		if flag == "" && os.Getenv("CLOISTER_CONFIG") != "" {
			hint = "the variable CLOISTER_CONFIG names the file"
		}
		return nil, usageError(fmt.Errorf("configuration: %w", err), hint)
	}
	c, err := parseConfig(name, data)
	var ce *configError
	if errors.As(err, &ce) && len(ce.faults) > 1 {
		err = fmt.Errorf("the configuration has %d faults\n%w", len(ce.faults), err)
	}
	if err != nil {
		return nil, usageError(err, "")
	}
	if c.found = flag == "" && os.Getenv("CLOISTER_CONFIG") == ""; c.found {
		// Whoever wrote a folder that the user happens to stand in does not decide
		// that code without a signature is trusted, nor anything else about trust.
		c.allowUnsigned = false
		if err := c.plugins.refuseFound(); err != nil {
			if n := len(c.plugins.trusting); n > 1 {
				err = fmt.Errorf("the configuration has %d faults\n%w", n, err)
			}
			return nil, usageError(err, "name the file with --config or CLOISTER_CONFIG if you trust whoever wrote it")
		}
	}
	return c, nil
}

// readConfig reads at most one byte more than the parser takes.
func readConfig(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, not a file", name)
	}
	return io.ReadAll(io.LimitReader(f, json5.MaxBytes+1))
}

// parseConfig checks a whole file and reports all its faults. Without data it
// gives the defaults.
func parseConfig(name string, data []byte) (*config, error) {
	c := &config{file: name}
	if data == nil {
		c.codeMode = host.CodeModeConfig{Enabled: true}.Clamped()
		return c, nil
	}
	root, err := json5.Parse(name, data)
	if err != nil {
		return nil, err
	}
	r := &configReader{root: root}
	r.object(root, "", c.root(r))
	if len(r.faults) > 0 {
		return nil, r.err()
	}
	if !c.turnedOff {
		c.codeMode.Enabled = true
	}
	c.codeMode = c.codeMode.Clamped()
	for i, dir := range c.dirs {
		c.dirs[i] = besideFile(name, dir)
	}
	c.plugins.resolve(name)
	c.serve.resolve(name)
	c.policy.resolve(name)
	return c, nil
}

// root is the shape of the file.
func (c *config) root(r *configReader) keys {
	return keys{
		"tools": r.section(keys{
			"codeMode": c.readCodeMode(r),
			"allow":    r.rules(&c.allow),
			"deny":     r.rules(&c.deny),
			"sandbox": r.section(keys{
				"tools": r.section(keys{
					"allow":     r.rules(&c.sandbox.Allow),
					"alsoAllow": r.rules(&c.sandbox.AlsoAllow),
					"deny":      r.rules(&c.sandbox.Deny),
				}),
			}),
		}),
		"plugins":   r.section(c.readPlugins(r)),
		"mcp":       r.section(c.readMCP(r)),
		"serve":     r.section(c.readServe(r)),
		"approvals": r.section(c.readApprovals(r)),
		"policy":    r.section(c.readPolicy(r)),
	}
}

// besideFile resolves a path against the folder of the file that it stands in.
func besideFile(file, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// readCodeMode hands the value to the library, whose faults come back with keys.
func (c *config) readCodeMode(r *configReader) keyReader {
	return func(n *json5.Node, path string) {
		text, err := n.JSON()
		if err != nil {
			r.notJSON(n, path, err)
			return
		}
		if c.codeMode, err = host.ParseCodeMode(text); err != nil {
			r.hostFaults(n, path, err)
			return
		}
		enabled := n
		if n.Kind == json5.Object {
			enabled = n.Lookup("enabled")
		}
		c.turnedOff = enabled != nil && enabled.Kind == json5.Bool && !enabled.Bool
	}
}
