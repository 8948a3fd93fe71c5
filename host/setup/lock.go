package setup

import (
	"errors"
	"io/fs"
	"maps"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// Lock is the lock file that applies.
type Lock struct {
	// File is an empty one where there is none: nobody agreed to anything.
	File *lock.File
	// Path is where it was read, or is looked for.
	Path string
	// Missing says that there is no file.
	Missing bool
	// Own says that it is that of what is installed, and not one of a project.
	Own bool
	// own is the path of the former.
	own string
}

// LoadLock reads the lock file that applies, as Places.LockFile finds it. One that
// somebody named and that is not there is a *LockMissingError; where nobody named one and
// there is none, it is as one that agrees to nothing. Of one that was found
// beside a configuration that was found, only that counts to which the user's own
// agrees: a folder that the user happens to stand in can ask for less than the user
// agreed to, never for more.
func LoadLock(s *settings.Settings) (*Lock, error) {
	choice, err := s.Places.LockFile(s)
	if err != nil {
		return nil, err
	}
	l, err := newLock(s.Places)
	if err != nil {
		return nil, err
	}
	file, err := lock.Load(choice.Path)
	if l.Missing = errors.Is(err, fs.ErrNotExist); l.Missing {
		if choice.Named {
			return nil, &LockMissingError{choice.Path, err}
		}
		file, err = lock.New(), nil
	}
	if err != nil {
		return nil, err
	}
	if choice.Found {
		if err := narrow(file, l.own); err != nil {
			return nil, err
		}
	}
	l.File, l.Path, l.Own = file, choice.Path, choice.Path == l.own
	return l, nil
}

func newLock(p settings.Places) (*Lock, error) {
	own, err := p.InstalledLock()
	if err != nil {
		return nil, err
	}
	return &Lock{own: own}, nil
}

// loadOwn reads the user's own lock file. Without one the user agreed to nothing.
func loadOwn(path string) (*lock.File, error) {
	own, err := lock.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lock.New(), nil
	}
	return own, err
}

// narrow takes out of a lock file what the user's own does not agree to.
func narrow(found *lock.File, path string) error {
	own, err := loadOwn(path)
	if err != nil {
		return err
	}
	signed := map[string]bool{}
	for _, l := range []*lock.File{found, own} {
		for id := range l.Plugins {
			signed[id] = true
		}
	}
	maps.DeleteFunc(found.Plugins, func(id string, p lock.Plugin) bool { return own.CheckPlugin(id, p.Digest, p.Signer) != nil })
	maps.DeleteFunc(found.Tools, func(id string, t lock.Tool) bool {
		// Tools of plugins under development stay: the user's file is not about them. A
		// signed plugin that is in neither file is refused as a whole.
		owner := lock.PluginOf(id)
		return (signed[owner] || owner == "") && own.CheckTool(id, t) != nil
	})
	return nil
}

// Holds says whether an MCP server's tools have to be in the file. One that knows a tool
// of the server always counts. Otherwise servers of the user's own list are held to the
// lock file of what is installed, and servers of a configuration to every lock file but
// that one, which is not about them.
func (l *Lock) Holds(s *settings.Server) bool {
	return len(l.File.ServerTools(s.Name)) > 0 || s.User == l.Own
}

// agreed is what tools are compared with: the file, completed by what it says nothing
// about.
func (l *Lock) agreed(loaded []*plugins.Plugin, servers []host.MCPServer, s *settings.Settings) (*lock.File, error) {
	out := l.File.Clone()
	l.exempt(out, loaded)
	for i := range servers {
		c := s.Server(servers[i].Name)
		if c == nil || servers[i].Err != nil || l.Holds(c) {
			continue
		}
		if !c.User {
			maps.Copy(out.Tools, servers[i].LockTools())
			continue
		}
		// A lock file of a project says nothing about the server: what the user agreed to counts.
		mine, err := loadOwn(l.own)
		if err != nil {
			return nil, err
		}
		for _, id := range mine.ServerTools(c.Name) {
			out.Tools[id] = mine.Tools[id]
		}
	}
	return out, nil
}

// exempt lets plugins under development in that the lock file says nothing about:
// they change with every build, and somebody said that they are wanted as they are.
// The lock file of what is installed is not about them; a lock file of one's own is
// where it knows their tools.
func (l *Lock) exempt(out *lock.File, loaded []*plugins.Plugin) {
	for _, p := range loaded {
		if p.Unsigned() && (l.Own || len(l.File.PluginTools(p.ID())) == 0) {
			maps.Copy(out.Tools, host.LockPlugin(p))
		}
	}
}

// LockTools are the entries in a lock file of the tools of a plugin that is locked by its digest, by their ids in the
// catalog. host.LockPlugin gives those of one under development.
func LockTools(m *plugins.Manifest) map[string]lock.Tool { return host.LockManifest(m) }
