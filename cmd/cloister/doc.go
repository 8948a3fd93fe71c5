// Command cloister runs code that a language model wrote in a sealed JavaScript
// guest, with the tools that its configuration gives.
//
//	cloister run FILE|-              run a cell
//	cloister catalog list            show the tools that a cell can call
//	cloister catalog search QUERY
//	cloister catalog describe ID
//	cloister engine install|verify|path
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
//	    sandbox: { tools: { allow: ["core"], alsoAllow: [], deny: [] } },  // for --sandboxed
//	  },
//	  plugins: {
//	    dirs: ["plugins"],            // relative to this file
//	    allowUnsignedUnsafe: true,    // plugins of folders have no signature; only in a file that --config names
//	  },
//	}
//
// All faults of the file are reported at once, each with its line.
//
// # Environment
//
//	CLOISTER_CONFIG     the configuration file
//	CLOISTER_ENGINE     a copy of quickjs.wasm to use instead of the installed one
//	CLOISTER_CACHE_DIR  folder for compiled code; "off" for none
//	NO_COLOR            if not empty: no colours
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
