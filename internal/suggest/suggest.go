// Package suggest guesses which word was meant: "did you mean ...?" for keys of
// files, names and flags that people type, and for names of tools and members that programs write.
package suggest

import "strings"

// MaxWord bounds the words that are compared, in bytes: the work is the product of
// two lengths.
const MaxWord = 64

// Closest returns the candidate that a misspelt word most likely means: one within
// a third of its length in edits, and one more, else one that starts with it. It
// is empty where none is near. Case does not count.
func Closest(word string, candidates []string) string {
	if len(word) > MaxWord {
		return ""
	}
	folded := strings.ToLower(word)
	best, edits := "", len(word)/3+1
	for _, c := range candidates {
		if d := Distance(folded, strings.ToLower(c), edits); d <= edits {
			if best, edits = c, d-1; edits < 0 {
				break
			}
		}
	}
	for _, c := range candidates {
		if best == "" && len(word) >= 3 && len(c) > len(word) && strings.EqualFold(c[:len(word)], word) {
			best = c
		}
	}
	return best
}

// Distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b, by bytes, or
// returns most+1 when there are more than most, and for words of more than MaxWord bytes. It allocates nothing.
func Distance(a, b string, most int) int {
	if len(a) > MaxWord || len(b) > MaxWord {
		return most + 1
	}
	var rows [3][MaxWord + 1]uint8
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = uint8(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = uint8(i)
		least := row[0]
		for j := 1; j <= len(b); j++ {
			cost := uint8(1)
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j-1]+cost, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if int(least) > most {
			return most + 1
		}
		before, last, row = last, row, before
	}
	return min(int(last[len(b)]), most+1)
}
