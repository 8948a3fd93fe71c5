package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

// callTool calls a tool as the host does, by name.
func callTool(t *testing.T, tools []host.RawTool, name, input string) (json.RawMessage, error) {
	t.Helper()
	for _, tool := range tools {
		if tool.Name == name {
			return tool.Call(t.Context(), json.RawMessage(input))
		}
	}
	t.Fatalf("no tool %s", name)
	return nil, nil
}

// result decodes what a tool gave.
func result[T any](t *testing.T, tools []host.RawTool, name, input string) T {
	t.Helper()
	text, err := callTool(t, tools, name, input)
	if err != nil {
		t.Fatalf("%s(%s): %v", name, input, err)
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s(%s): %v in %s", name, input, err, text)
	}
	return out
}

// wantCode checks that a call fails with a code.
func wantCode(t *testing.T, tools []host.RawTool, name, input, code string) {
	t.Helper()
	out, err := callTool(t, tools, name, input)
	var te *host.ToolError
	if !errors.As(err, &te) || string(te.Code) != code {
		t.Errorf("%s(%s) = %s, %v; want code %s", name, input, out, err, code)
	}
}

func TestClockNow(t *testing.T) {
	before := time.Now().UnixMilli()
	out := result[clockOutput](t, coreTools(), "clock_now", `{}`)
	if after := time.Now().UnixMilli(); out.UnixMs < before || out.UnixMs > after {
		t.Errorf("unixMs %d is not between %d and %d", out.UnixMs, before, after)
	}
	if when, err := time.Parse(time.RFC3339, out.Time); err != nil || when.UnixMilli() != out.UnixMs || !strings.HasSuffix(out.Time, "Z") {
		t.Errorf("time %q and unixMs %d disagree (%v)", out.Time, out.UnixMs, err)
	}
	for _, zone := range []string{"Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Local", "Europe/Berlin\x00"} {
		input, err := json.Marshal(map[string]string{"timeZone": zone})
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, coreTools(), "clock_now", string(input), "invalid_input")
	}
}

func TestHashText(t *testing.T) {
	for algorithm, want := range map[string]string{
		"":       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"sha1":   "a9993e364706816aba3e25717850c26c9cd0d89d",
		"md5":    "900150983cd24fb0d6963f7d28e17f72",
		"sha512": "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
	} {
		out := result[hashOutput](t, coreTools(), "hash_text", `{"text":"abc","algorithm":"`+algorithm+`"}`)
		if out.Hex != want || out.Bytes != 3 {
			t.Errorf("%s of abc is %+v, want %s", algorithm, out, want)
		}
	}
	wantCode(t, coreTools(), "hash_text", `{"text":"a","algorithm":"crc32"}`, "invalid_input")
	wantCode(t, coreTools(), "hash_text", `{"text":"a","Text":"b"}`, "invalid_input")
}

func TestUUID(t *testing.T) {
	form := map[int]*regexp.Regexp{
		4: regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
		7: regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
	}
	seen := map[string]bool{}
	for input, version := range map[string]int{`{"count":100}`: 4, `{"version":7,"count":100}`: 7} {
		for _, id := range result[uuidOutput](t, coreTools(), "uuid", input).UUIDs {
			if !form[version].MatchString(id) || seen[id] {
				t.Errorf("version %d: %q, seen before %v", version, id, seen[id])
			}
			seen[id] = true
		}
	}
	if len(seen) != 200 {
		t.Errorf("%d ids", len(seen))
	}
	when := time.UnixMilli(0x0123456789ab)
	if id := uuid(7, when); !strings.HasPrefix(id, "01234567-89ab-7") {
		t.Errorf("version 7 at %v is %s", when, id)
	}
	for _, input := range []string{`{"version":1}`, `{"count":101}`, `{"count":-1}`} {
		wantCode(t, coreTools(), "uuid", input, "invalid_input")
	}
}

func TestSleep(t *testing.T) {
	if out := result[sleepOutput](t, coreTools(), "sleep", `{"ms":1}`); out.Slept != 1 {
		t.Errorf("slept %d", out.Slept)
	}
	for _, input := range []string{`{"ms":-1}`, `{"ms":600001}`} {
		wantCode(t, coreTools(), "sleep", input, "invalid_input")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sleep(ctx, sleepInput{Milliseconds: 600000}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled sleep gives %v", err)
	}
}
