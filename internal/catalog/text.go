package catalog

import (
	"strings"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// promptText makes the first sentence of hostile prose fit for a line of a model's prompt: one line, no backtick and no
// angle bracket (they could end a code fence or a tag around the text), at most limit runes.
func promptText(s string, limit int) string {
	words := strings.Fields(prompt(s, limit))
	var b strings.Builder
	runes := 0
	for i, word := range words {
		word = promptReplacer.Replace(word)
		n := utf8.RuneCountInString(word)
		if runes+1+n > limit {
			if i == 0 {
				return plaintext.Characters(word+"…", limit)
			}
			b.WriteString("…")
			break
		}
		if i > 0 {
			b.WriteByte(' ')
			runes++
		}
		b.WriteString(word)
		runes += n
		if endsSentence(word) {
			break
		}
	}
	return strings.TrimSuffix(b.String(), ".")
}

var promptReplacer = strings.NewReplacer("`", "'", "<", "‹", ">", "›")

// endsSentence tells a full stop from the point of an abbreviation such as "e.g." or "i.e.".
func endsSentence(word string) bool {
	if !strings.HasSuffix(word, ".") || len(word) < 2 {
		return false
	}
	return !strings.Contains(word[:len(word)-1], ".") && word != "etc."
}

// PromptText makes hostile prose fit for a line of a model's prompt, as [plaintext.Prompt] does, and without backticks and angle
// brackets, at most limit characters.
func PromptText(s string, limit int) string {
	return plaintext.Characters(promptReplacer.Replace(prompt(s, limit)), limit)
}

// prompt is the beginning of a text that is on its way into a prompt: enough for limit characters and the white space between them.
func prompt(s string, limit int) string {
	return plaintext.Prompt(plaintext.Head(s, limit*8), plaintext.Whole)
}
