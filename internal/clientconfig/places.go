package clientconfig

import "strings"

// System is where a user's files are. It is data, so that the places of each system can be looked at on every other.
type System struct {
	// GOOS is as runtime.GOOS has it.
	GOOS string
	// Home is the user's folder.
	Home string
	// Getenv looks variables up; nil: there are none.
	Getenv func(string) string
}

func (s System) getenv(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return s.Getenv(name)
}

// join joins parts by the separator of the system, whatever this one's is.
func (s System) join(parts ...string) string {
	separator := "/"
	if s.GOOS == "windows" {
		separator = `\`
	}
	return strings.Join(parts, separator)
}

func (s System) home(parts ...string) string { return s.join(append([]string{s.Home}, parts...)...) }

// config is the folder of applications' settings: XDG_CONFIG_HOME or ~/.config, ~/Library/Application Support, %APPDATA%.
func (s System) config(parts ...string) string {
	switch s.GOOS {
	case "windows":
		if dir := s.getenv("APPDATA"); dir != "" {
			return s.join(append([]string{dir}, parts...)...)
		}
		return s.home(append([]string{"AppData", "Roaming"}, parts...)...)
	case "darwin":
		return s.home(append([]string{"Library", "Application Support"}, parts...)...)
	}
	return s.xdg(parts...)
}

// xdg is the folder of those that follow the XDG specification on every system.
func (s System) xdg(parts ...string) string {
	// Relative paths are to be ignored, says the specification.
	if dir := s.getenv("XDG_CONFIG_HOME"); dir != "" && (s.GOOS == "windows" || strings.HasPrefix(dir, "/")) {
		return s.join(append([]string{dir}, parts...)...)
	}
	return s.home(append([]string{".config"}, parts...)...)
}

// dot is ~/.config on macOS too, where some keep their settings as on Linux.
func (s System) dot(parts ...string) string {
	if s.GOOS == "darwin" {
		return s.home(append([]string{".config"}, parts...)...)
	}
	return s.config(parts...)
}

// within is a file of a folder that a variable names, else of one in the user's folder.
func (s System) within(variable, folder, file string) string {
	if dir := s.getenv(variable); dir != "" {
		return s.join(dir, file)
	}
	if folder == "" {
		return s.home(file)
	}
	return s.home(folder, file)
}
