package main

import (
	"bytes"
	"math/rand/v2"
	"strings"
)

// change is a way to change bytes, by name.
type change struct {
	name string
	do   func(r *rand.Rand, b []byte) []byte
}

// changes are what disks, networks and people do to bytes, and what somebody does who
// wants to be misread. None changes b itself.
var changes = []change{
	{"bits flipped", flip}, {"a byte set", setByte}, {"cut off", func(r *rand.Rand, b []byte) []byte { return b[:at(r, b)] }},
	{"a part removed", remove}, {"a part repeated", repeat}, {"parts swapped", swap}, {"zeros", zeros}, {"bytes added", add},
	{"a number changed", number}, {"a letter's case changed", letterCase}, {"white space added", space}, {"a member repeated", member},
}

// damage changes bytes in one way.
func damage(r *rand.Rand, b []byte) ([]byte, string) {
	c := changes[r.IntN(len(changes))]
	return c.do(r, b), c.name
}

func at(r *rand.Rand, b []byte) int { return r.IntN(max(1, len(b))) }

func part(r *rand.Rand, b []byte) (from, to int) {
	from = at(r, b)
	return from, min(len(b), from+1+r.IntN(64)<<r.IntN(5))
}

func flip(r *rand.Rand, b []byte) []byte {
	out := bytes.Clone(b)
	for range 1 + r.IntN(4) {
		if len(out) > 0 {
			out[at(r, b)] ^= 1 << r.IntN(8)
		}
	}
	return out
}

func setByte(r *rand.Rand, b []byte) []byte {
	out := bytes.Clone(b)
	if len(out) > 0 {
		out[at(r, b)] = byte(r.IntN(256))
	}
	return out
}

func remove(r *rand.Rand, b []byte) []byte {
	from, to := part(r, b)
	return bytes.Join([][]byte{b[:min(from, len(b))], b[to:]}, nil)
}

func repeat(r *rand.Rand, b []byte) []byte {
	from, to := part(r, b)
	where := at(r, b)
	return bytes.Join([][]byte{b[:min(where, len(b))], b[min(from, to):to], b[min(where, len(b)):]}, nil)
}

func swap(r *rand.Rand, b []byte) []byte {
	out := bytes.Clone(b)
	one, oneEnd := part(r, b)
	two, twoEnd := part(r, b)
	n := min(oneEnd-one, twoEnd-two)
	if n > 0 {
		copy(out[one:one+n], b[two:two+n])
		copy(out[two:two+n], b[one:one+n])
	}
	return out
}

func zeros(r *rand.Rand, b []byte) []byte {
	out := bytes.Clone(b)
	if from, to := part(r, b); from < to {
		clear(out[from:to])
	}
	return out
}

func add(r *rand.Rand, b []byte) []byte {
	more := make([]byte, 1+r.IntN(600))
	for i := range more {
		if r.IntN(2) == 0 {
			more[i] = byte(r.IntN(256))
		}
	}
	where := len(b)
	if r.IntN(2) == 0 {
		where = min(at(r, b), len(b))
	}
	return bytes.Join([][]byte{b[:where], more, b[where:]}, nil)
}

// some gives a place that holds one of the characters, or -1.
func some(r *rand.Rand, b []byte, characters string) int {
	for range 200 {
		if i := at(r, b); i < len(b) && strings.IndexByte(characters, b[i]) >= 0 {
			return i
		}
	}
	return -1
}

func number(r *rand.Rand, b []byte) []byte {
	i := some(r, b, "0123456789")
	if i < 0 {
		return b
	}
	out := bytes.Clone(b)
	out[i] = byte('0' + r.IntN(10))
	return out
}

func letterCase(r *rand.Rand, b []byte) []byte {
	i := some(r, b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if i < 0 {
		return b
	}
	out := bytes.Clone(b)
	out[i] ^= 0x20
	return out
}

func space(r *rand.Rand, b []byte) []byte {
	i := some(r, b, "{}[],:")
	if i < 0 {
		return b
	}
	return bytes.Join([][]byte{b[:i], []byte(" \n"[r.IntN(2):][:1]), b[i:]}, nil)
}

// member repeats a member of a JSON object behind itself, or in another letter case.
func member(r *rand.Rand, b []byte) []byte {
	i := some(r, b, ",")
	if i < 0 {
		return b
	}
	end := bytes.IndexByte(b[i+1:], ',')
	if end < 0 {
		return b
	}
	copied := bytes.Clone(b[i : i+1+end])
	if q := bytes.IndexByte(copied, '"'); q >= 0 && q+1 < len(copied) && r.IntN(2) == 0 {
		copied[q+1] ^= 0x20
	}
	return bytes.Join([][]byte{b[:i], copied, b[i:]}, nil)
}
