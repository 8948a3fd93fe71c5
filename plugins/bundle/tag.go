package bundle

import (
	"strings"

	"golang.org/x/mod/semver"
)

// Names says whether the reference's tag is this very version, with or without a leading v: such a tag is not moved.
func (r Reference) Names(version string) bool {
	return strings.TrimPrefix(r.Tag, "v") == strings.ReplaceAll(version, "+", "_")
}

// Contradicts says whether the reference's tag reads as a version and the plugin has another: 0.2.0 where the plugin is
// 0.1.0, also with a leading v, 0.2 where it is 0.3.1, v1 where it is 2.0.0. A registry that answers so is set up wrongly, or
// holds an update back, or goes back to an old release. Tags that are no versions, among them bare numbers such as those of
// builds, contradict nothing. The version is a semantic one; registries write its plus sign as "_".
func (r Reference) Contradicts(version string) bool {
	bare, v := strings.CutPrefix(r.Tag, "v")
	tag := "v" + strings.Replace(bare, "_", "+", 1)
	version = "v" + version
	if !semver.IsValid(tag) || !semver.IsValid(version) {
		return false
	}
	switch tag {
	case semver.Major(tag):
		return v && tag != semver.Major(version)
	case semver.MajorMinor(tag):
		return tag != semver.MajorMinor(version)
	}
	return semver.Compare(tag, version) != 0 || semver.Build(tag) != "" && semver.Build(tag) != semver.Build(version)
}
