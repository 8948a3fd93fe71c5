package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host/mcp"
)

// flagsOfCommand refuses a command without -- that has flags: they would be taken as flags of this program, and -y of npx as
// the consent of a person. Another fault of the flags stays what it is.
func (a *app) flagsOfCommand(cmd *cobra.Command, fault error) error {
	at := slices.Index(a.args, cmd.Name()) + 1
	name, command := commandAt(cmd, a.args[at:])
	if command < 0 {
		return fault
	}
	name, command = name+at, command+at
	i := slices.IndexFunc(a.args[command:], func(arg string) bool { return len(arg) > 1 && arg[0] == '-' })
	if i < 0 || slices.Contains(a.args[:command], "--") {
		return fault
	}
	line := []string{cmd.CommandPath()}
	for k, arg := range a.args[at:command] {
		line = append(line, shownFlag(arg, k+at == name))
	}
	line = append(line, "--", quoteWord(a.args[command]))
	rest := slices.DeleteFunc(slices.Clone(a.args[command+1:]), func(arg string) bool { return arg == "--" })
	for _, arg := range shownArgs(&mcp.Server{Command: a.args[command], Args: rest}) {
		line = append(line, quoteWord(arg))
	}
	flag, _, _ := strings.Cut(a.args[command+i], "=")
	return usageError(fmt.Errorf("%s stands after the command %s, and would be a flag of cloister: a command and its flags stand after --", flag, a.args[command]),
		strings.Join(line, " "))
}

// shownFlag is a word of the command line that may hold a secret: of an assignment the name is shown.
func shownFlag(arg string, isName bool) string {
	if key, rest, ok := strings.Cut(arg, "="); ok && !isName {
		if name, _, nested := strings.Cut(rest, "="); nested && strings.HasPrefix(arg, "-") {
			return key + "=" + name + "=…"
		}
		if !strings.HasPrefix(arg, "-") {
			return key + "=…"
		}
	}
	return quoteWord(arg)
}

// commandAt finds the NAME and the command in what was typed after "mcp add", -1 if there is no command without --.
func commandAt(cmd *cobra.Command, args []string) (name, command int) {
	name = -1
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return name, -1
		case len(arg) > 1 && arg[0] == '-':
			if takesNext(cmd, arg) {
				i++
			}
		case name < 0:
			name = i
		default:
			return name, i
		}
	}
	return name, -1
}

// takesNext says whether the word after a flag is its value.
func takesNext(cmd *cobra.Command, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	flag := cmd.Flags().Lookup(strings.TrimLeft(arg, "-"))
	if !strings.HasPrefix(arg, "--") {
		flag = cmd.Flags().ShorthandLookup(arg[len(arg)-1:])
	}
	return flag != nil && flag.NoOptDefVal == ""
}
