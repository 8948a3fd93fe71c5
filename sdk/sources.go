//go:build !wasip1

package sdk

import "embed"

// Sources are the files of this SDK, for the commands that put a copy of it into a new plugin's folder: the Go files of
// this package, without tests, and what lies in assemblyscript and c. It is not there in a plugin.
//
//go:embed answer.go case.go doc.go failure.go fields.go host.go host_other.go host_wasip1.go schema.go scope.go tool.go
//go:embed assemblyscript/assembly/*.ts c/cloister.h
var Sources embed.FS
