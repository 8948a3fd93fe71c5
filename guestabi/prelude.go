package guestabi

import (
	"embed"
	"io/fs"
	"strings"
	"sync"
)

//go:embed prelude/*.js
var preludeFiles embed.FS

// Prelude is the JavaScript that every template evaluates once: an expression
// whose value is a function of the Setup, which returns the Entries.
var Prelude = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString("(function (setup) { 'use strict';\n")
	// fs.Glob over an embedded folder with a constant pattern has no error to
	// give; the names come sorted, and their numbers give the order.
	names, _ := fs.Glob(preludeFiles, "prelude/*.js")
	for _, name := range names {
		src, err := preludeFiles.ReadFile(name)
		if err != nil {
			panic("guestabi: the prelude is compiled in: " + err.Error())
		}
		b.Write(src)
	}
	b.WriteString("})")
	return b.String()
})
