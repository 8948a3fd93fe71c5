package extism

import (
	"encoding/binary"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Sections of a component.
const (
	componentImports = 10
	componentExports = 11
)

// maxWorldNames bounds what an error says of a component's world.
const maxWorldNames = 4

// describeComponent says which world a component asks for, as far as its imports and exports tell: tools write each in
// a section of its own, and the first of each section is easy to read. What cannot be read is left out.
func describeComponent(wasm []byte) string {
	imports, exports := worldNames(wasm[8:])
	var b strings.Builder
	for _, part := range []struct {
		verb  string
		names []string
	}{{"it imports ", imports}, {"it exports ", exports}} {
		if len(part.names) == 0 {
			continue
		}
		more := ""
		if len(part.names) > maxWorldNames {
			part.names, more = part.names[:maxWorldNames], " and more"
		}
		b.WriteString(part.verb + strings.Join(part.names, ", ") + more + "; ")
	}
	return b.String()
}

func worldNames(rest []byte) (imports, exports []string) {
	for len(rest) > 1 && len(imports)+len(exports) < 64 {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:min(len(rest), 6)])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			break
		}
		body := rest[1+n:][:size]
		rest = rest[1+n:][size:]
		if name := firstName(body); name != "" {
			switch id {
			case componentImports:
				imports = append(imports, name)
			case componentExports:
				exports = append(exports, name)
			}
		}
	}
	return imports, exports
}

// firstName reads the name of the first entry of a section: a count, a form (0 or 1), a length, the name.
func firstName(body []byte) string {
	_, n := binary.Uvarint(body[:min(len(body), 5)])
	if n <= 0 || len(body) < n+2 || body[n] > 1 {
		return ""
	}
	body = body[n+1:]
	length, n := binary.Uvarint(body[:min(len(body), 5)])
	if n <= 0 || length > uint64(len(body)-n) {
		return ""
	}
	return plaintext.Short(string(body[n:][:min(length, maxName+1)]), maxName)
}
