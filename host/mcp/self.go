package mcp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// DepthVariable is the variable of the environment by which programs that connect to MCP
// servers know how many of them are above: a server gets one more than whoever starts it
// has, which is 0 where nothing is set. It is what ends a circle where a program starts
// itself by way of others, such as env or npx.
const DepthVariable = "CLOISTER_DEPTH"

// MaxDepth is the depth of the deepest program that may start servers or be one that does:
// a server of somebody's may use Cloister, and what that starts may not again.
const MaxDepth = 1

// serveArgument is what tells a program of ours to be a server.
const serveArgument = "serve"

// Depth is how many programs that start MCP servers are above this one, as DepthVariable
// says. More than MaxDepth, or a value that is no number, is ErrDepth.
func Depth() (int, error) {
	text := os.Getenv(DepthVariable)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%w: %s must be a whole number, such as 0", ErrDepth, DepthVariable)
	}
	if n > MaxDepth {
		return n, fmt.Errorf("%w (%s is %d, and %d at most): a list of MCP servers has Cloister itself in it, or what starts it; remove it there", ErrDepth, DepthVariable, n, MaxDepth)
	}
	return n, nil
}

// StartsItself says whether a server is this very program, by whatever name or link, that
// is told to serve: as a server of its own it would start itself again, and so on.
func (s *Server) StartsItself() bool {
	return s.Command != "" && slices.Contains(s.Args, serveArgument) && thisProgram(s.Command, s.Dir)
}

// thisProgram says whether a command is the program that runs.
func thisProgram(command, dir string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	path := command
	if filepath.Base(command) == command {
		if path, err = exec.LookPath(command); err != nil {
			return false // and cannot be started
		}
	} else if !filepath.IsAbs(command) {
		path = filepath.Join(dir, command) // what the system takes it for
	}
	one, err1 := os.Stat(self)
	other, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// deeper gives the depth of a server that is about to be started, or refuses to start it.
func (s *Server) deeper() (int, error) {
	if s.StartsItself() {
		return 0, fmt.Errorf("%w: remove it from the list, with cloister mcp remove %s", ErrSelf, s.Name)
	}
	n, err := Depth()
	return n + 1, err
}
