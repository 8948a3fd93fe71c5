// Package suggest guesses which word was meant: "did you mean ...?" for keys of
// files, names and flags that people type.
package suggest

import "strings"

// maxWord bounds the words that are compared, in bytes: the work is the product of
// two lengths.
const maxWord = 64

// Closest gives the candidate that a misspelt word most likely means: one within
// a third of its length in edits, and one more, else one that starts with it. It
// is empty where none is near.
func Closest(word string, candidates []string) string {
	if len(word) > maxWord {
		return ""
	}
	best, bestEdits := "", len(word)/3+2
	for _, c := range candidates {
		if edits := editDistance(word, c); edits < bestEdits {
			best, bestEdits = c, edits
		}
	}
	for _, c := range candidates {
		if best == "" && len(word) >= 3 && len(c) > len(word) && strings.EqualFold(c[:len(word)], word) {
			best = c
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours; a difference in case is free.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	previous, row, next := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		next[0] = i + 1
		for j := range y {
			cost := 1
			if lower(x[i]) == lower(y[j]) {
				cost = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+cost)
			if i > 0 && j > 0 && lower(x[i]) == lower(y[j-1]) && lower(x[i-1]) == lower(y[j]) {
				next[j+1] = min(next[j+1], previous[j-1]+1)
			}
		}
		previous, row, next = row, next, previous
	}
	return row[len(y)]
}

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
