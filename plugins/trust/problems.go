package trust

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/plugins"
)

// problemList collects the mistakes of a policy.
type problemList []plugins.Problem

func (l *problemList) add(path, suggestion, format string, args ...any) {
	if len(*l) > 2*MaxProblems {
		return // enough to fill the report after what repeats is dropped
	}
	*l = append(*l, plugins.Problem{Path: path, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

// merge takes over what others found, but nothing at or below a place that has a mistake of form already: what the
// reader put there instead would only cause followers.
func (l *problemList) merge(more problemList) {
	first := *l
	for _, p := range more {
		if !slices.ContainsFunc(first, func(f plugins.Problem) bool { return below(p.Path, f.Path) }) {
			*l = append(*l, p)
		}
	}
}

func below(path, top string) bool {
	return path == top || strings.HasPrefix(path, top) && path[len(top)] == '/'
}

// err is nil, or a *PolicyError.
func (l problemList) err() error {
	if len(l) == 0 {
		return nil
	}
	slices.SortStableFunc(l, func(a, b plugins.Problem) int { return comparePaths(a.Path, b.Path) })
	e := &PolicyError{Problems: l}
	if len(l) > MaxProblems {
		e.Problems, e.More = l[:MaxProblems], true
	}
	return e
}

// comparePaths orders JSON pointers as a reader of the file meets them: indexes count as numbers.
func comparePaths(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(as), len(bs)) {
		x, errX := strconv.Atoi(as[i])
		y, errY := strconv.Atoi(bs[i])
		c := strings.Compare(as[i], bs[i])
		if errX == nil && errY == nil {
			c = cmp.Compare(x, y)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

// at makes a JSON pointer.
func at(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "/%v", p)
	}
	return b.String()
}
