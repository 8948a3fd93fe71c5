//go:build wasip1

// Command csvquery is the plugin examples.csv: tables and texts for cells.
//
// Each tool is an export that takes its input as JSON and writes its result as JSON, which is all that a plugin has to do.
package main

import (
	"encoding/json"
	"errors"

	"github.com/cloister-wasm/cloister/examples/plugins/csvquery/csvtools"
	pdk "github.com/extism/go-pdk"
)

//go:wasmexport csv_query
func csvQuery() int32 { return run(csvtools.Query) }

//go:wasmexport csv_profile
func csvProfile() int32 { return run(csvtools.Profile) }

//go:wasmexport text_stats
func textStats() int32 { return run(csvtools.Stats) }

// run reads a tool's input, calls it, and writes its result or its failure.
func run[In, Out any](tool func(In) (Out, error)) int32 {
	var in In
	if err := pdk.InputJSON(&in); err != nil {
		return failed("invalid_input", err)
	}
	out, err := tool(in)
	if err != nil {
		code := "tool_failed"
		var f *csvtools.Failure
		if errors.As(err, &f) {
			code = f.Code
		}
		return failed(code, err)
	}
	if err := pdk.OutputJSON(out); err != nil {
		return failed("invalid_output", err)
	}
	return 0
}

// failed reports a failure with a code, which the cell that called sees as error.code.
func failed(code string, err error) int32 {
	text, jsonErr := json.Marshal(map[string]string{"name": "CsvError", "code": code, "message": err.Error()})
	if jsonErr != nil {
		text = []byte(err.Error())
	}
	pdk.SetErrorString(string(text))
	return 1
}

func main() {}
