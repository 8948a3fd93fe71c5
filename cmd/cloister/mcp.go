package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

const mcpLong = `MCP servers give cells tools: mcp:SERVER:TOOL in the catalog,
MCP.SERVER.TOOL(...) in a cell. They are programs that Cloister starts, or
addresses that it connects to.

A server is in the configuration file, under mcp.servers, if --config or
CLOISTER_CONFIG names one, else in your own list, mcp.json in the data folder.
All commands read both; of two servers of one name that of the configuration
counts. A configuration file that merely lies in the working folder can have no
servers.

What a server says of its tools is its own word. "mcp add" shows it, and writes
down in the lock file what you agreed to: a tool that becomes another leaves the
catalog until "cloister lock accept" takes it. Of a server of your own list
whose tools are not in a lock file nothing is used.`

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Add and look at MCP servers, whose tools cells can call",
		Long:  mcpLong,
		Example: `  cloister mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  cloister mcp add github --url https://api.githubcopilot.com/mcp/ \
      --header Authorization=file:github.header
  cloister mcp import --from claude
  cloister mcp test files`,
		Args: noArguments, RunE: group,
	}
	cmd.AddCommand(a.mcpAdd(), a.mcpImport(), a.mcpList(), a.mcpTest(), a.mcpSwitch(false), a.mcpSwitch(true), a.mcpRemove())
	return cmd
}

// configFlag registers --config for commands about MCP servers.
func configFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", "", "configuration `FILE` (default: $CLOISTER_CONFIG, else cloister.json5 in the working folder)")
	mustComplete(cmd.MarkFlagFilename("config", "json5", "json"))
}

// serverJSON is a server as the list shows it. Values are never in it.
type serverJSON struct {
	Name     string            `json:"name"`
	State    string            `json:"state"`
	Command  []string          `json:"command,omitempty"`
	URL      string            `json:"url,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Approval string            `json:"approval,omitempty"`
	File     string            `json:"file"`
	// Plain are secrets in plain text, as it seems.
	Plain []string `json:"plainSecrets,omitempty"`
	// Ended is why the server's connection was ended lately.
	Ended *mcp.Ended `json:"ended,omitempty"`
}

func serverReport(s *settings.Server) serverJSON {
	r := serverJSON{Name: s.Name, State: stateEnabled, Approval: string(s.Approval), File: s.File, Plain: plainSecrets(&s.Server)}
	if s.Disabled {
		r.State = stateDisabled
	}
	if s.Command != "" {
		r.Command = append([]string{s.Command}, shownArgs(&s.Server)...)
	} else {
		r.URL = shownURL(s.URL)
	}
	sources := func(values map[string]mcp.Value) map[string]string {
		out := map[string]string{}
		for name, v := range values {
			out[name] = v.String()
		}
		return out
	}
	r.Env, r.Headers = sources(s.Env), sources(s.Headers)
	return r
}

func (a *app) mcpList() *cobra.Command {
	file, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers",
		Long: `Lists the MCP servers of the configuration file and of your own list, without
connecting to them, and which of them Cloister has cut off within a day because
they flooded it with messages. "cloister catalog list" shows which can be
reached, and their tools.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.listServers(file, asJSON) },
	}
	configFlag(cmd, &file)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) listServers(file string, asJSON bool) error {
	cfg, err := loadConfig(file)
	if err != nil {
		return err
	}
	list := []serverJSON{}
	for i := range cfg.Servers {
		list = append(list, a.withEnded(serverReport(&cfg.Servers[i]), cfg, &cfg.Servers[i]))
	}
	slices.SortFunc(list, func(x, y serverJSON) int { return strings.Compare(x.Name, y.Name) })
	if asJSON {
		return a.printJSON(list)
	}
	for _, note := range shadowedNotes(cfg) {
		a.complain("note: "+note, "")
	}
	return a.write(serversText(a.stdout, list))
}

func (a *app) mcpSwitch(disabled bool) *cobra.Command {
	file, word, short := "", "enable", "Use an MCP server again"
	if disabled {
		word, short = "disable", "Keep an MCP server, but do not use it"
	}
	cmd := &cobra.Command{
		Use:   word + " NAME",
		Short: short,
		Args:  exactlyOne("mcp "+word, "NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			_, s, err := loadServer(file, args[0])
			if err != nil {
				return err
			}
			if s.Disabled == disabled {
				return a.write(fmt.Sprintf("%s is %sd already\n", s.Name, word))
			}
			if err := s.ServerFile().SetDisabled(s.Name, disabled); err != nil {
				return serverFileFault(err)
			}
			return a.write(fmt.Sprintf("%sd %s in %s\n", word, s.Name, a.stdout.text(s.File)))
		},
		ValidArgsFunction: oneServer(&file),
	}
	configFlag(cmd, &file)
	return cmd
}

// oneServer completes the one argument of a command.
func oneServer(file *string) cobra.CompletionFunc {
	complete := completeServers(file)
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}

func (a *app) mcpRemove() *cobra.Command {
	file, lockFlag := "", ""
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an MCP server, and what was agreed to of its tools",
		Args:  exactlyOne("mcp remove", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return operatorFault(cmd.Context(), a.removeServer(file, lockFlag, args[0]))
		},
		ValidArgsFunction: oneServer(&file),
	}
	configFlag(cmd, &file)
	mcpLockFlag(cmd, &lockFlag)
	return cmd
}

// mcpLockFlag registers --lock for commands that change servers.
func mcpLockFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "lock", "", "lock `FILE` of a configuration's server (default: $CLOISTER_LOCK, else cloister.lock beside the configuration, else that of the data folder)")
	mustComplete(cmd.MarkFlagFilename("lock", "lock"))
}

func (a *app) removeServer(file, lockFlag, name string) error {
	cfg, s, err := loadServer(file, name)
	if err != nil {
		return err
	}
	target := s.ServerFile()
	if err := target.Remove(name); err != nil {
		return serverFileFault(err)
	}
	path, err := changeServerLock(target, lockFlag, false, func(l *lock.File) { dropServer(l, name) })
	if err != nil {
		return fmt.Errorf("%s was removed from %s, and its tools stay in the lock file: %w", name, s.File, err)
	}
	text := fmt.Sprintf("removed %s from %s", name, a.stdout.text(s.File))
	if path != "" {
		text += " and its tools from " + a.stdout.text(path)
	}
	for _, other := range cfg.Shadowed {
		if other.Name == name {
			text += "\nthe one of " + a.stdout.text(other.File) + " is used now"
		}
	}
	return a.write(text + "\n")
}
