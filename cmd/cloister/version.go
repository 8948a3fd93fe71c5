package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// What the linker is told about a release, which is built without the version control's
// own stamp: the same source gives the same bytes in any folder. See the program in release.
var releaseVersion, releaseRevision string

// versionInfo is what `version` says.
type versionInfo struct {
	Version  string        `json:"version"`
	Revision string        `json:"revision,omitempty"`
	Modified bool          `json:"modified,omitempty"`
	Time     string        `json:"time,omitempty"`
	Go       string        `json:"go"`
	Platform string        `json:"platform"`
	GuestABI int           `json:"guestAbi"`
	Engine   engineVersion `json:"engine"`
}

type engineVersion struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// readVersion takes what the Go toolchain recorded in this program.
func readVersion() versionInfo {
	v := versionInfo{
		Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, GuestABI: guestabi.Version,
		Engine: engineVersion{quickjs.EngineName, quickjs.EngineVersion, quickjs.EngineSHA256},
	}
	if releaseVersion != "" {
		v.Version, v.Revision = releaseVersion, releaseRevision
		return v
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show versions of the program and of the engine",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if asJSON {
				return a.printJSON(v)
			}
			text := fmt.Sprintf("cloister  %s\n", v.Version)
			if v.Revision != "" {
				text += fmt.Sprintf("revision  %s", v.Revision)
				if v.Modified {
					text += " with changes"
				}
				text += "\n"
			}
			text += fmt.Sprintf("built     with %s for %s\nguest ABI %d\nengine    %s %s\n          sha256 %s\n",
				v.Go, v.Platform, v.GuestABI, v.Engine.Name, v.Engine.Version, v.Engine.SHA256)
			return a.write(text)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
