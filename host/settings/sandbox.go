package settings

import "github.com/cloister-wasm/cloister/host"

// sandboxDefault is what sandboxed runs may use where no allow list says otherwise: the
// tools of the program itself. It is a full id, which no plugin and no server can have.
const sandboxDefault = "cloister:core:*"

// SandboxPolicy is the policy of sandboxed runs, as the host takes it: that of
// tools.sandbox.tools, whose allow list, where the file has none, is the program's own
// tools. A run that asks to be sandboxed is so without a configuration too, and
// alsoAllow and deny say what differs from that.
func (s *Settings) SandboxPolicy() host.SandboxPolicy {
	p := s.Sandbox
	if p.Allow == nil {
		p.Allow = []string{sandboxDefault}
	}
	return p
}
