package scaffold

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"hash/fnv"
	"strings"
	"testing"
)

// TestHashes compares the example in C with the standard library, at every length around its block sizes.
func TestHashes(t *testing.T) {
	i, tools := exampleInstance(t, "hashes")
	fnv64 := func(b []byte) []byte {
		h := fnv.New64a()
		h.Write(b)
		return h.Sum(nil)
	}
	sha := func(b []byte) []byte { s := sha256.Sum256(b); return s[:] }
	number := func(v uint32) []byte { return []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)} }
	algorithms := map[string]func([]byte) []byte{
		"sha256": sha, "fnv1a64": fnv64,
		"crc32":   func(b []byte) []byte { return number(crc32.ChecksumIEEE(b)) },
		"crc32c":  func(b []byte) []byte { return number(crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))) },
		"adler32": func(b []byte) []byte { return number(adler32.Checksum(b)) },
	}
	var items []string
	var data [][]byte
	for n := range 140 {
		b := bytes.Repeat([]byte{0xff, byte(n), 0, 0x80, byte(n * 7)}, n)[:n]
		data, items = append(data, b), append(items, base64.StdEncoding.EncodeToString(b))
	}
	big := bytes.Repeat([]byte("\xff\xfe0123456789"), 20000)
	data, items = append(data, big), append(items, base64.StdEncoding.EncodeToString(big))
	for name, sum := range algorithms {
		input, err := json.Marshal(map[string]any{"items": items, "from": "base64", "algorithm": name})
		if err != nil {
			t.Fatal(err)
		}
		got, err := runTool(t, i, tools["checksums"], input)
		if err != nil {
			t.Fatal(err)
		}
		var out struct{ Hex []string }
		if err := json.Unmarshal([]byte(got), &out); err != nil || len(out.Hex) != len(data) {
			t.Fatalf("%d results, %v", len(out.Hex), err)
		}
		for k := range data {
			if want := hex.EncodeToString(sum(data[k])); out.Hex[k] != want {
				t.Errorf("%s of %d bytes is %s, want %s", name, len(data[k]), out.Hex[k], want)
			}
		}
	}
	// The published vectors of XXH64.
	for _, v := range []struct{ input, want string }{
		{`{"data":""}`, "ef46db3751d8e999"},
		{`{"data":"a"}`, "d24ec4f1a98c6e5b"},
		{`{"data":"abc"}`, "44bc2cf5ad770999"},
		{`{"data":"Call me Ishmael. Some years ago--never mind how long precisely-"}`, "02a2e85470d6fd96"},
	} {
		got, err := runTool(t, i, tools["checksum"], json.RawMessage(v.input))
		if err != nil || !strings.Contains(got, v.want) {
			t.Errorf("xxh64 of %s = %s, %v, want %s", v.input, got, err, v.want)
		}
	}
}

func TestHashesConvert(t *testing.T) {
	i, tools := exampleInstance(t, "hashes")
	for n := range 40 {
		b := bytes.Repeat([]byte{0xfb, 0xef, 0xff, byte(n)}, 10)[:n]
		forms := map[string]string{"hex": hex.EncodeToString(b), "base64": base64.StdEncoding.EncodeToString(b), "base64url": base64.RawURLEncoding.EncodeToString(b)}
		for from, text := range forms {
			for to, want := range forms {
				got, err := runTool(t, i, tools["convert_bytes"], json.RawMessage(fmt.Sprintf(`{"data":%q,"from":%q,"to":%q}`, text, from, to)))
				if err != nil {
					t.Fatal(err)
				}
				sameJSON(t, from+" to "+to, got, fmt.Sprintf(`{"data":%q,"bytes":%d}`, want, n))
			}
		}
	}
	for _, v := range []struct{ data, from, code string }{
		{"0", "hex", "invalid_data"}, {"0g", "hex", "invalid_data"}, {"A", "base64", "invalid_data"}, {"A===", "base64", "invalid_data"}, {"AB==", "base64", "invalid_data"},
		{"AAE", "base64", ""}, {"QQ=", "base64", "invalid_data"}, {"=QQ=", "base64", "invalid_data"}, {"-_", "base64", "invalid_data"}, {"+/", "base64url", "invalid_data"},
		{"ff", "hex", "not_text"}, {"c0af", "hex", "not_text"}, {"eda080", "hex", "not_text"}, {"f4908080", "hex", "not_text"}, {"e282", "hex", "not_text"},
		{"f09f9a80e282ac5c22", "hex", ""}, {"00", "hex", ""},
	} {
		got, err := runTool(t, i, tools["convert_bytes"], json.RawMessage(fmt.Sprintf(`{"data":%q,"from":%q,"to":"text"}`, v.data, v.from)))
		if v.code == "" && err != nil || v.code != "" && (err == nil || !strings.HasPrefix(err.Error(), v.code)) {
			t.Errorf("%s from %s: %s, %v, want %q", v.data, v.from, got, err, v.code)
		}
	}
	got, err := runTool(t, i, tools["convert_bytes"], json.RawMessage(`{"data":"f09f9a80e282ac5c2200","from":"hex","to":"text"}`))
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "text", got, `{"data":"🚀€\\\"\u0000","bytes":10}`)
}

// TestJSONInC sends what JSON allows and people seldom write.
func TestJSONInC(t *testing.T) {
	i, tools := exampleInstance(t, "hashes")
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, v := range []struct{ input, want string }{
		{" {\n\t\"d\\u0061ta\" : \"\\ud83d\\ude80\\u20ac\\/\\\\\\\"\" , \"to\":\"hex\" } ", `{"data":"f09f9a80e282ac2f5c22","bytes":10}`},
		{`{"x":{"data":"no","y":[{"data":"no"}]},"data":"yes","to":"text"}`, `{"data":"yes","bytes":3}`},
		{`{"x":` + deep + `,"y":"]}\\","data":"yes","to":"text","from":null}`, `{"data":"yes","bytes":3}`},
		{`{"data":"\ud83dx","to":"hex"}`, `{"data":"efbfbd78","bytes":4}`},
		{`{"data":"\ud83d\ud83d\ude80","to":"hex"}`, `{"data":"efbfbdf09f9a80","bytes":7}`},
		{`{"data":"","to":"text"}`, `{"data":"","bytes":0}`},
	} {
		var e envelope
		e.read(t, call(t, i, "cloister_call", `{"abi":1,"tool":"convert_bytes","input":`+v.input+`}`))
		if e.Error != nil {
			t.Errorf("%.80s: %+v", v.input, e.Error)
			continue
		}
		sameJSON(t, v.input, string(e.Value), v.want)
	}
	for _, seed := range []struct{ text, same string }{{"1e3", "1000"}, {"2.0", "2"}, {"12e-1", "0"}, {"-0", "0"}, {"99999999999999999999", "0"}, {"1.50e1", "15"}} {
		a, errA := runTool(t, i, tools["checksum"], json.RawMessage(`{"data":"x","seed":`+seed.text+`}`))
		b, errB := runTool(t, i, tools["checksum"], json.RawMessage(`{"data":"x","seed":`+seed.same+`}`))
		if errA != nil || errB != nil || a != b {
			t.Errorf("the seed %s is not %s: %s, %s, %v, %v", seed.text, seed.same, a, b, errA, errB)
		}
	}
	// What is no request at all must not end the instance.
	for _, bad := range []string{``, `{`, `[]`, `"`, `{"abi":1`, `{"abi":1,"tool":"checksum","input":[]}`, `{"abi":1,"tool":"checksum","input":{"data":7}}`, `{"abi":1,"tool":"checksum","input":{"data":"\`, "\x00", `{"abi":"1"}`} {
		var e envelope
		e.read(t, call(t, i, "cloister_call", bad))
		if e.Error == nil {
			t.Errorf("%q: %s", bad, e.Value)
		}
	}
}

// TestTextTools holds the example in AssemblyScript to results worked out by hand, and its JSON to Go's.
func TestTextTools(t *testing.T) {
	i, tools := exampleInstance(t, "texttools")
	for _, v := range []struct{ tool, input, want string }{
		{"word_frequency", `{"text":""}`, `{"characters":0,"words":0,"distinct":0,"lines":0,"top":[]}`},
		{"word_frequency", `{"text":"Ünï — don’t 日本 🚀 e-mail, rock 'n' roll\r\n\r\n","top":3}`,
			`{"characters":42,"words":7,"distinct":7,"lines":2,"top":[{"word":"don’t","count":1},{"word":"e-mail","count":1},{"word":"n","count":1}]}`},
		{"slugify", `{"text":"日本語 テスト"}`, `{"slug":"日本語-テスト"}`},
		{"slugify", `{"text":"e\u0301te\u0301"}`, `{"slug":"ete"}`},
		{"slugify", `{"text":"...!"}`, `{"slug":""}`},
		{"slugify", `{"text":"abcdefgh ij","maxLength":5}`, `{"slug":"abcde"}`},
		{"text_distance", `{"a":"","b":""}`, `{"distance":0,"similarity":1}`},
		{"text_distance", `{"a":"","b":"abc"}`, `{"distance":3,"similarity":0}`},
		{"text_distance", `{"a":"flaw","b":"lawn"}`, `{"distance":2,"similarity":0.5}`},
		{"text_distance", `{"a":"abcabc","b":"abc"}`, `{"distance":3,"similarity":0.5}`},
		{"text_diff", `{"before":"a\nb\n","after":"a\r\nb"}`, `{"same":true,"added":0,"removed":0,"unified":""}`},
		{"text_diff", `{"before":"a\nb\nc","after":"","context":3}`, `{"same":false,"added":0,"removed":3,"unified":"@@ -1,3 +0,0 @@\n-a\n-b\n-c\n"}`},
		{"text_diff", `{"before":"1\n2\n3\n4\n5\n6\n7\n8\n9","after":"1\nX\n3\n4\n5\n6\n7\n8\nY","context":1}`,
			`{"same":false,"added":2,"removed":2,"unified":"@@ -1,3 +1,3 @@\n 1\n-2\n+X\n 3\n@@ -8,2 +8,2 @@\n 8\n-9\n+Y\n"}`},
		{"text_diff", `{"before":"1\n2\n3","after":"0\n2\n4","context":0}`, `{"same":false,"added":2,"removed":2,"unified":"@@ -1 +1 @@\n-1\n+0\n@@ -3 +3 @@\n-3\n+4\n"}`},
		{"fill_template", `{"template":"{{a}}{{ b.c.1 }}{{}}","values":{"a":"\"<ü\u0001>","b":{"c":[0,1.5e-7]}},"keepMissing":true}`, `{"text":"\"<ü\u0001>1.5e-7{{}}"}`},
		{"fill_template", `{"template":"{{v}}","values":{"v":[true,null,{"k":-0.1,"s":"\u2028\ud83d\ude80"},12345678901234,1e300]}}`,
			`{"text":"[true,null,{\"k\":-0.1,\"s\":\"\u2028🚀\"},12345678901234,1e+300]"}`},
	} {
		got, err := runTool(t, i, tools[v.tool], json.RawMessage(v.input))
		if err != nil {
			t.Errorf("%s: %v", v.input, err)
			continue
		}
		sameJSON(t, v.tool+" "+v.input, got, v.want)
	}
	long := strings.Repeat("x\n", 5000)
	for _, v := range []struct{ tool, input, code string }{
		{"fill_template", `{"template":"{{a}} {{b}} {{a}}","values":{"b":null}}`, `missing_value: there is no value for a, b;`},
		{"fill_template", `{"template":"x {{a","values":{}}`, "open_placeholder: the placeholder at character 3 "},
		{"text_distance", fmt.Sprintf(`{"a":%q,"b":%q}`, strings.Repeat("a", 9000), strings.Repeat("b", 9000)), "too_long"},
		{"text_diff", fmt.Sprintf(`{"before":%q,"after":%q}`, long, strings.ReplaceAll(long, "x", "y")), "too_long"},
	} {
		if got, err := runTool(t, i, tools[v.tool], json.RawMessage(v.input)); err == nil || !strings.HasPrefix(err.Error(), v.code) {
			t.Errorf("%s: %.80s, %v, want %s", v.tool, got, err, v.code)
		}
	}
	for _, bad := range []string{``, `{`, `[]`, `"`, `{"abi":1`, `{"abi":1,"tool":"slugify","input":[]}`, `{"abi":1,"tool":"slugify","input":{"text":"\`, "\x00", `{"abi":"1"}`,
		`{"abi":01}`, `{"abi":1.}`, `{"abi":-}`, `{"abi":1e}`, `{"abi":1,}`, `{"abi":1} x`, `{"abi":tru}`, `{"abi":"\u12"}`, strings.Repeat("[", 100000)} {
		var e envelope
		e.read(t, call(t, i, "cloister_call", bad))
		if e.Error == nil {
			t.Errorf("%q: %s", bad, e.Value)
		}
	}
}
