package csvtools

import (
	"slices"
	"strings"
)

// QueryInput is the input of csv_query. Its parts apply in the order of the fields.
type QueryInput struct {
	Source
	Where      []Condition `json:"where,omitempty"`
	GroupBy    []string    `json:"groupBy,omitempty"`
	Aggregates []Aggregate `json:"aggregates,omitempty"`
	OrderBy    []Order     `json:"orderBy,omitempty"`
	Select     []string    `json:"select,omitempty"`
	Limit      *int        `json:"limit,omitempty"`
}

// Condition keeps the rows for which it holds.
type Condition struct {
	Column string `json:"column"`
	Op     string `json:"op"`
	Value  any    `json:"value,omitempty"`
}

// Aggregate is a value for each group.
type Aggregate struct {
	Fn     string `json:"fn"`
	Column string `json:"column,omitempty"`
	As     string `json:"as,omitempty"`
}

// Order sorts by a column.
type Order struct {
	Column     string `json:"column"`
	Descending bool   `json:"descending,omitempty"`
}

// QueryResult is the result of csv_query. Total counts the rows before the limit.
type QueryResult struct {
	Columns []string         `json:"columns"`
	Rows    []map[string]any `json:"rows"`
	Total   int              `json:"total"`
}

// Query filters, groups, sorts, selects and cuts a table.
func Query(in QueryInput) (*QueryResult, error) {
	t, err := in.table()
	for _, step := range []func() error{
		func() error { return t.where(in.Where) },
		func() error { return t.group(in.GroupBy, in.Aggregates) },
		func() error { return t.order(in.OrderBy) },
		func() error { return t.pick(in.Select) },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return nil, err
	}
	limit := 100
	if in.Limit != nil {
		limit = max(*in.Limit, 0)
	}
	res := &QueryResult{Columns: t.columns, Rows: []map[string]any{}, Total: len(t.rows)}
	for _, row := range t.rows[:min(limit, len(t.rows))] {
		m := map[string]any{}
		for i, name := range t.columns {
			m[name] = row[i]
		}
		res.Rows = append(res.Rows, m)
	}
	return res, nil
}

func (t *table) where(conditions []Condition) error {
	for _, c := range conditions {
		i, err := t.column(c.Column)
		if err != nil {
			return err
		}
		t.rows = slices.DeleteFunc(t.rows, func(row []any) bool {
			ok, opErr := c.holds(row[i])
			if opErr != nil {
				err = opErr
			}
			return !ok
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c Condition) holds(cell any) (bool, error) {
	same := compare(cell, c.Value) == 0 || text(cell) == text(c.Value) // models often quote numbers
	less := cell != nil && compare(cell, c.Value) < 0
	more := c.Value != nil && compare(cell, c.Value) > 0
	switch c.Op {
	case "eq":
		return same, nil
	case "ne":
		return !same, nil
	case "lt":
		return less, nil
	case "lte":
		return less || same, nil
	case "gt":
		return more, nil
	case "gte":
		return more || same, nil
	case "contains":
		return strings.Contains(strings.ToLower(text(cell)), strings.ToLower(text(c.Value))), nil
	}
	return false, fail("invalid_input", "unknown operator %q", c.Op)
}

// group makes a row of each group, or one of the whole table.
func (t *table) group(by []string, aggregates []Aggregate) error {
	if len(by)+len(aggregates) == 0 {
		return nil
	}
	keys := make([]int, len(by))
	for n, name := range by {
		var err error
		if keys[n], err = t.column(name); err != nil {
			return err
		}
	}
	out := &table{columns: slices.Clone(by)}
	index := map[string]int{}
	var groups [][][]any
	for _, row := range t.rows {
		var key []any
		id := ""
		for _, k := range keys {
			key = append(key, row[k])
			id += text(row[k]) + "\x00"
		}
		g, ok := index[id]
		if !ok {
			g = len(groups)
			index[id] = g
			groups, out.rows = append(groups, nil), append(out.rows, key)
		}
		groups[g] = append(groups[g], row)
	}
	if len(by) == 0 && len(groups) == 0 {
		groups, out.rows = [][][]any{nil}, [][]any{nil} // an aggregate over nothing is still a row
	}
	for _, a := range aggregates {
		if a.As == "" {
			a.As = strings.TrimSuffix(a.Fn+"_"+a.Column, "_")
		}
		if slices.Contains(out.columns, a.As) {
			return fail("invalid_input", `two columns would be called %q; give one of them another name with "as"`, a.As)
		}
		out.columns = append(out.columns, a.As)
		for g := range groups {
			v, err := a.value(t, groups[g])
			if err != nil {
				return err
			}
			out.rows[g] = append(out.rows[g], v)
		}
	}
	*t = *out
	return nil
}

func (a Aggregate) value(t *table, rows [][]any) (any, error) {
	if a.Fn == "count" && a.Column == "" {
		return float64(len(rows)), nil
	}
	c, err := t.column(a.Column)
	if err != nil {
		return nil, err
	}
	var cells []any
	sum := 0.0
	for _, row := range rows {
		f, isNumber := row[c].(float64)
		if row[c] == nil {
			continue
		}
		if !isNumber && (a.Fn == "sum" || a.Fn == "avg") {
			return nil, fail("not_a_number", "%s needs numbers, but %q in column %q is none", a.Fn, text(row[c]), a.Column)
		}
		sum += f
		cells = append(cells, row[c])
	}
	switch {
	case a.Fn == "count":
		return float64(len(cells)), nil
	case a.Fn == "sum":
		return sum, nil
	case len(cells) == 0:
		return nil, nil
	case a.Fn == "avg":
		return sum / float64(len(cells)), nil
	case a.Fn == "min":
		return slices.MinFunc(cells, compare), nil
	case a.Fn == "max":
		return slices.MaxFunc(cells, compare), nil
	}
	return nil, fail("invalid_input", "unknown aggregate %q", a.Fn)
}

func (t *table) order(by []Order) error {
	for _, o := range slices.Backward(by) { // a stable sort each: the first one decides
		i, err := t.column(o.Column)
		if err != nil {
			return err
		}
		slices.SortStableFunc(t.rows, func(a, b []any) int {
			if o.Descending {
				a, b = b, a
			}
			return compare(a[i], b[i])
		})
	}
	return nil
}

func (t *table) pick(names []string) error {
	if len(names) == 0 {
		return nil
	}
	rows := make([][]any, len(t.rows))
	for _, name := range names {
		i, err := t.column(name)
		if err != nil {
			return err
		}
		for r, row := range t.rows {
			rows[r] = append(rows[r], row[i])
		}
	}
	t.columns, t.rows = names, rows
	return nil
}
