package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/plugins"
)

// The corpus of first programs: testdata/firsttries has an archive for each class of mistakes that models make when they
// write for a sandbox that they do not know, and in it one file for each program. A file begins with its header:
//
//	// hint: what the error, or the message of a completed result, has to contain; alternatives are separated by " | "
//	// line: the line that the result has to name, where it matters
//	// value: in right.txtar, the program's value
//
// A wrong program that completes without a message has lost what it was for. None may, and of the others nine in
// ten have to be told the remedy.

// firstTriesHost has tools, a server and a namespace as models meet them.
func firstTriesHost(t *testing.T) *host.Run {
	type weatherIn struct {
		City string `json:"city"`
	}
	type weather struct {
		City       string   `json:"city"`
		TempC      int      `json:"tempC"`
		Conditions []string `json:"conditions"`
	}
	type orderIn struct {
		ID int `json:"id"`
	}
	type order struct {
		ID       int     `json:"id"`
		Customer string  `json:"customer"`
		Total    float64 `json:"total"`
		Status   string  `json:"status"`
		Note     *string `json:"note"`
	}
	orders := []order{{1, "ada", 10.5, "open", nil}, {2, "bob", 20, "closed", nil}}
	type mail struct {
		To      string `json:"to"`
		Subject string `json:"subject"`
		Body    string `json:"body,omitempty"`
	}
	type fileIn struct {
		Path string `json:"path"`
	}
	listOrders := host.RawTool{
		Name: "list_orders", Description: "List orders.", Parameters: json.RawMessage(`{"type":"object","properties":{"status":{"type":"string"}}}`),
		Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			var want struct{ Status string }
			if err := json.Unmarshal(in, &want); err != nil {
				return nil, err
			}
			found := slices.DeleteFunc(slices.Clone(orders), func(o order) bool { return want.Status != "" && o.Status != want.Status })
			return json.Marshal(map[string]any{"orders": found, "total": len(found)})
		},
	}
	tools := []host.RawTool{
		host.Tool("get_weather", "The weather of a city.", func(_ context.Context, in weatherIn) (weather, error) {
			switch in.City {
			case "Oslo":
				return weather{in.City, 4, []string{"rain"}}, nil
			case "Bergen":
				return weather{in.City, 7, []string{"rain", "wind"}}, nil
			}
			return weather{}, &host.ToolError{Message: "city not found: " + in.City, Code: "not_found"}
		}),
		listOrders,
		host.Tool("get_order", "One order.", func(_ context.Context, in orderIn) (order, error) {
			for _, o := range orders {
				if o.ID == in.ID {
					return o, nil
				}
			}
			return order{}, &host.ToolError{Message: fmt.Sprintf("no order %d", in.ID), Code: "not_found"}
		}),
		host.Tool("send_mail", "Send a mail.", func(_ context.Context, in mail) (bool, error) { return true, nil }),
		host.Tool("read_file", "Read a file as text.", func(_ context.Context, in fileIn) (string, error) {
			return map[string]string{"data.json": `{"rows":[1,2]}`, "data.csv": "name,n\nada,1\nbob,2"}[in.Path], nil
		}),
		hosttest.Static("list_names", `["ada","bob"]`), hosttest.Static("big_id", `{"id":9007199254740993}`),
	}
	server := &memoryServer{result: host.MCPResult{Content: []host.MCPContent{text(`{"issues":[{"title":"first"}]}`)}}}
	board := loadBoard(t, boardManifest("test.board", boardNamespace(nil)), plugins.LoadOptions{})
	return setup(t, host.Options{Tools: tools, MCP: []host.MCPServer{trackerServer(server)}, Plugins: []*plugins.Plugin{board}})
}

type firstTry struct {
	name, code, hint, value string
	line                    int
}

var tryHeader = regexp.MustCompile(`^// (hint|line|value): (.*)\n`)

func parseFirstTry(t *testing.T, f txtar.File) firstTry {
	x := firstTry{name: f.Name}
	source := string(f.Data)
	for {
		m := tryHeader.FindStringSubmatch(source)
		if m == nil {
			break
		}
		switch m[1] {
		case "hint":
			x.hint = m[2]
		case "value":
			x.value = m[2]
		default:
			if _, err := fmt.Sscan(m[2], &x.line); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
		}
		source = source[len(m[0]):]
	}
	x.code = strings.TrimSuffix(source, "\n")
	if (x.hint == "") == (x.value == "") {
		t.Fatalf("%s: the header has to have a hint or a value", f.Name)
	}
	return x
}

// right says what is wrong with the result of a program that is right.
func (x firstTry) right(t *testing.T, res *host.Result) string {
	if res.Status != guestabi.StatusCompleted || !sameJSON(t, string(res.Value), x.value) {
		return fmt.Sprintf("%s %s %s, want %s", res.Status, res.Value, res.Error, x.value)
	}
	if res.Message != "" {
		return "it is told: " + res.Message
	}
	return ""
}

// led says whether a wrong program is told what to do, and what it is told.
func (x firstTry) led(res *host.Result) (told string, led bool) {
	told = res.Error + res.Message
	for hint := range strings.SplitSeq(x.hint, " | ") {
		led = led || strings.Contains(told, hint)
	}
	if led && x.line != 0 && res.Line != x.line {
		return fmt.Sprintf("line %d: %s", res.Line, told), false
	}
	return told, led
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return diffValue(x, y) == ""
}

func TestFirstTries(t *testing.T) {
	r := firstTriesHost(t)
	files, err := filepath.Glob("testdata/firsttries/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	wrong, led, right := 0, 0, 0
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		class, classLed := strings.TrimSuffix(filepath.Base(file), ".txtar"), 0
		for _, f := range ar.Files {
			x := parseFirstTry(t, f)
			res := exec(t, r, x.code)
			if x.value != "" {
				if fault := x.right(t, res); fault != "" {
					t.Errorf("%s: %s\n%s", x.name, fault, x.code)
				}
				right++
				continue
			}
			wrong++
			switch told, ok := x.led(res); {
			case ok:
				led++
				classLed++
			case res.Status == guestabi.StatusCompleted && res.Message == "":
				t.Errorf("%s: lost: completed with %s\n%s", x.name, res.Value, x.code)
			default:
				t.Logf("%s: not led to %q, but told %q\n%s", x.name, x.hint, told, x.code)
			}
		}
		t.Logf("%s: %d of %d led", class, classLed, len(ar.Files))
	}
	t.Logf("%d of %d wrong programs are led to the remedy; %d right ones", led, wrong, right)
	if wrong < 200 || right < 100 {
		t.Errorf("the corpus has %d wrong and %d right programs, want 200 and 100", wrong, right)
	}
	if led*10 < wrong*9 {
		t.Errorf("%d of %d wrong programs are led to the remedy, want nine in ten", led, wrong)
	}
}
