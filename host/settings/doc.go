// Package settings reads the configuration of Cloister, cloister.json5, and checks it:
// which tools there are and what they may do, plugins and MCP servers, policies, what a
// server of MCP offers.
//
//	s, err := settings.Load(&settings.Options{File: "cloister.json5"})
//	if err != nil {
//		return err // one line for each fault: cloister.json5:3:7: tools.alow: unknown key; did you mean allow?
//	}
//
// What comes out is plain data. Package host/setup makes a host of it; a program that
// wants only a part takes that part: s.CodeMode is what host.Options takes, s.Servers
// what mcp.New takes, s.PolicySet what decides about calls.
//
// # The file
//
// JSON5: JSON with comments, trailing commas and keys without quotes. All is optional.
//
//	{
//	  tools: {
//	    codeMode: { timeoutMs: 20000 },   // + or true; package host describes all settings
//	    allow: ["core", "acme.csv"],      // rules over tool ids, names and owners; absent: all
//	    deny: ["*:*:delete_*"],           // wins over allow
//	    sandbox: { tools: {               // for sandboxed runs
//	      allow: ["cloister:core:*"],     // * absent: this, the program's own tools
//	      alsoAllow: [],                  // *
//	      deny: [],
//	    } },
//	  },
//	  policy: { files: ["policies/base.cedar"] },  // Cedar, see host/policy; absent: what the rules let pass
//	  mcp: { servers: {                   // * see host/mcp.Server
//	    files: { command: "mcp-files", args: ["notes"], env: { ROOT: "notes" } },
//	    tickets: { url: "https://mcp.example/mcp", headers: { Authorization: { env: "TICKETS_TOKEN", prefix: "Bearer " } } },
//	  } },
//	  serve: {
//	    http: "127.0.0.1:7420",           // * absent: standard input and output
//	    tokens: { ann: { file: "ann.token" } }, approvalTokens: { desk: { env: "DESK_TOKEN" } },  // *
//	    allowedOrigins: [], allowedHosts: [], instructions: "",  // *
//	    limits: { maxSessions: 256 },     // + see host/gateway.Limits
//	  },
//	  approvals: { ttlSeconds: 86400, elicit: true },  // +
//	  plugins: {
//	    dirs: ["plugins"], allowUnsignedUnsafe: true,  // * development plugins, which nobody has signed
//	    installed: true,                  // false leaves installed plugins out
//	    trust: "trust.json",              // * the trust policy
//	    lock: "cloister.lock",            // what was agreed to; one beside this file is found by itself
//	    config: { "acme.hello": { greeting: "Hi" } },  // *
//	    secrets: { "acme.hello": { token: { env: "HELLO_TOKEN" } } },  // *
//	    http: { allowPrivate: ["127.0.0.0/8"], timeoutMs: 5000, maxResponseBytes: 1048576 },  // + allowPrivate: *
//	  },
//	}
//
// Relative paths count from the folder of the file. All faults are reported at once,
// each with its line and column: see [Error].
//
// # Trust
//
// A file that a program or its user names is trusted as the program is: it starts
// commands and opens connections. One that nobody named, which merely lies in the
// working folder ([Settings.Found]), decides nothing about trust, since whoever wrote
// that folder is unknown: what is marked with * is a fault there, and so is what is
// marked with + unless it asks for less. So it raises no limit above its default,
// configures no plugin and makes approvals stricter only. Policies must lie in its own
// folder and lower no approval, and of its lock file only that counts to which the
// user's own agrees. Name a file, with [Options].File or the variable CLOISTER_CONFIG,
// and none is looked for.
//
// Secrets are not written into the file but named, as a variable of the environment or
// a file, and read when they are needed ([Secret]). No error quotes one.
//
// # Files that decide
//
// The configuration, policies, the trust policy, lock files and the user's own list are
// read only if nobody else can have written them: a regular file of this user or root,
// that neither its group nor others can write to, in a folder of which the same is true
// (or that has the sticky bit). Files of secrets and tokens must not be readable by others
// either. What is refused is a *[FileError], which names the file and the command that
// mends it. A pipe or a device is refused at once. On Windows only the kind and the size
// of a file are looked at: access lists are not read.
//
// # The user's own list
//
// MCP servers that belong to a user rather than to a project are in a list of the data
// folder ([Places].ServerList), {"servers": {...}} in the same form, as strict JSON. Of
// two servers of one name that of the configuration is used. [ServerFile] changes either.
//
// # Concurrency
//
// Functions may be called concurrently. A [Settings] is plain data that everybody may
// read, and nobody may change once it was handed on.
package settings
