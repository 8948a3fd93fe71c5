//go:build wasip1

package main

import "github.com/cloister-wasm/cloister/sdk"

//go:wasmexport csv_query
func csvQuery() int32 { return sdk.Serve("csv_query") }

//go:wasmexport csv_profile
func csvProfile() int32 { return sdk.Serve("csv_profile") }

//go:wasmexport text_stats
func textStats() int32 { return sdk.Serve("text_stats") }
