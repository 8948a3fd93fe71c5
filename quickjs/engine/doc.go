// Package engine holds the description of the engine's npm package. Built with the tag
// embed_engine it puts the engine itself into every program that imports it, from the
// folder that `make engine` fills in a checkout of this project: release binaries
// are made so. Elsewhere that folder does not exist, and the tag fails to build:
// there "cloister engine embed" writes a file that does the same in a package of
// yours.
package engine
