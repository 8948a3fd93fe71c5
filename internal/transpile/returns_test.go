package transpile

import (
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"
)

// oracle transforms a source that is no module, where esbuild takes top-level
// returns as they are. false means that it is a module, or wrong, or that the two
// outputs may differ for a reason besides returns.
func oracle(source string) (string, bool) {
	for _, word := range []string{
		"await", "import", "export", "module", // modules
		"this",       // is undefined in a module
		"sourceMapp", // is disarmed
		"/*", "//",   // esbuild sets comments in a return otherwise
		"#!", "SuppressedError",
	} {
		if strings.Contains(source, word) {
			return "", false
		}
	}
	result := api.Transform(source, api.TransformOptions{
		Loader:        api.LoaderTS,
		Sourcefile:    "oracle.ts",
		Platform:      api.PlatformNeutral,
		Target:        api.ES2024,
		Supported:     supported,
		TsconfigRaw:   `{"compilerOptions":{"verbatimModuleSyntax":true,"alwaysStrict":true}}`,
		LegalComments: api.LegalCommentsNone,
		LogLevel:      api.LogLevelSilent,
	})
	code := string(result.Code)
	return helperEdits(code).apply(code), len(result.Errors) == 0
}

// FuzzReturns compares what becomes of a source with esbuild's own treatment of
// top-level returns. It runs in this process, hence the short sources.
func FuzzReturns(f *testing.F) {
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 300 || (Input{Source: source}).check(300) != nil {
			return
		}
		want, ok := oracle(source)
		if !ok {
			return
		}
		out, err := transformSource(source)
		if err != nil {
			// Modules are stricter in some ways, and never in this one.
			if syntax, is := err.(*SyntaxError); !is || strings.Contains(syntax.Message, keywordReturn) {
				t.Errorf("%q: %v, but esbuild makes %q of it", source, err, want)
			}
			return
		}
		if diff := cmp.Diff(want, out.Code); diff != "" {
			t.Errorf("%q (-want +got)\n%s", source, diff)
		}
	})
}

// TestReturnsLikeESBuild runs the corpus through the same comparison.
func TestReturnsLikeESBuild(t *testing.T) {
	compared := 0
	for _, c := range readCorpus(t) {
		// Without its awaits a case that has some is another one, as good.
		source := strings.ReplaceAll(c.source, "await", "")
		want, ok := oracle(source)
		if !ok {
			continue
		}
		out, err := transformSource(source)
		if err != nil {
			continue // a module is stricter
		}
		compared++
		if diff := cmp.Diff(want, out.Code); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
	if compared < 50 {
		t.Errorf("only %d cases were compared", compared)
	}
}
