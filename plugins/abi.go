package plugins

import "github.com/cloister-wasm/cloister/guestabi"

// Names of the plugin contract that this package's documentation uses; the contract itself is in guestabi.
const (
	// ABIVersion is the version of the messages.
	ABIVersion = guestabi.PluginABI
	// ManifestABI is the manifest's abi field for that version.
	ManifestABI = guestabi.PluginManifestABI
	// CallExport is the export that takes the calls of all tools without one of their own.
	CallExport = guestabi.ExportCall
)
