package main

import (
	"strings"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// manifestChanges says what differs of installed plugins from what was agreed to, in the
// words of an update. The lock file has hashes; manifests are known as long as the store
// keeps a generation with them.
func manifestChanges(changes []lockChange) *plugins.Difference {
	d := &plugins.Difference{}
	s, err := existingStore()
	if s == nil || err != nil {
		return d // the hashes are all that is known
	}
	manifest := func(digest string) *plugins.Manifest {
		artifact, err := s.Artifact(digest)
		if err != nil {
			return nil
		}
		m, err := artifact.Manifest()
		if err != nil {
			return nil
		}
		return m
	}
	for _, c := range changes {
		if c.State != "changed" || c.What != string(lock.WhatDigest) {
			continue
		}
		if before, after := manifest(c.Before), manifest(c.After); before != nil && after != nil {
			for _, change := range plugins.Compare(before, after).Changes {
				change.Area = c.Plugin
				d.Changes = append(d.Changes, change)
			}
		}
	}
	return d
}

// lockText lays out differences from the lock file, and what they mean.
func lockText(s *stream, changes []lockChange) string {
	text := lockChangesText(s, changes)
	if d := manifestChanges(changes); len(d.Changes) > 0 {
		text += "\n" + s.paint(styleBold, "In words, from what was agreed to") + "\n" + strings.TrimSuffix(changesText(s, d)+legend(s, d), "\n") + "\n"
	}
	return text
}
