package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The file current is one line: the number of the generation and the digest of its file. Whoever renames a new one into
// place has made the change; before, nothing has happened, after, everything has.
const maxCurrent = 128

var (
	currentForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,8}) (sha256:[0-9a-f]{64})\n$`)
	genForm     = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.json$`)
)

func genFile(number int) string { return genDir + "/" + strconv.Itoa(number) + ".json" }

// emptyGeneration is the state before the first change.
func emptyGeneration() *Generation {
	return &Generation{Created: time.Unix(0, 0).UTC(), Reason: "the empty store", Entries: []Entry{}}
}

// current reads the current generation. It takes no lock: if a writer is faster, it reads again.
func (f folder) current() (*Generation, error) {
	for {
		text, err := f.pointer()
		if err != nil {
			return nil, err
		}
		g, err := f.pointed(text)
		if err == nil {
			return g, nil
		}
		again, aerr := f.pointer()
		if aerr != nil {
			return nil, aerr
		}
		if bytes.Equal(text, again) {
			return nil, err
		}
	}
}

// pointer reads current; nil is a store that nothing was ever written to.
func (f folder) pointer() ([]byte, error) {
	for {
		text, err := f.read(currentFile, maxCurrent)
		if err == nil {
			return text, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, damage(currentFile, err, mendCurrent, "cannot be read: %v", err)
		}
		numbers, err := f.numbers()
		if err != nil {
			return nil, err
		}
		if len(numbers) == 0 || numbers[len(numbers)-1] == 0 {
			return nil, nil
		}
		// The first writer writes current before the first generation: it is missing now, or was a moment ago.
		if _, err := f.Lstat(currentFile); errors.Is(err, fs.ErrNotExist) {
			return nil, damage(currentFile, err, mendCurrent, "is missing")
		}
	}
}

// pointed reads the generation that a text of current names.
func (f folder) pointed(text []byte) (*Generation, error) {
	if text == nil {
		return emptyGeneration(), nil
	}
	m := currentForm.FindSubmatch(text)
	if m == nil {
		return nil, damage(currentFile, nil, mendCurrent, "does not name a generation")
	}
	number, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return nil, damage(currentFile, err, mendCurrent, "does not name a generation")
	}
	g, sum, err := f.generation(number)
	if err != nil {
		return nil, err
	}
	if sum != string(m[2]) {
		return nil, damage(genFile(number), nil, mendCurrent, "is not the file that current names")
	}
	return g, nil
}

// generation reads one generation, current or not, and the digest of its file.
func (f folder) generation(number int) (*Generation, string, error) {
	name := genFile(number)
	data, err := f.read(name, maxGenerationBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", damage(name, err, mendCurrent, "is missing")
	}
	if err != nil {
		return nil, "", damage(name, err, mendCurrent, "cannot be read: %v", err)
	}
	g, err := parseGeneration(data)
	if errors.Is(err, ErrTooNew) {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		return nil, "", damage(name, err, mendCurrent, "is not as it was written: %v", err)
	}
	if g.Number != number {
		return nil, "", damage(name, nil, mendCurrent, "holds generation %d", g.Number)
	}
	return g, digestOf(data), nil
}

// numbers lists the generations that have a file, in order.
func (f folder) numbers() ([]int, error) {
	names, err := f.names(genDir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDir, err)
	}
	var numbers []int
	for _, name := range names {
		if !genForm.MatchString(name) {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSuffix(name, ".json"))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDir, err)
		}
		numbers = append(numbers, n)
	}
	slices.SortFunc(numbers, cmp.Compare)
	return numbers, nil
}

// Current gives the current generation: number 0 and no entries for a store in which nothing was ever installed. A store
// whose files are not as they were written is ErrDamaged: falling back to an older generation by itself would be a
// downgrade that nobody asked for.
func (s *Store) Current() (*Generation, error) {
	f, err := s.open(false)
	if err != nil {
		return nil, err
	}
	g, err := f.current()
	return g, errors.Join(err, f.close())
}

// look opens the store for reading several files of the current generation, which nobody collects until done.
func (s *Store) look() (f folder, now *Generation, done func(), err error) {
	if f, err = s.open(false); err != nil {
		return f, nil, nil, err
	}
	release, err := f.lockBriefly()
	if err != nil {
		return f, nil, nil, errors.Join(err, f.close())
	}
	if now, err = f.current(); err != nil {
		return f, nil, nil, errors.Join(err, release(), f.close())
	}
	return f, now, func() {
		_ = release() // closing a file that was only read
		_ = f.close() // nothing was written
	}, nil
}

// Generations lists all that are kept, oldest first, the current one last. One that is damaged is left out and its
// [*DamageError] is part of the error, next to the list of the others; without a current one there is no list.
func (s *Store) Generations() ([]*Generation, error) {
	f, err := s.open(false)
	if err != nil {
		return nil, err
	}
	defer f.close() // nothing was written
	now, err := f.current()
	if err != nil {
		return nil, err
	}
	numbers, err := f.numbers()
	if err != nil {
		return nil, err
	}
	var list []*Generation
	var bad []error
	for _, n := range numbers {
		if n >= now.Number {
			break // a file after the current one is of a writer that did not come to its end
		}
		g, _, err := f.generation(n)
		switch {
		case err == nil:
			list = append(list, g)
		case errors.Is(err, fs.ErrNotExist): // collected meanwhile
		default:
			bad = append(bad, err)
		}
	}
	return append(list, now), errors.Join(bad...)
}
