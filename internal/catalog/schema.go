package catalog

import "github.com/cloister-wasm/cloister/internal/declare"

// Bounds on what the schema of one tool adds to the index.
const (
	maxParamDepth = 3
	maxParamNames = 64
)

// schemaWords collects the names of the parameters, and their descriptions and the values they are limited to.
func schemaWords(schema declare.Value) (names, texts []string) {
	var walk func(v declare.Value, depth int)
	walk = func(v declare.Value, depth int) {
		if depth > maxParamDepth {
			return
		}
		for name, p := range v.Member("properties").Children() {
			if len(names) == maxParamNames {
				return
			}
			names = append(names, name)
			for word, c := range p.Children() {
				switch word {
				case "description", "title":
					texts = append(texts, c.Text())
				case "enum":
					for _, v := range c.Children() {
						if len(texts) < 4*maxParamNames {
							texts = append(texts, v.Text())
						}
					}
				case "items":
					walk(c, depth+1)
				}
			}
			walk(p, depth+1)
		}
	}
	walk(schema, 1)
	return names, texts
}
