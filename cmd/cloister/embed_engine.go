//go:build embed_engine

package main

import _ "github.com/cloister-wasm/cloister/quickjs/engine" // the engine is part of the program
