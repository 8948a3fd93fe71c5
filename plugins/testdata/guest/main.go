//go:build wasip1

// A plugin that the tests of plugins call, mostly through cloister_call. What it answers is up to the input.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	pdk "github.com/extism/go-pdk"
)

type request struct {
	ABI   int             `json:"abi"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

var (
	calls    int
	prepared string // what the exports of the contract answer; "" is the request itself
)

func answerPrepared() int32 {
	text := prepared
	if text == "" {
		text = `{"abi":1,"value":` + string(pdk.Input()) + `}`
	}
	pdk.OutputString(text)
	return 0
}

//go:wasmexport cloister_scope
func cloisterScope() int32 { return answerPrepared() }

//go:wasmexport cloister_map_input
func cloisterMapInput() int32 { return answerPrepared() }

//go:wasmexport cloister_describe
func cloisterDescribe() int32 { return answerPrepared() }

//go:wasmexport cloister_call
func cloisterCall() int32 {
	calls++
	var req request
	if err := json.Unmarshal(pdk.Input(), &req); err != nil {
		pdk.SetError(err)
		return 1
	}
	var in struct {
		Text string
		N    int
		Code int32
	}
	if err := json.Unmarshal(req.Input, &in); err != nil {
		pdk.SetError(err)
		return 1
	}
	switch req.Tool {
	case "echo": // the request itself, so that tests see it
		pdk.OutputString(`{"abi":1,"value":` + string(pdk.Input()) + `}`)
	case "raw": // whatever the test wants to be answered
		pdk.OutputString(in.Text)
	case "prepare":
		prepared = in.Text
		pdk.OutputString(`{"abi":1,"value":null}`)
	case "count":
		pdk.OutputString(fmt.Sprintf(`{"abi":1,"value":%d}`, calls))
	case "refuse":
		pdk.SetErrorString(in.Text)
		return in.Code
	case "loop":
		for {
			calls++
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "panic":
		panic(in.Text)
	case "eat":
		var kept [][]byte
		for {
			kept = append(kept, []byte(strings.Repeat("x", 1<<20)))
			calls = len(kept)
		}
	case "big":
		pdk.OutputString(`{"abi":1,"value":"` + strings.Repeat("x", in.N) + `"}`)
	case "log":
		fmt.Println(in.Text)
		fmt.Fprintln(os.Stderr, in.Text)
		pdk.OutputString(`{"abi":1,"value":null}`)
	}
	return 0
}

//go:wasmexport bare
func bare() int32 {
	var in struct {
		Text *string
		Fail string
	}
	if err := json.Unmarshal(pdk.Input(), &in); err != nil {
		pdk.SetError(err)
		return 1
	}
	if in.Fail != "" {
		pdk.SetErrorString(in.Fail)
		return 1
	}
	if in.Text == nil {
		pdk.Output(pdk.Input())
	} else {
		pdk.OutputString(*in.Text)
	}
	return 0
}

func main() {}
