package bundle

import "github.com/cloister-wasm/cloister/plugins"

// Media types of a plugin bundle. They are part of the format: a reader refuses others.
const (
	// ArtifactType is the artifactType of the OCI manifest.
	ArtifactType = "application/vnd.cloister.plugin.v1+json"
	// ConfigType is the type of the config, as the Wasm OCI artifact layout of the CNCF has it.
	ConfigType = "application/vnd.wasm.config.v0+json"
	// ManifestType is the layer with the plugin manifest, byte for byte as the author built it.
	ManifestType = "application/vnd.cloister.manifest.v1+json"
	// WasmType is the layer with the module.
	WasmType = "application/wasm"
	// DocsType is the optional layer with the README, in Markdown.
	DocsType = "application/vnd.cloister.docs.v1+markdown"
	// LicenseType is the optional layer with the licence, in plain text.
	LicenseType = "application/vnd.cloister.license.v1+text"
	// SignatureType is the artifactType of a signature's OCI manifest, and the type of its one layer: a Sigstore bundle.
	SignatureType = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// Media types of OCI itself.
const (
	typeOCIManifest = "application/vnd.oci.image.manifest.v1+json"
	typeOCIIndex    = "application/vnd.oci.image.index.v1+json"
	typeOCIConfig   = "application/vnd.oci.image.config.v1+json"
	typeEmpty       = "application/vnd.oci.empty.v1+json"
)

// Bounds of what is built and read. They hold before anything is parsed.
const (
	// MaxManifestBytes bounds the plugin manifest.
	MaxManifestBytes = plugins.MaxManifestBytes
	// MaxWasmBytes bounds the module.
	MaxWasmBytes = 32 << 20
	// MaxReadmeBytes bounds the README.
	MaxReadmeBytes = 1 << 20
	// MaxLicenseBytes bounds the licence.
	MaxLicenseBytes = 1 << 20
	// MaxSignatures is the number of signatures that a bundle may carry.
	MaxSignatures = 16
	// MaxSignatureBytes bounds each signature.
	MaxSignatureBytes = 256 << 10
	// MaxOCIManifestBytes bounds the OCI manifest of the artifact and that of each signature.
	MaxOCIManifestBytes = 64 << 10
	// MaxIndexBytes bounds index.json, and each list of signatures that a registry sends.
	MaxIndexBytes = 256 << 10
)

const (
	maxConfigBytes = 64 << 10
	maxMarkerBytes = 1 << 10 // the file oci-layout
	// maxBlobs is every blob that a bundle can have: the artifact's manifest, its config and four layers; a manifest, a
	// config and a layer for each signature.
	maxBlobs = 6 + 3*MaxSignatures
	// maxTotalBytes bounds all files of a layout together.
	maxTotalBytes = MaxWasmBytes + MaxReadmeBytes + MaxLicenseBytes + MaxManifestBytes + MaxOCIManifestBytes +
		maxConfigBytes + MaxIndexBytes + maxMarkerBytes + MaxSignatures*(MaxSignatureBytes+MaxOCIManifestBytes+maxConfigBytes)
)

// Names in an OCI image layout.
const (
	fileMarker  = "oci-layout"
	fileIndex   = "index.json"
	dirBlobs    = "blobs"
	dirSHA256   = "blobs/sha256"
	digestStart = "sha256:"
)

// Names of annotations.
const (
	annotationTitle       = "org.opencontainers.image.title"
	annotationVersion     = "org.opencontainers.image.version"
	annotationDescription = "org.opencontainers.image.description"
	annotationLicenses    = "org.opencontainers.image.licenses"
	annotationCreated     = "org.opencontainers.image.created"
	annotationRefName     = "org.opencontainers.image.ref.name"
	annotationContent     = "dev.sigstore.bundle.content"
	annotationPredicate   = "dev.sigstore.bundle.predicateType"
)

// created is the one date of every bundle: a real one would make each build another artifact.
const created = "1970-01-01T00:00:00Z"

// descriptor is an OCI content descriptor. The order of its fields, and of those of the types below, is that of the bytes
// that Build writes: another order would be another digest.
type descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	ArtifactType string            `json:"artifactType,omitempty"`
	URLs         []string          `json:"urls,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	Data         *string           `json:"data,omitempty"`
}

// ociManifest is an OCI image manifest.
type ociManifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Subject       *descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// ociIndex is an OCI image index.
type ociIndex struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType,omitempty"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Manifests     []descriptor      `json:"manifests"`
	Subject       *descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// wasmConfig is the config of a Wasm OCI artifact. The layers' digests make it differ between artifacts, since some
// registries and runtimes take the config's digest for the artifact's identity.
type wasmConfig struct {
	Created      string   `json:"created"`
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	LayerDigests []string `json:"layerDigests"`
}

// layoutMarker is the file oci-layout.
type layoutMarker struct {
	Version string `json:"imageLayoutVersion"`
}

const (
	layoutVersion = "1.0.0"
	wasmArch      = "wasm"
	wasmOS        = "wasip1"
)
