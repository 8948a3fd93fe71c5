// Package setup makes a ready host of a configuration: its policies, the installed
// plugins that the trust policy and the lock file let in, development plugins, the MCP
// servers, and, if it is wanted, what serves the host to MCP clients. It is what the
// command line is made of, for programs that want to be configured as it is.
//
//	s, err := setup.New(ctx, &setup.Options{Host: host.Options{Tools: []host.RawTool{weather}}})
//	if err != nil {
//		return err // the step that failed: errors.As, *setup.Error
//	}
//	defer s.Close(ctx)
//	run, err := s.Host().NewRun(ctx, host.RunOptions{AgentID: "main", AgentRunID: "run-1", SessionID: "session-1"})
//
// Which file is read, where plugins and tokens are, and what a file may decide that
// nobody named, is in package settings. A program that wants none of that names a file
// and places of its own:
//
//	cfg, err := settings.Load(&settings.Options{File: "app.json5", Places: settings.Places{Data: dir, Cache: "off"}})
//	s, err := setup.New(ctx, &setup.Options{Settings: cfg})
//
// # Steps
//
// Settings, policies, lock file, installed plugins, plugins of folders, MCP servers, host,
// gateway: in this order, see [Step]. The first that fails ends it, and what was opened
// is closed. What does not end it: an installed plugin that is refused
// ([Plugins].Refused says at which step, and why), an MCP server that cannot be had
// (Host().MCPStatus, Servers().Status; it is tried again), a tool that is not as the lock
// file has it (Host().Drift). Whoever wants all or nothing looks at these three.
//
// What is installed is checked anew each time, whatever was found when it was installed.
// Plugins of folders have no signature: somebody must have said that they are wanted, in
// Options or in a file that somebody named ([UnsignedError]). Without a trust policy no
// installed plugin is loaded: that is an error, and Options.NoInstalled the way around.
//
// # The lock file
//
// Tools that differ from what somebody agreed to are left out. The file that applies is
// that of settings.Places.LockFile. Where there is none, nobody agreed to installed plugins
// and to the servers of the user's own list: they are left out as with an empty one. A
// program that installs by itself writes them down with [LockTools] and
// host.MCPServer.LockTools, as the command line does. Plugins of folders that the lock
// file does not know, and MCP servers that it is not about ([Lock].Holds), are taken as
// they are.
//
// What an MCP server changes while the host lives is compared at once, with
// Options.Follow: a tool that is not what was agreed to leaves the catalog, and
// Options.Logger is told of it.
//
// # Following changes
//
// With Options.Follow, [Setup.Watch] takes over what is installed, configured or locked
// while the host lives, and [Setup.Reload] does so at once. Runs that have started keep
// their tools; clients of the gateway are told, and get the others with their next call.
// Lists that MCP servers change are taken over by themselves. What is wrong leaves all as
// it was. Settings of tools, serve and approvals count at the start only.
//
// # Ownership and concurrency
//
// A Setup owns its host, gateway, connections and plugins; [Setup.Close] ends them in
// the order in which one uses the other. All methods may be called concurrently, and
// after Close. A host that follows changes has one change at a time: Reload waits for
// another.
//
// Steps on their own, for programs that look rather than run: [LoadPlugins],
// [NewManager], [LoadLock], [OpenStore].
package setup
