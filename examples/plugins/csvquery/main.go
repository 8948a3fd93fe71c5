// Command csvquery is the plugin examples.csv: tables and texts for cells.
//
// Its tools take tables, which may be large, so each has an export of its own: the host hands over the bare input.
package main

import (
	"github.com/cloister-wasm/cloister/examples/plugins/csvquery/csvtools"
	"github.com/cloister-wasm/cloister/sdk"
)

// Descriptions and schemas are in the manifest: they say more than Go types can.
func init() {
	sdk.Tool("csv_query", "", csvtools.Query)
	sdk.Tool("csv_profile", "", csvtools.Profile)
	sdk.Tool("text_stats", "", csvtools.Stats)
}

func main() {}
