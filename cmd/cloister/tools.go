package main

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

// coreTools are the tools of every run: pure ones, without files or network.
func coreTools() []host.RawTool {
	return []host.RawTool{
		host.Tool("clock_now", "Current date and time, as RFC 3339 text and as milliseconds since 1970. "+
			"A time zone is an IANA name such as Europe/Berlin; the default is UTC.", clockNow),
		host.Tool("hash_text", "Digest (hash, checksum) of a text's UTF-8 bytes, in hexadecimal: sha256 (the default), sha512, sha1 or md5.", hashText),
		host.Tool("uuid", "New UUIDs: version 4 is random (the default), version 7 sorts by time.", newUUIDs),
		host.Tool("sleep", "Waits for a number of milliseconds, at most 600000. Cells have no timers of their own.", sleep),
	}
}

type clockInput struct {
	TimeZone string `json:"timeZone,omitempty" jsonschema:"IANA name of a time zone, such as Europe/Berlin; default UTC"`
}

type clockOutput struct {
	Time     string `json:"time" jsonschema:"RFC 3339, with the offset of the time zone"`
	UnixMs   int64  `json:"unixMs" jsonschema:"milliseconds since 1970-01-01 UTC"`
	Weekday  string `json:"weekday" jsonschema:"English name of the day"`
	TimeZone string `json:"timeZone"`
}

func clockNow(_ context.Context, in clockInput) (clockOutput, error) {
	zone, err := time.LoadLocation(in.TimeZone)
	if err != nil || in.TimeZone == "Local" {
		return clockOutput{}, badInput("timeZone %q is not known; give an IANA name such as Europe/Berlin", in.TimeZone)
	}
	now := time.Now().In(zone)
	return clockOutput{
		Time: now.Format("2006-01-02T15:04:05.000Z07:00"), UnixMs: now.UnixMilli(),
		Weekday: now.Weekday().String(), TimeZone: zone.String(),
	}, nil
}

type hashInput struct {
	Text      string `json:"text"`
	Algorithm string `json:"algorithm,omitempty" jsonschema:"sha256 (default), sha512, sha1 or md5"`
}

type hashOutput struct {
	Hex       string `json:"hex"`
	Algorithm string `json:"algorithm"`
	Bytes     int    `json:"bytes" jsonschema:"length of the text in UTF-8"`
}

func hashText(_ context.Context, in hashInput) (hashOutput, error) {
	out := hashOutput{Algorithm: in.Algorithm, Bytes: len(in.Text)}
	data := []byte(in.Text)
	switch in.Algorithm {
	case "", "sha256":
		sum := sha256.Sum256(data)
		out.Algorithm, out.Hex = "sha256", hex.EncodeToString(sum[:])
	case "sha512":
		sum := sha512.Sum512(data)
		out.Hex = hex.EncodeToString(sum[:])
	case "sha1":
		sum := sha1.Sum(data)
		out.Hex = hex.EncodeToString(sum[:])
	case "md5":
		sum := md5.Sum(data)
		out.Hex = hex.EncodeToString(sum[:])
	default:
		return hashOutput{}, badInput("algorithm %q is not known; use sha256, sha512, sha1 or md5", in.Algorithm)
	}
	return out, nil
}

type uuidInput struct {
	Version int `json:"version,omitempty" jsonschema:"4 (default) or 7"`
	Count   int `json:"count,omitempty" jsonschema:"how many, 1 (default) to 100"`
}

type uuidOutput struct {
	UUIDs []string `json:"uuids"`
}

func newUUIDs(_ context.Context, in uuidInput) (uuidOutput, error) {
	if in.Version == 0 {
		in.Version = 4
	}
	if in.Count == 0 {
		in.Count = 1
	}
	if in.Version != 4 && in.Version != 7 {
		return uuidOutput{}, badInput("version must be 4 or 7")
	}
	if in.Count < 1 || in.Count > 100 {
		return uuidOutput{}, badInput("count must be 1 to 100")
	}
	out := uuidOutput{UUIDs: make([]string, in.Count)}
	for i := range out.UUIDs {
		out.UUIDs[i] = uuid(in.Version, time.Now())
	}
	return out, nil
}

// uuid makes one UUID as RFC 9562 lays it out.
func uuid(version int, now time.Time) string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	if version == 7 {
		ms := now.UnixMilli()
		for i := range 6 {
			b[i] = byte(ms >> (40 - 8*i))
		}
	}
	b[6] = b[6]&0x0f | byte(version)<<4
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// maxSleep bounds one call of sleep.
const maxSleep = 10 * time.Minute

type sleepInput struct {
	Milliseconds int `json:"ms" jsonschema:"how long, 0 to 600000"`
}

type sleepOutput struct {
	Slept int `json:"slept" jsonschema:"milliseconds"`
}

func sleep(ctx context.Context, in sleepInput) (sleepOutput, error) {
	if in.Milliseconds < 0 || in.Milliseconds > int(maxSleep/time.Millisecond) {
		return sleepOutput{}, badInput("ms must be 0 to %d", maxSleep/time.Millisecond)
	}
	timer := time.NewTimer(time.Duration(in.Milliseconds) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return sleepOutput{Slept: in.Milliseconds}, nil
	case <-ctx.Done():
		return sleepOutput{}, ctx.Err()
	}
}

func badInput(format string, args ...any) error {
	return &host.ToolError{Name: "TypeError", Code: "invalid_input", Message: fmt.Sprintf(format, args...)}
}
