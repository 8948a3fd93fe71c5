package json5_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/internal/json5"
)

// Each document has one fault; the text of the error is what a user reads.
func TestSyntaxErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", "", "1:1: expected a value, found the end of the file"},
		{"only a comment", "// x\n", "2:1: expected a value, found the end of the file"},
		{"two values", "{}\n{}", "2:1: expected the end of the file after the value, found '{'"},
		{"closing bracket too many", "[]]", "1:3: expected the end of the file after the value, found ']'"},
		{"wrong bracket", "[1}", "1:3: expected ',' or ']', found '}'"},
		{"not white space", "\u200b1", `1:1: expected a value, found '\u200b'`},
		{"null byte", "\x00", `1:1: expected a value, found '\x00'`},

		{"open object", "{a: 1,\n b: {c: 1}\n", "3:1: the object that begins at 1:1 is not closed; end it with '}'"},
		{"open object after a comma", "{a: 1,", "1:7: expected a key or '}', found the end of the file"},
		{"open array", "[\n1", "2:2: the array that begins at 1:1 is not closed; end it with ']'"},
		{"open array after a comma", "[1,", "1:4: expected a value, found the end of the file"},
		{"comma alone in an object", "{,}", "1:2: expected a key or '}', found ','; put a key in quotes if it is not a plain name"},
		{"two commas in an object", "{a:1,,}", "1:6: expected a key or '}', found ','; put a key in quotes if it is not a plain name"},
		{"comma alone in an array", "[,]", "1:2: expected a value, found ','; a comma stands only after a value"},
		{"two commas in an array", "[1,,2]", "1:4: expected a value, found ','; a comma stands only after a value"},
		{"no comma", "{a: 1\n b: 2}", "2:2: expected ',' or '}', found 'b'"},
		{"no comma in an array", "[1 2]", "1:4: expected ',' or ']', found '2'"},
		{"number as a key", "{1: 2}", "1:2: expected a key or '}', found '1'; put a key in quotes if it is not a plain name"},
		{"hyphen in a key", "{a-b: 2}", "1:3: expected ':' after the key, found '-'"},
		{"equals sign", "{a = 2}", "1:4: expected ':' after the key, found '='"},
		{"no value", "{a: }", "1:5: expected a value, found '}'"},
		{"no colon", "{a}", "1:3: expected ':' after the key, found '}'"},
		{"backtick", "{a: `x`}", "1:5: expected a value, found '`'"},
		{"duplicate", "{a: 1,\n\"a\": 2}", `2:1: key "a" at 2:1 is already set at 1:2; keep one of them`},

		{"escape that is no letter", `{\u0031a: 1}`, "1:2: the escape of '1' cannot stand here in a key without quotes; put the key in quotes"},
		{"escape of a space", `{a\u0020: 1}`, `1:3: the escape of ' ' cannot stand here in a key without quotes; put the key in quotes`},
		{"escape of a surrogate", `{a\uD801\uDC37: 1}`, `1:3: the escape of '�' cannot stand here in a key without quotes; put the key in quotes`},
		{"short escape in a name", `{a\u12: 1}`, "1:3: the escape needs 4 hexadecimal digits, found ':'"},
		{"other escape in a name", `{a\x41: 1}`, `1:3: only \u and four hexadecimal digits can be escaped in a key without quotes`},

		{"Python", "{a: True}", `1:5: "True" is no value; put text in quotes (the words are null, true, false, Infinity, NaN)`},
		{"undefined", "undefined", `1:1: "undefined" is no value; put text in quotes (the words are null, true, false, Infinity, NaN)`},
		{"escaped word", `\u006eull`, `1:1: expected a value, found '\\'`},
		{"escape after a word", `nul\u006c`, `1:1: "nul" is no value; put text in quotes (the words are null, true, false, Infinity, NaN)`},
		{"words run together", "Infinity1", `1:1: "Infinity1" is no value; put text in quotes (the words are null, true, false, Infinity, NaN)`},

		{"open string", "[\n 'abc]", "2:2: the string is not closed; end it with '"},
		{"other quote", `"abc'`, `1:1: the string is not closed; end it with "`},
		{"open after a backslash", `'abc\`, "1:1: the string is not closed; end it with '"},
		{"line break", "{a: 'b\n'}", `1:7: line break in the string that begins at 1:5; close it with ', or end the line with \`},
		{"carriage return", "'b\r\n'", `1:3: line break in the string that begins at 1:1; close it with ', or end the line with \`},
		{"octal escape", `'\1'`, `1:2: octal escape; write \x and two hexadecimal digits`},
		{"octal zero", `'a\01'`, `1:3: octal escape; write \x and two hexadecimal digits`},
		{"nine", `'\9'`, `1:2: octal escape; write \x and two hexadecimal digits`},
		{"short hexadecimal escape", `'\x4'`, `1:2: the escape needs 2 hexadecimal digits, found '\''`},
		{"short unicode escape", `'\u123g'`, "1:2: the escape needs 4 hexadecimal digits, found 'g'"},
		{"braces in an escape", `'\u{1F600}'`, "1:2: the escape needs 4 hexadecimal digits, found '{'"},
		{"unicode escape at the end", `'\u12`, "1:2: the escape needs 4 hexadecimal digits, found the end of the file"},

		{"sign alone", "-", "1:2: expected a number after the sign, found the end of the file"},
		{"space after the sign", "- 1", "1:2: expected a number after the sign, found ' '"},
		{"two signs", "+-1", "1:2: expected a number after the sign, found '-'"},
		{"signed word", "-true", `1:2: expected a number after the sign, found "true"`},
		{"signed start of a word", "-Infinit", `1:2: expected a number after the sign, found "Infinit"`},
		{"leading zero", "[010]", "1:2: a number may not begin with 0 and more digits; drop the zeros, or write 0x for hexadecimal"},
		{"leading zeros after a sign", "[-00.5]", "1:2: a number may not begin with 0 and more digits; drop the zeros, or write 0x for hexadecimal"},
		{"point alone", ".", "1:2: expected a digit beside the decimal point, found the end of the file"},
		{"point and exponent", ".e1", "1:2: expected a digit beside the decimal point, found 'e'"},
		{"two points", "1.2.3", "1:4: expected the end of the file after the value, found '.'"},
		{"exponent alone", "1e", "1:3: expected a digit in the exponent, found the end of the file"},
		{"exponent with a point", "1e1.5", "1:4: expected the end of the file after the value, found '.'"},
		{"exponent with two signs", "1e+-5", "1:4: expected a digit in the exponent, found '-'"},
		{"hexadecimal alone", "0x", "1:3: expected a hexadecimal digit after 0x, found the end of the file"},
		{"hexadecimal with a letter", "0xfg", "1:4: 'g' cannot follow a number; put text in quotes"},
		{"hexadecimal with a point", "0x1.8p1", "1:4: expected the end of the file after the value, found '.'"},
		{"unit", "{a: 10ms}", "1:7: 'm' cannot follow a number; put text in quotes"},
		{"underscore", "1_000", "1:2: '_' cannot follow a number; put text in quotes"},
		{"bigint", "1n", "1:2: 'n' cannot follow a number; put text in quotes"},
		{"binary", "0b1", "1:2: 'b' cannot follow a number; put text in quotes"},
		{"escape after a number", `1\u0061`, `1:2: '\\' cannot follow a number; put text in quotes`},
		{"beyond the range", "\n1e999", `2:1: "1e999" is beyond the range of numbers; write Infinity if you mean it`},

		{"open comment", "[1, /* x", "1:5: comment is not closed; end it with */"},
		{"open comment after a star", "1 /*/", "1:3: comment is not closed; end it with */"},
		{"nested comment", "/* /* */ */ 1", "1:10: expected a value, found '*'"},
		{"slash alone", "1 / 2", "1:3: '/' begins no comment here; write // or /*"},
		{"hash comment", "# x\n1", "1:1: expected a value, found '#'"},
		{"comment in a number", "1/**/2", "1:6: expected the end of the file after the value, found '2'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := json5.Parse("dir/in.json5", []byte(tt.in))
			if n != nil || err == nil {
				t.Fatalf("Parse = %v, %v; want an error", n, err)
			}
			if _, ok := errors.AsType[*json5.SyntaxError](err); !ok {
				t.Errorf("error is a %T", err)
			}
			if got, want := err.Error(), "dir/in.json5:"+tt.want; got != want {
				t.Errorf("error\n got %s\nwant %s", got, want)
			}
		})
	}
}

// An error quotes little of the document and nothing raw: it goes to terminals and logs.
func TestErrorsQuoteSafely(t *testing.T) {
	long := strings.Repeat("k", 100_000)
	for _, in := range []string{
		"{'" + long + "':1,'" + long + "':2}",
		long,
		"-" + long,
		"{'\x1b[31m':1,'\x1b[31m':2}",
		"{'\\n':1,'\\n':2}",
		"{'\u202e':1,'\u202e':2}",
		"\x1b",
		"[1\u2028\u202e]",
	} {
		_, err := json5.Parse("in.json5", []byte(in))
		if err == nil {
			t.Errorf("%.20q was accepted", in)
			continue
		}
		text := err.Error()
		if len(text) > 250 {
			t.Errorf("%.20q: the error has %d bytes", in, len(text))
		}
		if strings.ContainsAny(text, "\x1b\n\u202e") {
			t.Errorf("%.20q: the error holds raw characters: %q", in, text)
		}
	}
}
