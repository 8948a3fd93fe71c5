package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
	"strings"

	"github.com/cloister-wasm/cloister/quickjs"
)

// The types are those of CycloneDX 1.6, as far as they are used.
type cycloneDX struct {
	BOMFormat    string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     bomMetadata  `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type bomMetadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Hashes     []bomHash  `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type bomHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// sbom is the bill of materials of a program: the modules that the Go linker recorded in
// it, the standard library and the engine. It is made of the program itself, not of what
// go.mod would allow.
func (o *options) sbom(info *debug.BuildInfo, program []byte) ([]byte, error) {
	sum := sha256.Sum256(program)
	main := goComponent("application", info.Main.Path, o.version, "")
	main.Name = "cloister"
	main.Hashes = []bomHash{{"SHA-256", hex.EncodeToString(sum[:])}}
	engine := component{
		Type: "library", Name: quickjs.EngineName, Version: quickjs.EngineVersion,
		PURL: "pkg:npm/" + quickjs.EngineName + "@" + quickjs.EngineVersion,
		// Of its WebAssembly module, which is all of the package that is in the program.
		Hashes: []bomHash{{"SHA-256", quickjs.EngineSHA256}},
	}
	engine.Ref = engine.PURL
	b := cycloneDX{
		BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   bomMetadata{o.time.Format("2006-01-02T15:04:05Z"), main},
		Components: []component{engine, goComponent("library", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")},
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		b.Components = append(b.Components, goComponent("library", d.Path, d.Version, d.Sum))
	}
	all := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		all.DependsOn = append(all.DependsOn, c.Ref)
		b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref})
	}
	b.Dependencies = append([]dependency{all}, b.Dependencies...)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(b)
	return out.Bytes(), err
}

func goComponent(kind, path, version, sum string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
	if sum != "" {
		// The checksum database's own digest, over all files of the module.
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}
