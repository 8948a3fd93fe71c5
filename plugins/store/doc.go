// Package store keeps the installed plugins of a host: what is installed, the files of it, and every earlier state.
//
//	s, err := store.Open(dir, nil)
//	v, err := policy.Verify(ctx, artifact)     // package trust
//	change, err := s.Plan(v)                   // show it to a person if change.Asks()
//	g, err := s.InstallPlanned(ctx, v, ref, change)
//	loaded, err := s.Load(ctx, policy, locked, &plugins.LoadOptions{CacheDir: cache})
//	for _, e := range loaded.Refused { … }     // each with its step: the others are loaded all the same
//	g, err = s.Rollback(ctx, 0)                // as it was before
//
// # Generations
//
// Installing, updating, disabling, enabling, removing and rolling back each make a new [Generation]: a whole new list of
// what is installed, with a number and a reason. Nothing is changed in place, so that each earlier one can be taken up again
// until [Store.Collect] removes it. A host that looks at [Store.Current] from time to time sees by the number that there is
// something to load.
//
// # On disk
//
//	blobs/sha256/HEX     files by their SHA-256: artifacts' manifests, configs, layers, and signatures
//	generations/N.json   the generations, each with a checksum of its content
//	current              one line: the number of the current generation, and the digest of its file
//	lock, turn           locked by who writes, or waits to; empty
//	tmp/                 files that are being written; the next writer removes what a killed one left
//
// Every file is written under another name, synced and renamed, in the order blobs, generation, current. Only the rename of
// current makes the change. So a kill or a loss of power at any moment leaves the old generation or the new one, whole, and
// never a mix; and a change that was reported as made stays made.
//
// # Several processes
//
// Writers hold an exclusive lock of the operating system on the file lock, which ends with the process however it ends.
// Loading holds a shared one while it reads the artifacts, so that they are not collected meanwhile. [Store.Current] and
// [Store.Generations] take no lock. A network file system whose locks do not work is no place for a store.
//
// # What is checked
//
// The folder must belong to this user alone. Blobs are compared with their digest whenever they are read, generations with
// their checksums. Damage is a [*DamageError] that names the file and the command that mends it; nothing falls back to an
// older state by itself, since that would be a downgrade that nobody asked for: see [Store.Rollback] and [Store.Repair].
//
// The checksums find damage. They are no protection from somebody who can write to the folder and knows the format: that
// protection are the signatures, which [Store.Load] verifies again each time, and the lock file.
package store
