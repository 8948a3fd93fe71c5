package clientconfig

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
)

// yamlFlow reads a value that is on one line.
type yamlFlow struct {
	text string
	at   int
}

var (
	errYAMLSyntax = errors.New("its value is not understood")
	yamlNumber    = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

func (f *yamlFlow) space() {
	for f.at < len(f.text) && f.text[f.at] == ' ' {
		f.at++
	}
}

// end wants nothing but a comment after the value.
func (f *yamlFlow) end() error {
	at := f.at
	f.space()
	if f.at == len(f.text) || f.text[f.at] == '#' && f.at > at {
		return nil
	}
	return errYAMLSyntax
}

func (f *yamlFlow) value(depth int) (any, error) {
	f.space()
	if f.at == len(f.text) || depth > 16 {
		return nil, errYAMLSyntax
	}
	switch c := f.text[f.at]; {
	case c == '"' || c == '\'':
		return f.quoted()
	case c == '[':
		return f.sequence(depth)
	case c == '{':
		return f.mapping(depth)
	case strings.ContainsRune("&*!|>%@`]},#\t", rune(c)):
		return nil, errYAMLSyntax
	}
	return f.plain(depth > 0)
}

// quoted reads a string in quotes.
func (f *yamlFlow) quoted() (any, error) {
	quote := f.text[f.at]
	for end := f.at + 1; end < len(f.text); end++ {
		switch {
		case f.text[end] == '\\' && quote == '"':
			end++
		case f.text[end] == quote && quote == '\'' && strings.HasPrefix(f.text[end:], "''"):
			end++
		case f.text[end] == quote:
			inner := f.text[f.at : end+1]
			f.at = end + 1
			if quote == '\'' {
				return strings.ReplaceAll(inner[1:len(inner)-1], "''", "'"), nil
			}
			var text string // the escapes of JSON mean the same in YAML; others are refused
			if err := json.Unmarshal([]byte(inner), &text); err != nil {
				return nil, errYAMLSyntax
			}
			return text, nil
		}
	}
	return nil, errYAMLSyntax
}

func (f *yamlFlow) sequence(depth int) (any, error) {
	list := []any{}
	for f.at++; ; {
		if f.space(); f.at < len(f.text) && f.text[f.at] == ']' {
			f.at++
			return list, nil
		}
		value, err := f.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
		if err := f.separator(']'); err != nil {
			return nil, err
		}
	}
}

// separator takes a comma, which may be missing before the end.
func (f *yamlFlow) separator(closing byte) error {
	f.space()
	switch {
	case f.at < len(f.text) && f.text[f.at] == ',':
		f.at++
		return nil
	case f.at < len(f.text) && f.text[f.at] == closing:
		return nil
	}
	return errYAMLSyntax
}

func (f *yamlFlow) mapping(depth int) (any, error) {
	tree := map[string]any{}
	for f.at++; ; {
		if f.space(); f.at < len(f.text) && f.text[f.at] == '}' {
			f.at++
			return tree, nil
		}
		key, err := f.value(depth + 1)
		if err != nil {
			return nil, err
		}
		name, isText := key.(string)
		if _, twice := tree[name]; !isText || twice {
			return nil, errYAMLSyntax
		}
		if f.space(); f.at == len(f.text) || f.text[f.at] != ':' {
			return nil, errYAMLSyntax
		}
		f.at++
		if tree[name], err = f.value(depth + 1); err != nil {
			return nil, err
		}
		if err := f.separator('}'); err != nil {
			return nil, err
		}
	}
}

// plain reads a scalar without quotes, within a flow collection or to the end of the line.
func (f *yamlFlow) plain(inFlow bool) (any, error) {
	end := f.at
	for ; end < len(f.text); end++ {
		c := f.text[end]
		next := end+1 == len(f.text) || f.text[end+1] == ' '
		if c == '\t' || inFlow && (c == '[' || c == '{') {
			return nil, errYAMLSyntax
		}
		if c == '#' && f.text[end-1] == ' ' || inFlow && (c == ',' || c == ']' || c == '}' || c == ':' && (next || strings.ContainsRune(",]}", rune(f.text[end+1])))) {
			break
		}
		if c == ':' && next {
			return nil, errYAMLSyntax // a mapping where a scalar is
		}
	}
	text := strings.TrimRight(f.text[f.at:end], " ")
	f.at += len(text)
	if text == "-" || text == "?" || text == "" || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "? ") {
		return nil, errYAMLSyntax
	}
	return yamlScalar(text), nil
}

// yamlScalar gives a plain scalar its type, by the core schema of YAML 1.2.
func yamlScalar(text string) any {
	switch text {
	case "null", "Null", "NULL", "~":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if yamlNumber.MatchString(text) {
		return json.Number(text)
	}
	return text
}

// splitKey cuts "key: rest" apart; it is none if there is no colon.
func splitKey(text string) (key, rest string, ok bool, err error) {
	f := &yamlFlow{text: text}
	if text[0] == '"' || text[0] == '\'' {
		value, err := f.quoted()
		if err != nil {
			return "", "", false, err
		}
		key, _ = value.(string)
		f.space()
		if !strings.HasPrefix(text[f.at:], ":") {
			return "", "", false, nil
		}
	} else {
		if strings.ContainsRune("[{", rune(text[0])) {
			return "", "", false, nil
		}
		for f.at = 0; f.at < len(text); f.at++ {
			if text[f.at] == '#' && f.at > 0 && text[f.at-1] == ' ' {
				return "", "", false, nil
			}
			if text[f.at] == ':' && (f.at+1 == len(text) || text[f.at+1] == ' ') {
				break
			}
		}
		if f.at == len(text) {
			return "", "", false, nil
		}
		key = strings.TrimRight(text[:f.at], " ")
		if key == "" || key == "<<" || strings.ContainsRune("?&*!|>%@`,]}-", rune(key[0])) || strings.ContainsRune(key, '\t') {
			return "", "", false, errors.New("its key is not understood")
		}
	}
	return key, strings.TrimLeft(text[f.at+1:], " "), true, nil
}
