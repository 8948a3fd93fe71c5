package safefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ReadLine reads the one line of a file that holds a secret, at most most bytes and
// not empty. Its end may be missing; white space may follow. No error quotes it.
func ReadLine(from io.Reader, most int64) ([]byte, error) {
	const lineEnd = 2 // \r\n
	data, err := io.ReadAll(io.LimitReader(from, most+lineEnd+1))
	if err != nil {
		return nil, err
	}
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	switch {
	case int64(len(line)) > most:
		return nil, fmt.Errorf("more than %d bytes", most)
	case len(line) == 0:
		return nil, errors.New("the first line is empty")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, ErrMoreLines
	}
	return line, nil
}
