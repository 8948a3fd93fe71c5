package catalog

// cost is a number of tokens in parts of costUnit. It adds up over pieces of a text, which a real tokenizer's count does
// not, so that a budget can be split before the text is put together.
type cost int64

const (
	costUnit  = 20
	maxBudget = 1 << 24 // tokens; no model reads more, and the arithmetic stays far from overflow
)

// EstimateTokens guesses how many tokens a language model makes of a text. It errs on the high side for the names, signatures and
// English prose of a tool index (by some 10 to 30 % against the byte-pair vocabularies in wide use), and for other scripts.
func EstimateTokens(s string) int {
	return int((costOf(s) + costUnit - 1) / costUnit)
}

func costOf(s string) (sum cost) {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z':
			sum += 5
		case c == ' ':
			sum += 1
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			sum += 8
		case c == '_':
			sum += 16
		case c < 0x80:
			sum += 11
		default:
			sum += 14 // each byte of a longer encoding
		}
	}
	return sum
}
