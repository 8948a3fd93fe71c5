// Command cloister runs code that a language model wrote in a sealed JavaScript
// guest, with the tools that its configuration gives.
//
//	cloister run FILE|-              run a cell
//	cloister catalog list            show the tools that a cell can call
//	cloister catalog search QUERY
//	cloister catalog describe ID
//	cloister trace show FILE|-       draw what a run did, and when
//	cloister policy test|explain|schema                 try policies on tool calls
//	cloister mcp add|import|list|test|enable|disable|remove   MCP servers, whose tools cells can call
//	cloister serve                   give all tools to an MCP client, as exec and wait
//	cloister connect|disconnect CLIENT                  write that into a client's configuration, or take it out
//	cloister approvals [list|watch|approve ID|refuse ID]      answer calls that wait
//	cloister plugin new|test|build|keygen|sign|push     make plugins
//	cloister plugin pull|verify|inspect|diff            look at plugins
//	cloister plugin install|update|list|enable|disable|remove|rollback|generations|gc|repair
//	cloister trust [list]|add|remove|revoke|check       whose plugins may be loaded
//	cloister trust threshold|min-version                how many signers, which versions
//	cloister lock [status]|accept                       what was agreed to
//	cloister login|logout REGISTRY
//	cloister engine install|verify|path|embed
//	cloister version
//	cloister completion bash|zsh|fish|powershell
//
// # Configuration
//
// The file is that of --config, else that of the variable CLOISTER_CONFIG, else
// cloister.json5 in the working folder, if there is one:
//
//	{
//	  tools: {
//	    codeMode: { timeoutMs: 20000 },   // or true; package host describes all settings
//	    allow: ["core", "acme.csv"],  // rules over tool ids, names and owners; absent: all
//	    deny: ["*:*:delete_*"],       // wins over allow
//	    sandbox: { tools: { allow: ["cloister:core:*"], alsoAllow: [], deny: [] } },  // for --sandboxed; absent: core tools
//	  },
//	  policy: {
//	    files: ["policies/base.cedar"],  // Cedar; package host/policy describes it. Absent: what the rules let pass is allowed
//	  },
//	  mcp: { servers: {               // only in a file that --config names
//	    files: { command: "mcp-files", args: ["notes"], env: { ROOT: "notes" }, inheritEnv: ["LANG"], dir: "." },
//	    github: {
//	      url: "https://mcp.example/mcp",
//	      headers: { Authorization: { env: "GITHUB_TOKEN", prefix: "Bearer " } },  // or {file: "PATH"}, {command: ["PROGRAM"]}, a text
//	      oauth: { scopes: ["repo"] },  // instead of a header: grant, clientId, clientSecret, clientMetadataUrl, redirect
//	      allowPrivate: false,
//	      approval: "ask",              // never, ask, always; absent: as the server says of each tool
//	      allow: ["*_issue"], deny: ["delete_*"], idempotent: ["get_*"],
//	      disabled: false,
//	      limits: { connectTimeoutMs: 30000, callTimeoutMs: 600000, maxTools: 1000, maxConcurrent: 16, maxMessageBytes: 16777216, maxPages: 100,
//	                maxUnaskedPerSecond: 1000 },  // messages and log lines that nobody asked for; more are read no faster, then it is cut off
//	    },
//	  } },
//	  serve: {                        // but for limits only in a file that --config names
//	    http: "127.0.0.1:7420",       // absent: standard input and output
//	    tokens: { ann: { file: "ann.token" } },           // of clients; absent: one is made
//	    approvalTokens: { desk: { env: "DESK_TOKEN" } },  // beside the one that is made
//	    allowedOrigins: ["https://app.example"], allowedHosts: ["tools.example"],
//	    instructions: "",             // for the client's model
//	    limits: { maxSessions: 256, maxConcurrentExecs: 16, maxRequestBytes: 4194304, idleTimeoutMs: 1800000, resumeTimeoutMs: 15000,
//	              approvalWaitMs: 45000,    // of a call without code mode, where the client cannot ask; 0: as long as the client waits
//	              commentIntervalMs: 20000, // between comments on quiet streams, by which vanished clients are noticed
//	              // Programs that run at once: of all clients, of one token (absent: half of all where there are several),
//	              // and their memory together, each with memoryLimitBytes, so that 32 of 64 MiB run.
//	              maxRunning: 128, maxRunningPerPrincipal: 64, maxRunningBytes: 2147483648 },
//	  },
//	  approvals: {
//	    ttlSeconds: 86400,            // how long a cell waits for an answer
//	    elicit: true,                 // serve asks the client's user, where the client can
//	  },
//	  plugins: {
//	    dirs: ["plugins"],            // relative to this file; only in a file that --config names
//	    allowUnsignedUnsafe: true,    // plugins of folders have no signature; likewise
//	    installed: true,              // false leaves installed plugins out
//	    trust: "trust.json",          // the trust policy; only in a file that --config names
//	    lock: "cloister.lock",        // the lock file; one beside this file is found by itself
//	    config: { "acme.hello": { greeting: "Hi" } },               // what plugins may read; only in a file that --config names
//	    secrets: { "acme.hello": { token: { env: "HELLO_TOKEN" } } },  // or {file: "PATH"}; only in a file that --config names
//	    http: { allowPrivate: ["127.0.0.0/8"], timeoutMs: 5000, maxResponseBytes: 1048576 },  // allowPrivate: likewise
//	  },
//	}
//
// All faults of the file are reported at once, each with its line. A file that nobody
// named, which merely lies in the working folder, decides nothing about trust: there
// trust, secrets, config, dirs, allowUnsignedUnsafe, http.allowPrivate, mcp.servers, what
// opens serve and the allow lists of the sandbox are faults, and so is a limit above its
// default or an approval that could wait longer. Policies that it names are of its own
// folder and lower no approval. CLOISTER_CONFIG names a file as --config does.
//
// Files that decide are read only if nobody else can have written them: the
// configuration, policies, the trust policy, lock files and mcp.json. They have to be
// regular files of this user or root which neither group nor others can write to, in a
// folder of the same kind or with the sticky bit. Tokens and files of secrets must not be
// readable by others either. The error has the command that mends it, such as chmod go-w
// FILE. On Windows access lists are not looked at.
//
// # Environment
//
//	CLOISTER_CONFIG     the configuration file
//	CLOISTER_ENGINE     a copy of quickjs.wasm to use instead of the installed one
//	CLOISTER_CACHE_DIR  folder for compiled code; "off" for none
//	CLOISTER_DATA_DIR   folder of installed plugins, and of your own list of MCP servers
//	CLOISTER_TRUST      the trust policy: whose plugins may be loaded
//	CLOISTER_LOCK       the lock file: which plugins and tools were agreed to
//	CLOISTER_KEY_PASSWORD  the password of private keys that sign plugins
//	CLOISTER_DEPTH      how deep servers that start servers are nested; Cloister sets it
//	                    for those that it starts, and serves at 0 and 1 only
//	NO_COLOR            if not empty: no colours
//
// # Making a plugin
//
// On a machine with Go, from nothing to a signed plugin in a registry:
//
//	cloister plugin new acme.hello && cd hello
//	cloister plugin test       # builds it and runs cells/*.js and *.ts against it
//	cloister plugin build      # dist/acme.hello-0.1.0.cloister, the same bytes everywhere
//	cloister plugin keygen --out ../acme.key
//	cloister plugin sign . --key ../acme.key
//	cloister plugin push . registry.example/acme/hello:0.1.0
//
// Whoever has acme.pub checks it with
//
//	cloister plugin verify registry.example/acme/hello:0.1.0 --key acme.pub
//
// In a folder, cells/NAME.json is the value that cells/NAME.js must give. Plugins are
// opened from .cloister files, OCI layouts, folders, registries and, by their id,
// from what is installed; see "cloister plugin --help".
//
// # Installing a plugin
//
//	cloister trust add acme --key acme.pub --id acme. --tool acme_ --global Issues
//	cloister plugin install registry.example/acme/hello:0.1.0
//	cloister run cell.ts
//
// Installing checks everything, shows what a person needs to decide, and asks. Each
// change makes a new generation, which rollback returns to. Whenever plugins are
// loaded all is checked again, against the policy and the lock file as they are then:
// a plugin that fails is named with the step, and the run goes on without it, or with
// --strict not at all.
//
// The lock file in the data folder is kept by install, remove and rollback. A project
// may have its own, cloister.lock beside its configuration: "cloister lock accept
// --file cloister.lock" writes it. Of a lock file that merely lies in the working
// folder only that counts to which the user's own agrees.
//
// Machine code is made before the cell starts for the plugins that it names, and for
// the others when they are called first. The time that a call may take begins after
// that.
//
// # MCP servers
//
//	cloister mcp add notes -- mcp-notes ~/notes
//	cloister run cell.ts                            # MCP.notes.search({ … })
//	cloister serve --print-config claude            # what to put into a client; cloister connect does it
//	cloister approvals                              # in another terminal
//
// Servers are in the file that --config or CLOISTER_CONFIG names, and in mcp.json in the
// data folder, which has {"servers": {…}} in the same form, as strict JSON. All commands
// read both. Of two servers of one name that of the configuration is used, and that is
// said. "mcp add", "mcp remove" and the others change the file that is named, where its
// comments and its layout stay, else mcp.json.
//
// What a server lists is kept in the cache folder, and it is started when a cell calls
// it; "mcp test" and "lock" ask it anew. One that cannot be had is named on standard
// error and in "catalog list", and takes nothing else down. A command waits for servers
// 10 seconds at most, "mcp test", "mcp add" and "lock" with the server's name as long as
// limits.connectTimeoutMs says. One that was waited for in vain is waited for only a second
// for the next 10 minutes, until "mcp test" has reached it.
//
// Cloister itself is no server of its own: a client's configuration that names "cloister
// serve" is imported without it, and where a list has it, by whatever link or program
// that starts others, it is not started, or ends at a depth of two.
//
// The lock file holds the tools of servers as it does those of plugins. A server of
// mcp.json is held to the lock file of the data folder, where "mcp add" writes its tools,
// or to one of a project that knows it. A server of a configuration is held to the lock
// file that applies, but to that of the data folder only once that one knows it: before
// that, somebody named the file, and the tools are taken as they are.
//
// A running serve leaves a file in the folder serve of the data folder, by which
// "cloister approvals" finds it. It is locked as long as the process lives, and is not
// believed after that. Tokens there are readable for you alone.
//
// # What a terminal is shown
//
// The text of a cell, everything that it puts out and everything that a plugin
// says about itself is hostile: it may hold sequences that move the cursor,
// rewrite the screen or turn the reading direction. Standard error is for people
// and log files, so such characters are always written as escapes there. On
// standard output text is escaped when it goes to a terminal and left alone when
// it goes to a file or a pipe. JSON is the same in both cases: its strings hold
// such characters as \u escapes.
package main
