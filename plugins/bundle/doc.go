// Package bundle is the file format of plugins: one OCI artifact, the same bytes wherever it lies, in a registry, in the
// directory of an OCI image layout, in a .cloister file, which is a tar of that layout, or in a content-addressed store.
//
//	a, err := bundle.Build(bundle.Files{Manifest: manifest, Wasm: wasm, Readme: readme, License: license})
//	if err != nil { … }
//	err = a.WriteFile("hello-1.0.0.cloister")
//	…
//	a, err = bundle.Read("hello-1.0.0.cloister")
//	fmt.Println(a.Digest()) // sha256:…, the same here and there
//
// # Form
//
// An artifact is an OCI image manifest with the artifactType [ArtifactType], a config of the type [ConfigType] as the Wasm
// artifact layout of the CNCF describes it, and these layers:
//
//	manifest  application/vnd.cloister.manifest.v1+json  cloister.plugin.json, byte for byte
//	wasm      application/wasm                           the module
//	readme    application/vnd.cloister.docs.v1+markdown  optional
//	license   application/vnd.cloister.license.v1+text   optional
//
// Another layer, or two of one type, is an error. The digest of the OCI manifest is the identity of the plugin; a signature
// over it covers everything. [Build] is reproducible: the same files give the same digest.
//
// # Signatures
//
// Signatures are OCI referrers of the artifact, of the type [SignatureType], each with one layer: a Sigstore bundle. That
// is what cosign 3 writes and reads. This package carries signatures ([Artifact.AddSignature], [Artifact.Signatures]) and
// never judges them; package trust does. Their OCI manifests are made anew wherever the bundle is written; they have no
// date, so that the same signature is the same referrer everywhere.
//
// # Reading
//
// Whoever made the file or runs the registry may be an enemy. Everything is bounded before it is parsed: names, counts,
// sizes, the total; what is declared never decides how much memory is used. Every byte is checked against a digest. JSON is
// strict: no duplicate members, no invalid UTF-8, no member that equals a known one when case is ignored. A layout or tar
// holds exactly one plugin and its signatures, and nothing that nobody refers to. In a registry, referrers of other types
// are left alone; in a file there must be none.
//
// What nobody has signed has fixed forms, so that a copy that was damaged or edited is found: the tar's padding and end, the
// marker, the index, the OCI manifests of signatures and the white space of signatures are as this package writes them, or as
// cosign and oras do. Left free are times and owners in a tar's headers, the date in a signature's OCI manifest, and, in a
// directory, the tag in the index. GNU tar fills a file up with zeros unless it is told --blocking-factor=1.
//
// Reading says nothing about trust, and does not parse the plugin manifest; [Artifact.Manifest] does.
//
// # Errors
//
// Every error is an [*Error] with the step that failed and a sentinel: [ErrBounds], [ErrDigest] and [ErrFormat] are about
// the bundle, in this order; [ErrFiles] about the disk; [ErrReference], [ErrTag], [ErrNotFound], [ErrAuth] and [ErrRegistry],
// with [ErrSlow] below it, about the registry. No error stands for "unsigned": a bundle without signatures is one that was read to its end.
//
// # Registries
//
// [Remote] pushes and pulls, with the referrers API and with the tag that stands for it where a registry has none
// (sha256-DIGEST, as the OCI distribution specification has it). Whoever may write to a registry may add signatures to any
// plugin there: with [Remote.Signer] those of known signers are found among them, within bounds of the work. Waits and calls
// are bounded ([ErrSlow]). It speaks TLS, and HTTP only to loopback hosts or where
// [Remote.PlainHTTP] says so. Credentials come from Docker's configuration and its credential helpers.
//
// Rough edges: where a registry has no referrers API, two pushes of signatures at the same moment may lose one, since the
// list of referrers is then an ordinary tag; push again. A layout that other tools made may hold more than a plugin, such
// as an empty folder "ingest" or a software bill of materials; it is refused until that is removed.
package bundle
