package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// maxMessage bounds what is shown of an error's text, in bytes.
const maxMessage = 4 << 10

// failureText lays a failed result out for standard error:
//
//	join.ts:3:14: ReferenceError: fetch is not defined
//	  const r = await fetch(url)
//	                  ^
//	reason: guest_error (code internal_error)
//	hint: cells have no network; find a tool with tools.search("…")
func failureText(s *stream, src *source, res *host.Result, limits host.CodeModeConfig) string {
	var b strings.Builder
	line, place := "", escapeLine(src.name)
	found := false
	if res.Line > 0 {
		if line, found = sourceLine(src.text, res.Line); found {
			place += fmt.Sprintf(":%d", res.Line)
			if res.Column > 0 {
				place += fmt.Sprintf(":%d", characterColumn(line, res.Column))
			}
		}
	}
	fmt.Fprintf(&b, "%s %s\n", s.paint(styleBold, place+":"), s.paint(styleRed, message(res.Error)))
	if found {
		const indent = "  "
		at := res.Column - 1
		if at < 0 { // the column is not known: no caret
			at = 0
		}
		text, caret := excerpt(line, at, s.width()-len(indent)-1)
		fmt.Fprintf(&b, "%s%s\n", indent, text)
		if res.Column > 0 {
			fmt.Fprintf(&b, "%s%s\n", indent, strings.TrimRight(caret, "^")+s.paint(styleCyan, "^"))
		}
	}
	fmt.Fprintf(&b, "%s %s\n", s.paint(styleDim, "reason:"), reasonText(res))
	hint := hintFor(res, limits)
	if hint != "" && !strings.HasSuffix(res.Error, hint) {
		fmt.Fprintf(&b, "%s %s\n", s.paint(styleDim, "hint:"), hint)
	}
	return b.String()
}

// characterColumn turns the engine's columns, which count bytes, into those of
// editors.
func characterColumn(line string, column int) int {
	return utf8.RuneCountInString(plaintext.Head(line, min(column-1, len(line)))) + 1
}

// message is an error's text, cut and escaped. Further lines are indented, so
// that the guest cannot write a line that looks like one of ours.
func message(text string) string {
	if text == "" {
		return "failed"
	}
	short := plaintext.Head(text, maxMessage)
	shown := strings.ReplaceAll(escapeText(short), "\n", "\n    ")
	if len(short) < len(text) {
		shown += fmt.Sprintf("… (%d bytes in all; --json has them)", len(text))
	}
	return shown
}

func reasonText(res *host.Result) string {
	switch {
	case res.Reason == "":
		return string(res.Code)
	case string(res.Reason) == string(res.Code):
		return string(res.Reason)
	}
	return fmt.Sprintf("%s (code %s)", res.Reason, res.Code)
}

// hintFor says how to mend a failure, in one line.
func hintFor(res *host.Result, limits host.CodeModeConfig) string {
	switch res.Reason {
	case guestabi.ReasonRuntimeUnavailable:
		return "run: cloister engine install"
	case guestabi.ReasonTimeout:
		return fmt.Sprintf("look for a loop that does not end; --timeout allows more than %s, up to 60s", showMilliseconds(limits.TimeoutMs))
	case guestabi.ReasonMemoryLimitExceeded:
		return fmt.Sprintf("keep less at once, or allow more than %s with --memory, up to 1GiB", size(limits.MemoryLimitBytes))
	case guestabi.ReasonOutputLimitExceeded:
		return fmt.Sprintf("return and print less, or allow more than %s with --max-output, up to 10MiB", size(limits.MaxOutputBytes))
	case guestabi.ReasonSnapshotLimitExceeded:
		return "keep less in variables while calls are open, or raise tools.codeMode.maxSnapshotBytes in the configuration"
	case guestabi.ReasonSnapshotExpired:
		return "raise tools.codeMode.snapshotTtlSeconds in the configuration"
	case guestabi.ReasonTooManyPendingToolCalls:
		return fmt.Sprintf("await calls in smaller groups, or allow more than %d at once with --max-pending, up to 128", limits.MaxPendingToolCalls)
	case guestabi.ReasonModuleAccessDenied:
		return "a cell has no modules; tools.search(query) finds tools, tools.call(id, input) calls them"
	case guestabi.ReasonUnsupportedLanguage:
		return "tools.codeMode.languages in the configuration lists the languages"
	case guestabi.ReasonNestedToolFailed:
		if strings.HasPrefix(res.Error, "TypeError: result of ") {
			return "a fault of the tool: it promised another form; cloister catalog describe ID shows which"
		}
		if strings.HasPrefix(res.Error, "PermissionError: ") && strings.Contains(res.Error, "needs approval") {
			return "run the cell from a file in a terminal: there you are asked, and only there"
		}
		return "catch the error in the cell, or mend the input; cloister catalog describe ID shows what a tool takes"
	case guestabi.ReasonInternalError, guestabi.ReasonSnapshotRestoreFailed:
		return "this is a fault of Cloister or of the machine; --trace FILE records what happened"
	case guestabi.ReasonGuestError:
		if strings.Contains(res.Error, ": there is no tools.") || strings.Contains(res.Error, ": there is no MCP.") {
			return "cloister catalog list, with the same flags, shows what there is"
		}
		return missingHint(res.Error)
	}
	return ""
}

// missingNames are globals that people expect and a cell lacks.
var missingNames = map[string]string{
	"fetch":          "a cell has no network; find a tool with tools.search(query)",
	"XMLHttpRequest": "a cell has no network; find a tool with tools.search(query)",
	"process":        "a cell has no process and no environment; a tool can supply what it needs",
	"Deno":           "a cell has no process and no environment; a tool can supply what it needs",
	"Bun":            "a cell has no process and no environment; a tool can supply what it needs",
	"Buffer":         "a cell has no Buffer; use Uint8Array",
	"setTimeout":     "a cell has no timers; await the tool cloister:core:sleep",
	"setInterval":    "a cell has no timers; await the tool cloister:core:sleep",
	"module":         "a cell has no modules; return the value",
	"exports":        "a cell has no modules; return the value",
	"window":         "a cell has no page; it returns a value and calls tools",
	"document":       "a cell has no page; it returns a value and calls tools",
}

// missingHint recognises "ReferenceError: NAME is not defined".
func missingHint(text string) string {
	name, ok := strings.CutPrefix(text, "ReferenceError: ")
	if !ok {
		return ""
	}
	name, ok = strings.CutSuffix(name, " is not defined")
	if !ok {
		return ""
	}
	return missingNames[name]
}
