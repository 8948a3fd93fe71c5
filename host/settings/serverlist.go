package settings

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// addServerList adds the servers of the user's own list. The configuration file wins.
func (s *Settings) addServerList() error {
	path, err := s.Places.ServerList()
	if err != nil {
		return err
	}
	servers, err := readServerList(path)
	if err != nil {
		return err
	}
	for _, one := range servers {
		if s.Server(one.Name) != nil {
			s.Shadowed = append(s.Shadowed, one)
			continue
		}
		s.Servers = append(s.Servers, one)
	}
	return nil
}

// readServerList reads a user's own list. Where there is none, there are no servers.
func readServerList(path string) ([]Server, error) {
	data, err := safefile.ReadTrusted(path, json5.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &ServerListError{File: path, Err: err, read: true}
	}
	servers, err := parseServerList(path, data)
	if err != nil {
		return nil, &ServerListError{File: path, Err: err}
	}
	return servers, nil
}

// parseServerList checks the text of a list: {"servers": {...}}, strict JSON.
func parseServerList(path string, data []byte) ([]Server, error) {
	if err := schema.Check(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	root, err := json5.Parse(path, data) // JSON is a part of JSON5; this gives positions
	if err != nil {
		return nil, err
	}
	var servers []Server
	r := &reader{root: root}
	r.object(root, "", keys{"servers": r.servers(&servers)})
	if err := r.err(); err != nil {
		return nil, err
	}
	for i := range servers {
		servers[i].User = true
	}
	return servers, nil
}
