// Package plugins loads plugins and calls their tools.
//
// A plugin is a WebAssembly module that any Extism PDK can build, and a manifest, cloister.plugin.json, that says what it
// is, which tools it has and what it asks for. The JSON Schema of the manifest is schema/cloister.plugin.v1.schema.json
// ([ManifestSchema]); an author gets all mistakes at once, each with its place and a way to mend it ([ManifestError]).
//
// # Loading
//
// [LoadDir] loads the folder of a plugin under development: cloister.plugin.json and plugin.wasm. Nothing in a folder is
// signed, so it is refused with [ErrUnsigned] unless [LoadOptions.AllowUnsignedUnsafe] is set, and the plugin says so
// ([Plugin.Unsigned]). [LoadDirs] loads all plugin folders in one folder; one that fails takes no other with it.
//
//	p, err := plugins.LoadDir(ctx, "examples/plugins/csvquery", &plugins.LoadOptions{AllowUnsignedUnsafe: true})
//	if err != nil { … }
//	defer p.Close()
//	run, err := p.NewInstance(ctx) // one for each run: nothing of one run is seen by another
//	if err != nil { … }
//	defer run.Close()
//	value, err := run.Call(ctx, "text_stats", json.RawMessage(`{"text":"one two"}`))
//
// Loading reads and checks: bounds, manifest, imports and exports of the module. Machine code is made by the first
// instance, or by [Plugin.Compile], since it takes about a second for a Go plugin; [LoadOptions.CacheDir] keeps it between
// processes and [LoadOptions.Progress] tells of it.
//
// # Two planes of errors
//
// A tool that fails says so in data: [*ToolError] has a name, a message and a code, and is meant for the cell that called.
// Everything else is a broken plugin or a host's decision, a [*PluginError], and is meant for the host: which plugin, which
// tool, and one of this package's sentinels. After a plugin broke or was stopped its instance is finished
// ([ErrFinished]); make another.
//
// Inputs and results are JSON under the strict rules of this module: no duplicate keys, valid UTF-8, bounded depth. This
// package checks form and bounds. Whether an input matches the tool's parameters is for the one dispatcher that all calls
// go through, not for each way to a tool.
//
// # Permissions
//
// A plugin gets nothing but memory and time, and no more of those than [Limits] allows. The manifest's other permissions
// are reserved: asking for one is an error, so that nobody believes that it was granted.
package plugins
