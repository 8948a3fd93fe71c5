package view

import (
	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
)

// directSurface is what a model sees without code mode: every tool, by the name that its id alone makes.
func directSurface(entries []*catalog.Entry) []api.ToolDefinition {
	out := make([]api.ToolDefinition, 0, len(entries))
	for _, e := range entries {
		out = append(out, api.ToolDefinition{
			Name: catalog.FlatName(e.ID), Description: e.Description, Parameters: e.Parameters, ID: e.ID, Label: e.Label, Returns: e.Returns,
			Annotations: e.Ref.(Ref).Hints(),
		})
	}
	return out
}
