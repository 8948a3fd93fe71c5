package transpile

import (
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// What esbuild says. NB: the scheme below rests on the first text and on its
// one report for each return; a test holds both, for the day esbuild is raised.
const (
	textTopLevelReturn = "Top-level return cannot be used inside an ECMAScript module"
	textParamDecorator = "Parameter decorators only work when experimental decorators are enabled"
	textPanic          = "panic: "
)

// dialect is how a source is read.
type dialect struct {
	// jsx reads TSX. It only serves to tell what is wrong with a source.
	jsx bool
	// legacy reads decorators as TypeScript's experimentalDecorators does.
	legacy bool
}

// runESBuild reads source as a TypeScript module in the file `name.mts`: the
// suffix makes it a module, hence strict, whatever it holds.
//
// The format stays unset: esbuild then keeps import, export, require and
// top-level await as they are. verbatimModuleSyntax keeps value imports that
// nothing uses, which TypeScript would drop without a word.
func runESBuild(source, name string, d dialect) api.TransformResult {
	loader := api.LoaderTS
	if d.jsx {
		loader = api.LoaderTSX
	}
	tsconfig := `{"compilerOptions":{"verbatimModuleSyntax":true,"alwaysStrict":true}}`
	if d.legacy {
		tsconfig = `{"compilerOptions":{"verbatimModuleSyntax":true,"alwaysStrict":true,"experimentalDecorators":true}}`
	}
	return api.Transform(withoutSourceMapComment(source), api.TransformOptions{
		Loader:         loader,
		Sourcefile:     name + ".mts",
		Platform:       api.PlatformNeutral,
		Target:         api.ES2024,
		Supported:      supported,
		TsconfigRaw:    tsconfig,
		LegalComments:  api.LegalCommentsNone,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		LogLevel:       api.LogLevelSilent,
	})
}

// supported corrects the target for QuickJS-NG: it has the v flag of regular
// expressions, and lacks decorators and accessor fields. `using` is lowered so
// that the output runs in engines without it. Module syntax that the engine
// refuses must reach it unchanged instead of being rewritten or reported in
// esbuild's words.
var supported = map[string]bool{
	"decorators":          false,
	"using":               false,
	"regexp-set-notation": true,
	"import-attributes":   true,
	"import-defer":        true,
	"import-source":       true,
}

// withoutSourceMapComment disarms `//# sourceMappingURL=data:...` in a source:
// esbuild would follow it and map lines to where the cell wants them. The last
// such comment counts, so a last one that leads nowhere ends the matter.
func withoutSourceMapComment(source string) string {
	if !strings.Contains(source, "sourceMappingURL=") {
		return source
	}
	return source + "\n//# sourceMappingURL=none"
}

// probeModuleSyntax parses code, the output of runESBuild, as what it will be:
// the body of an async function. It returns the place in code of syntax that
// only a module may have, and what it is; "" when there is none. ok is false
// when the code is no function body for another reason.
//
// The return behind the function is an error only in a module, and import.meta
// is the only thing left that makes a module of the text.
func probeModuleSyntax(code string) (syntax string, place Position, ok bool) {
	const head = "async()=>{\n"
	result := api.Transform(head+code+"\n};return", api.TransformOptions{
		Loader:     api.LoaderJS,
		Sourcefile: "probe.js",
		Target:     api.ESNext,
		LogLevel:   api.LogLevelSilent,
	})
	if len(result.Errors) == 0 {
		return "", Position{}, true
	}
	first := result.Errors[0]
	if first.Location == nil {
		return "", Position{}, false
	}
	if first.Text == textTopLevelReturn {
		for _, note := range first.Notes {
			if note.Location != nil {
				return syntaxMeta, Position{Line: note.Location.Line - 1, Column: note.Location.Column + 1}, true
			}
		}
		return "", Position{}, false
	}
	syntax = moduleKeyword(first.Location.LineText)
	return syntax, Position{Line: first.Location.Line - 1, Column: 1}, syntax != ""
}

// What ModuleAccessError.Syntax can be.
const (
	syntaxImport = "import"
	syntaxExport = "export"
	syntaxMeta   = "import.meta"
)

// moduleKeyword returns the keyword that a line of esbuild's output starts with
// if it starts an import or export statement. Those stand at the top level, and
// esbuild indents nothing there and puts a space behind the keyword.
func moduleKeyword(line string) string {
	for _, keyword := range []string{syntaxImport, syntaxExport} {
		if strings.HasPrefix(line, keyword+" ") {
			return keyword
		}
	}
	return ""
}

// mayHaveModuleSyntax reports whether a probe is worth its time: it is false
// for nearly all code, and true as well for a template text with such a line.
func mayHaveModuleSyntax(code string) bool {
	return moduleKeyword(code) != "" || strings.Contains(code, "\nimport ") ||
		strings.Contains(code, "\nexport ") || strings.Contains(code, syntaxMeta)
}
