// Package csvtools is what the tools of examples.csv do, free of WebAssembly: an ordinary Go package with ordinary tests.
package csvtools

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/sdk"
)

// fail makes an error for the cell that called the tool, which sees its name and code.
func fail(code, format string, args ...any) error {
	return &sdk.Failure{Name: "CsvError", Code: code, Message: fmt.Sprintf(format, args...)}
}

// Source is a table as CSV text whose first line names the columns, or as rows.
type Source struct {
	CSV  string           `json:"csv,omitempty"`
	Rows []map[string]any `json:"rows,omitempty"`
}

// table has a cell (nil, float64 or string) for each row and column.
type table struct {
	columns []string
	rows    [][]any
}

func (s Source) table() (*table, error) {
	if s.Rows != nil {
		return fromRows(s.Rows), nil
	}
	records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(s.CSV, "\ufeff"))).ReadAll()
	if err != nil {
		return nil, fail("invalid_csv", "%v", err)
	}
	if len(records) == 0 {
		return nil, fail("invalid_csv", "there is no line with column names")
	}
	t := &table{columns: records[0]}
	for _, r := range records[1:] {
		row := make([]any, len(r))
		for i, cell := range r {
			if cell != "" {
				row[i] = cell
			}
		}
		t.rows = append(t.rows, row)
	}
	for c := range t.columns {
		t.convert(c)
	}
	return t, nil
}

func fromRows(rows []map[string]any) *table {
	names := map[string]bool{}
	for _, r := range rows {
		for name := range r {
			names[name] = true
		}
	}
	t := &table{columns: slices.Sorted(maps.Keys(names))}
	for _, r := range rows {
		row := make([]any, len(t.columns))
		for i, name := range t.columns {
			switch v := r[name].(type) {
			case nil, float64, string:
				row[i] = v
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// convert makes a column numbers if every cell is one. 007 is not: it is a code.
func (t *table) convert(c int) {
	numbers := make([]any, len(t.rows))
	for i, row := range t.rows {
		s, ok := row[c].(string)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || (len(s) > 1 && s[0] == '0' && s[1] != '.') {
			return
		}
		numbers[i] = f
	}
	for i, row := range t.rows {
		row[c] = numbers[i]
	}
}

func (t *table) column(name string) (int, error) {
	if i := slices.Index(t.columns, name); i >= 0 {
		return i, nil
	}
	return 0, fail("unknown_column", "there is no column %q; the columns are %s", name, strings.Join(t.columns, ", "))
}

// compare orders cells: empty ones, then numbers, then texts.
func compare(a, b any) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(number(a), number(b)), strings.Compare(text(a), text(b)))
}

func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case float64:
		return 1
	}
	return 2
}

func number(v any) float64 {
	f, _ := v.(float64)
	return f
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
