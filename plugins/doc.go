// Package plugins loads plugins and calls their tools.
//
// A plugin is a WebAssembly module that any Extism PDK can build, and a manifest, cloister.plugin.json, that says what it
// is, which tools and namespaces it has and what it asks for. The JSON Schema of the manifest is
// schema/cloister.plugin.v1.schema.json ([ManifestSchema]); an author gets all mistakes at once, each with its place and a
// way to mend it ([ManifestError]). An author's own manifest may leave to the code what the code knows; a build completes it
// ([ParseSourceManifest], [SourceManifest.Complete]).
//
// # Loading
//
// [New] makes a plugin of bytes that somebody verified, and of the [Origin] that the verification gave. What was verified
// is what runs: nothing is read again. [LoadDir] loads the folder of a plugin under development: cloister.plugin.json and
// plugin.wasm. Nothing in a folder is signed, so it is refused with [ErrUnsigned] unless [LoadOptions.AllowUnsignedUnsafe] is
// set, and the plugin says so ([Plugin.Unsigned]). [LoadDirs] loads all plugin folders in one folder; one that fails takes no
// other with it.
//
//	p, err := plugins.LoadDir(ctx, "examples/plugins/csvquery", &plugins.LoadOptions{AllowUnsignedUnsafe: true})
//	if err != nil { … }
//	defer p.Close()
//	run, err := p.NewInstance(ctx, nil) // one for each run: nothing of one run is seen by another
//	if err != nil { … }
//	defer run.Close()
//	value, err := run.Call(ctx, "text_stats", json.RawMessage(`{"text":"one two"}`))
//
// Loading reads and checks: bounds, manifest, imports and exports of the module. Machine code is made by the first
// instance, or by [Plugin.Compile], since it takes about a second for a Go plugin; [LoadOptions.CacheDir] keeps it between
// processes and [LoadOptions.Progress] tells of it.
//
// Names have one owner. [Conflicts] says which of several plugins must stay out because another one has the id, a tool's
// name or a global; a plugin under development never takes the place of a signed one. [Compare] says what an update changes,
// what of it widens what the plugin may do, and what needs somebody's consent: that, and whatever a model reads or decisions
// rest on. A plugin that is replaced goes on for the runs that hold it
// ([Plugin.Hold], [Plugin.Retire]).
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
// A plugin gets memory and time, no more of those than [Limits] allows, and what its manifest's permissions ask for, as
// functions that it imports from the module "cloister:host". A module that imports a function which its manifest does not
// grant is refused when it is loaded. [Permissions.InWords] says for people what a plugin asks for.
//
//	log, progress, now, random  always
//	interrupt                   always; pauses the run until somebody resolves it
//	config_get                  permissions.config: the keys that it may read, of [Services.Config]
//	kv_get, kv_put, kv_delete   permissions.kv: entries of its own, apart for each agent and session, in [Services.KV] or the host's memory
//	http                        permissions.hosts: hosts, methods, path prefixes; [HTTPOptions] for the rest
//	call_tool                   permissions.tools: other tools of the run, through [Env] and the run's policy
//
// permissions.secrets are names that http may refer to, each with the hosts that it is for: the host puts the value of
// [Services.Secrets] into a header. It goes to those hosts alone, over https, or over http to a server on this machine where the
// host's entry says insecure; a redirect to another origin does not get it. The plugin is not given it, and what the server
// answers is searched for it; of such an answer no part can be asked for. A server that writes it in another way can give it to
// the plugin all the same: consent to a secret is consent to the hosts that are named with it.
//
// No request leaves for an address that is not public unless the operator allows it, whatever the name resolves to, on the
// first hop as on a redirect.
//
// Requests and answers are the structs of package guestabi, in JSON. A request that is malformed, has an unknown member or
// is of a newer version, or asks for something that is not granted, gets an error that the plugin can handle: a message that
// says how to mend it, and one of the codes below ([CodeNotGranted] and its siblings). Errors of [Env] and [Services] that are
// no [*ToolError] stay on the host: their texts may name files and machines.
//
// Plugins may call each other's tools, but not in circles: a call that would have to wait for the call that it is part of is
// refused with [ErrBusy].
//
// # Namespaces
//
// A namespace is a global object of cells whose functions are tools of its plugin. Its scope is data and call markers, either
// in the manifest or computed for each run by the plugin ([Instance.Scope]); arguments become a tool's input by the marker or
// by the plugin ([Instance.MapInput]). The rules are in internal/namespace and hold for both.
package plugins
