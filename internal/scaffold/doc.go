// Package scaffold makes the folders of new plugins and builds plugins from their sources.
//
//	files, err := scaffold.New("hello", "acme.hello", scaffold.Go)
//	wasm, err := scaffold.Build(ctx, "hello", os.Stderr)
//
// What [New] writes needs nothing but the language's tools: the SDK is copied into the folder, so that a plugin builds on a
// machine that cannot fetch this module. Its cells pass as they are.
//
// [Build] tells the language by what lies in the folder: asconfig.json beside package.json is AssemblyScript, *.go is Go,
// *.c is C. The same sources and tools give the same bytes, wherever the folder is. A build runs the language's tools on
// the author's sources, with the rights of the caller: build what you would run.
package scaffold
