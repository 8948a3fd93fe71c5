// Package plaintext makes the texts of strangers safe: those of models, plugins, MCP servers, registries and files. Text
// injection is the threat: escape sequences that steer a terminal, line breaks that forge a line of a log or a form, bidirectional
// controls that show another order than the bytes have (Trojan Source, CVE-2021-42574), and characters that show nothing and so
// hide text from a person that a model or a program reads (ASCII smuggling by tags and variation selectors). There are four verbs,
// which differ in what becomes of dangerous characters:
//
//   - [Clip] keeps them: for data, which goes to a program or is shown by another verb later.
//   - [Line] and [Lines] write U+FFFD in their place: for errors, logs and traces.
//   - [Show] and [ShowLines] spell them out, as in \u{202e}: for what a person decides by.
//   - [Prompt] and [PromptLines] take them out: for what a model reads.
//
// What every verb promises: the result is valid UTF-8; it has at most the given number of bytes, the mark "…" of a cut included,
// and is never cut inside of a character, an escape, or an emoji sequence; and whoever applies a verb again, with the same bound or a
// larger one, gets the same text. Line, Show and Prompt have no dangerous character in their result. All functions are safe for
// concurrent use.
//
// # Dangerous characters
//
// The list is the same for all verbs, and no other package has one of its own (internal/lint sees to that):
//
//   - Controls (C0, DEL, C1), and line and paragraph separators. UTR #36, section 3.
//   - All of Unicode's Default_Ignorable_Code_Point (UAX #44): soft hyphen, zero width characters, bidirectional marks, embeddings,
//     overrides and isolates, variation selectors, tags, Hangul fillers, the combining grapheme joiner, the Mongolian vowel
//     separator. UTS #39 has them as Default_Ignorable, which its General Security Profile for Identifiers leaves out.
//   - Every other format character (Cf), interlinear annotation included, but for the prefixed number signs of Arabic, Syriac and
//     Kaithi, which are visible.
//   - What is blank though it counts as a symbol or a mark: the braille pattern blank, the null notehead, the Khitan filler, the
//     object replacement character.
//   - Private use, noncharacters and characters that Unicode had not assigned when this was built: what they show is not known.
//   - Combining marks after the fourth of a row (UTS #39, section 5.4) and those without a letter, a number or a symbol below them,
//     which would change the text around a stranger's.
//
// Two kinds of invisible characters are parts of what people write, names of persons among it, and stay where they do something:
// joiners (U+200C, U+200D) between two letters of one script that has use for them, such as Persian or Hindi, and between emoji;
// and U+FE0E and U+FE0F after the symbols that have a form as text and one as emoji (UTS #51). They are dangerous everywhere else. So each
// visible character can come with one choice that is not seen, which is no more than look-alike letters allow. Ideographic
// variation sequences, Mongolian variants and flags made of tags lose their selectors, not what can be read: these are the
// characters in which whole texts are hidden.
//
// Characters that look like others (UTS #39 calls them confusables) are no matter of this package.
package plaintext
