package host

import (
	"github.com/cloister-wasm/cloister/internal/toolset"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// LockPlugin gives what a lock file holds of a plugin when it is accepted as it is: entries of lock.File.Tools by catalog
// id. A plugin that is signed is locked by its digest as well (lock.File.Plugins), which covers its namespaces; of one
// under development their texts and scopes have entries, "cloister:<plugin>:namespace/<id>".
func LockPlugin(p *plugins.Plugin) map[string]lock.Tool { return toolset.LockPlugin(p) }

// LockManifest gives what a lock file holds of the tools of a plugin that is locked by its digest.
func LockManifest(m *plugins.Manifest) map[string]lock.Tool { return toolset.LockManifest(m) }
