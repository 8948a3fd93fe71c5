package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cloister-wasm/cloister/host"
)

// maxSource bounds what is read as a cell, in bytes. The library has its own,
// lower bounds.
const maxSource = 16 << 20

// source is a cell as it was given.
type source struct {
	// name is the file's name for messages.
	name     string
	text     string
	language string
}

// code is what the guest is given: a first line for the shell becomes a comment
// of the same length, so that places stay where they are.
func (s *source) code() string {
	if strings.HasPrefix(s.text, "#!") {
		return "//" + s.text[2:]
	}
	return s.text
}

// readSource reads a cell from a file, or from stdin for "-".
func readSource(file, language string, stdin io.Reader) (*source, error) {
	s := &source{name: file}
	from := stdin
	if file == "-" {
		s.name = "stdin"
	} else {
		f, err := os.Open(file)
		if err != nil {
			return nil, usageError(fmt.Errorf("cell: %w", err), "FILE is a cell's source; - reads it from standard input")
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, usageError(fmt.Errorf("cell: %s is a folder", file), "FILE is a cell's source; - reads it from standard input")
		}
		from = f
	}
	var err error
	if s.language, err = languageOf(file, language); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(from, maxSource+1))
	if err != nil {
		return nil, usageError(fmt.Errorf("cell: %w", err), "")
	}
	if len(text) > maxSource {
		return nil, usageError(fmt.Errorf("cell: %s has more than %d bytes", s.name, maxSource), "let the cell get its data from a tool instead")
	}
	if strings.TrimSpace(string(text)) == "" {
		return nil, usageError(fmt.Errorf("cell: %s is empty", s.name), "")
	}
	s.text = string(text)
	return s, nil
}

// languageOf decides the language: what the flag says, else by the extension.
func languageOf(file, flag string) (string, error) {
	switch strings.ToLower(flag) {
	case "":
	case "ts", host.TypeScript:
		return host.TypeScript, nil
	case "js", host.JavaScript:
		return host.JavaScript, nil
	default:
		return "", usageError(fmt.Errorf("--language %s is not known", flag), "it is javascript or typescript")
	}
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".ts", ".mts":
		return host.TypeScript, nil
	case ".js", ".mjs", "":
		return host.JavaScript, nil
	case ".tsx", ".jsx":
		return "", usageError(errors.New("cell: JSX is not supported: "+file), "a cell is JavaScript or TypeScript")
	default:
		return "", usageError(fmt.Errorf("cell: the extension %s does not tell the language of %s", ext, file), "add --language javascript or --language typescript")
	}
}
