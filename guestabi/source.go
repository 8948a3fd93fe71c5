//go:build !wasip1

package guestabi

import _ "embed"

// PluginSource is the Go file with the messages of plugins, which needs nothing else of this package: for the commands
// that put a copy of it into a new plugin's folder. It is not there in a plugin.
//
//go:embed plugin.go
var PluginSource string
