//go:build embed_engine

package engine

import (
	_ "embed"

	"github.com/cloister-wasm/cloister/quickjs"
)

//go:embed node_modules/quickjs-wasi/quickjs.wasm
var wasm []byte

func init() { quickjs.EmbedEngine(wasm) }
