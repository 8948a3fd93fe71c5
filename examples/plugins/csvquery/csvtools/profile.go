package csvtools

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ColumnProfile describes a column; Type is number, string, mixed or empty.
type ColumnProfile struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Empty    int    `json:"empty"`
	Distinct int    `json:"distinct"`
	Min      any    `json:"min"`
	Max      any    `json:"max"`
}

// ProfileResult is the result of csv_profile.
type ProfileResult struct {
	Rows    int             `json:"rows"`
	Columns []ColumnProfile `json:"columns"`
}

// Profile describes every column of a table.
func Profile(in Source) (*ProfileResult, error) {
	t, err := in.table()
	if err != nil {
		return nil, err
	}
	res := &ProfileResult{Rows: len(t.rows), Columns: make([]ColumnProfile, len(t.columns))}
	for c, name := range t.columns {
		p := ColumnProfile{Name: name, Type: "empty"}
		distinct := map[any]bool{}
		for _, row := range t.rows {
			v := row[c]
			if v == nil {
				p.Empty++
				continue
			}
			kind := []string{"empty", "number", "string"}[rank(v)]
			if p.Type == "empty" {
				p.Type, p.Min, p.Max = kind, v, v
			} else if p.Type != kind {
				p.Type = "mixed"
			}
			distinct[v] = true
			if compare(v, p.Min) < 0 {
				p.Min = v
			} else if compare(v, p.Max) > 0 {
				p.Max = v
			}
		}
		p.Distinct = len(distinct)
		res.Columns[c] = p
	}
	return res, nil
}

// StatsInput is the input of text_stats.
type StatsInput struct {
	Text string `json:"text"`
	Top  *int   `json:"top,omitempty"`
}

// StatsResult is the result of text_stats.
type StatsResult struct {
	Characters int              `json:"characters"`
	Words      int              `json:"words"`
	Lines      int              `json:"lines"`
	TopWords   []map[string]any `json:"topWords"`
}

// Stats counts a text and lists its most frequent words, five of them by default.
func Stats(in StatsInput) (*StatsResult, error) {
	words := strings.FieldsFunc(strings.ToLower(in.Text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
	rows := make([]map[string]any, len(words))
	for i, w := range words {
		rows[i] = map[string]any{"word": w}
	}
	top := 5
	if in.Top != nil {
		top = *in.Top
	}
	found := &QueryResult{Rows: []map[string]any{}}
	if len(words) > 0 {
		var err error
		if found, err = Query(QueryInput{
			Source: Source{Rows: rows}, GroupBy: []string{"word"}, Aggregates: []Aggregate{{Fn: "count", As: "count"}},
			OrderBy: []Order{{Column: "count", Descending: true}, {Column: "word"}}, Limit: &top,
		}); err != nil {
			return nil, err
		}
	}
	return &StatsResult{
		Characters: utf8.RuneCountInString(in.Text),
		Words:      len(words),
		Lines:      len(slices.Collect(strings.Lines(in.Text))),
		TopWords:   found.Rows,
	}, nil
}
