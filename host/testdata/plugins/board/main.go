// Board is a plugin for the tests of the host: cards with a namespace, and tools
// that use what a host offers to plugins.
package main

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/extism/go-pdk"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/sdk"
)

type card struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	State  string `json:"state"`
}

var cards = []card{{1, "one", "open"}, {2, "two", "closed"}, {3, "three", "open"}}

type listInput struct {
	State string `json:"state,omitempty"`
}

type updateInput struct {
	Number int    `json:"number"`
	Patch  *patch `json:"patch,omitempty"`
}

type patch struct {
	Title string `json:"title,omitempty"`
	State string `json:"state,omitempty"`
}

func init() {
	sdk.Tool("list_cards", "List the cards of the board.", func(in listInput) ([]card, error) {
		found := []card{}
		for _, c := range cards {
			if in.State == "" || c.State == in.State {
				found = append(found, c)
			}
		}
		return found, nil
	})
	sdk.Tool("update_card", "Change a card of the board.", func(in updateInput) (card, error) {
		for i := range cards {
			if cards[i].Number != in.Number {
				continue
			}
			if in.Patch != nil && in.Patch.Title != "" {
				cards[i].Title = in.Patch.Title
			}
			if in.Patch != nil && in.Patch.State != "" {
				cards[i].State = in.Patch.State
			}
			return cards[i], nil
		}
		return card{}, sdk.Fail("no_such_card", "there is no card %d", in.Number)
	})
	sdk.Tool("ask", "Ask a person and give the answer.", func(in struct {
		Question string `json:"question"`
	}) (any, error) {
		var answer any
		err := sdk.Interrupt(map[string]string{"question": in.Question}, &answer)
		return answer, err
	})
	sdk.Tool("relay", "Call another tool.", func(in struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}) (any, error) {
		var out any
		err := sdk.CallTool(in.Tool, in.Input, &out)
		return out, err
	})
	sdk.Tool("remember", "Keep a text, or give the one that was kept.", func(in struct {
		Key   string `json:"key"`
		Value string `json:"value,omitempty"`
	}) (any, error) {
		if in.Value != "" {
			return nil, sdk.KVPut(in.Key, in.Value, time.Hour)
		}
		value, found, err := sdk.KVGet(in.Key)
		if !found || err != nil {
			return nil, err
		}
		return value, nil
	})
	sdk.Tool("spin", "Never end.", func(struct{}) (any, error) {
		for n := 0; ; n++ {
			if n < 0 {
				return n, nil
			}
		}
	})
	// The tests choose the scope by configuration.
	for _, id := range []string{"computed", "computed0", "computed1", "computed2", "computed3", "computed4", "computed5"} {
		sdk.Scope(id, func(sc guestabi.ScopeContext) (any, error) {
			text, ok := sc.Config["scope"]
			if !ok {
				return nil, sdk.Fail("no_scope", "config scope is not set")
			}
			for n := uint32(1); string(text) == `"spin"` && n != 0; n |= 1 {
				n = n*1664525 + 1013904223
			}
			return json.RawMessage(strings.ReplaceAll(string(text), "SESSION", sc.SessionID)), nil
		})
	}
	sdk.MapInput("board", func(path []string, args []json.RawMessage) (any, error) {
		if len(args) != 2 {
			return nil, sdk.Fail("bad_arguments", "%s takes a number and a title", strings.Join(path, "."))
		}
		return map[string]any{"number": args[0], "patch": map[string]any{"title": args[1]}}, nil
	})
}

// pass_on is relay as an export of its own, for a manifest without the others.
//
//go:wasmexport pass_on
func passOn() int32 {
	var in struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(pdk.Input(), &in); err != nil {
		pdk.SetError(err)
		return 1
	}
	var out json.RawMessage
	if err := sdk.CallTool(in.Tool, in.Input, &out); err != nil {
		failure := guestabi.PluginFailure{Message: err.Error()}
		var f *sdk.Failure
		if errors.As(err, &f) {
			failure.Name, failure.Code = f.Name, f.Code
		}
		text, err := json.Marshal(failure)
		if err != nil {
			text = []byte(err.Error())
		}
		pdk.SetErrorString(string(text))
		return 1
	}
	pdk.Output(out)
	return 0
}

func main() {}
