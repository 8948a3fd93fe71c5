//go:build embed_engine

package quickjs

import _ "embed"

//go:embed engine/node_modules/quickjs-wasi/quickjs.wasm
var embeddedEngine []byte
