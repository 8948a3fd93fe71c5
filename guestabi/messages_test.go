package guestabi

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestMessages holds the JSON of every message: a change here is a change of the
// contract and needs a new Version.
func TestMessages(t *testing.T) {
	got, err := json.MarshalIndent(map[string]any{
		"version": Version,
		"entries": map[string]int{"start": EntryStart, "settle": EntrySettle, "drain": EntryDrain, "finish": EntryFinish, "explain": EntryExplain, "count": EntryCount},
		"letters": string([]byte{MsgCall, MsgUnknown, MsgMember, MsgSearch, MsgDescribe, MsgYield, MsgText, MsgJSON, MsgConsole, MsgOverflow}),
		"tags":    []byte{TagUndefined, TagNull, TagFalse, TagTrue, TagInt32, TagFloat64, TagString, TagArray, TagObject},
		"setup": Setup{
			Tools: json.RawMessage(`[{"id":"cloister:core:echo","name":"echo","description":"d","source":"cloister","sourceName":"core"}]`),
			Names: map[string]string{"echo": "cloister:core:echo"}, Files: map[string]string{"a.d.ts": "text"},
			Namespaces: []GuestNamespace{{Name: "Issues", Scope: json.RawMessage(`["o",{"list":["c",0],"repository":["v",{"owner":"a"}]}]`)}}, MaxOutput: 65536, MaxOpen: 1024,
		},
		"thrown":  []Thrown{{Name: "TypeError", Message: "m", Code: "c", Stack: "s", Error: true}, {Message: "only this"}},
		"reasons": reasonTable(),
		"wrapped": Wrap("return 1"),
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/messages.json"
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
		t.Errorf("the contract has changed (-want +got):\n%s", diff)
	}
}

func reasonTable() [][2]string {
	var out [][2]string
	for _, r := range Reasons {
		out = append(out, [2]string{string(r), string(r.Code())})
	}
	return out
}

func TestFunctionTextIsInsideWrap(t *testing.T) {
	for _, code := range []string{"", "return 1", "// comment", "`", "\n\n"} {
		if got := "(" + FunctionText(code) + ")"; got != Wrap(code) {
			t.Errorf("%q: %q is not %q", code, got, Wrap(code))
		}
	}
}

// TestPreludeIsOneExpression compiles the prelude with node, where there is one:
// a template would fail at run time otherwise.
func TestPreludeIsOneExpression(t *testing.T) {
	src := Prelude()
	if !strings.HasPrefix(src, "(function (setup) {") || !strings.HasSuffix(src, "})") {
		t.Fatalf("the prelude begins with %.40q and ends with %.10q", src, src[len(src)-10:])
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not on the PATH: install Node.js 20 or later, which the tests use")
	}
	cmd := exec.Command(node, "--check", "-")
	cmd.Stdin = strings.NewReader(src)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestUnknownReasonIsInternal(t *testing.T) {
	if got := Reason("new").Code(); got != CodeInternalError {
		t.Errorf("got %s", got)
	}
}
