package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand writes the manual pages that packages install. It is hidden: people have
// --help, which says the same.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.Mkdir(args[0], 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return usageError(err, "")
			}
			return writeManual(cmd.Root(), args[0])
		},
	}
}

// writeManual writes a page for a command and for each below it that help shows.
func writeManual(cmd *cobra.Command, dir string) error {
	name := filepath.Join(dir, manName(cmd)+".1")
	if err := os.WriteFile(name, []byte(manPage(cmd)), 0o644); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	for _, c := range shownCommands(cmd) {
		if err := writeManual(c, dir); err != nil {
			return err
		}
	}
	return nil
}

func shownCommands(cmd *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			out = append(out, c)
		}
	}
	return out
}

// manName is the page's name: cloister-plugin-build.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the page of a command in roff, the language of man. The same program
// gives the same page on every day.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH \"%s\" 1 \"\" \"cloister %s\" \"Cloister\"\n", roff(strings.ToUpper(name)), roff(readVersion().Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roff(name), roff(cmd.Short))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, ".B %s\n\\fICOMMAND\\fR\n", roff(cmd.CommandPath()))
	} else {
		fmt.Fprintf(&b, ".B %s\n", roff(cmd.UseLine()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	if text := strings.TrimSpace(cmd.Long); text != "" {
		roffText(&b, text)
	} else {
		fmt.Fprintf(&b, "%s.\n", roff(cmd.Short))
	}
	if below := shownCommands(cmd); len(below) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range below {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(c.Name()), roff(c.Short))
		}
	}
	roffFlags(&b, cmd)
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roffLines(strings.TrimRight(cmd.Example, "\n")))
	}
	roffSeeAlso(&b, cmd)
	return b.String()
}

// roffText lays out a help text. Its lists and tables are laid out already and stay as
// they are; paragraphs are filled to the width of the reader's terminal.
func roffText(b *strings.Builder, text string) {
	for _, part := range strings.Split(text, "\n\n") {
		if strings.HasPrefix(part, " ") || strings.Contains(part, "\n  ") {
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roffLines(part))
			continue
		}
		fmt.Fprintf(b, ".PP\n%s\n", roffLines(part))
	}
}

func roffFlags(b *strings.Builder, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	first := true
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if first {
			b.WriteString(".SH OPTIONS\n")
			first = false
		}
		value, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fR, ", roff(f.Shorthand))
		}
		fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", roff(f.Name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
		}
		fmt.Fprintf(b, "\n%s\n", roffLines(usage))
	})
}

func roffSeeAlso(b *strings.Builder, cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, manName(cmd.Parent()))
	}
	for _, c := range shownCommands(cmd) {
		pages = append(pages, manName(c))
	}
	if len(pages) == 0 {
		return
	}
	for i, p := range pages {
		pages[i] = "\\fB" + roff(p) + "\\fR(1)"
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(pages, ",\n"))
}

var roffEscaper = strings.NewReplacer(`\`, `\(rs`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// roff escapes a text on one line.
// Beyond ASCII not every reader knows the encoding of a page.
func roff(text string) string {
	var b strings.Builder
	for _, r := range roffEscaper.Replace(text) {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, `\[u%04X]`, r)
	}
	return b.String()
}

// roffLines escapes lines: one that begins with a full stop would be a request.
func roffLines(text string) string {
	lines := strings.Split(roff(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
