package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/declare"
)

// maxSummary bounds the description that follows a signature, in runes.
const maxSummary = 90

// Index renders the tools for the description of exec: every owner with its tools, most useful form first that fits the
// budget. The budget, in tokens, is split fairly: an owner that needs little leaves the rest to those that need more, and
// none can crowd out another. An owner's tools are shown, as its share allows, with signature and summary, with
// signature, or by name; what does not fit is counted in a line that says how to search for it:
//
//	cloister:core:* (14 tools)
//	- tools.read_file({path: string, head?: number}): string // Read the whole content of a file as text
//	- tools.call("cloister:core:delete", {path: string})
//	- names: grep, list_directory
//	- 7 more: tools.search("core")
//
// The text is the same for the same catalog and budget, so that prompt caches hold. MCP tools are not in it: guest code
// reaches them through MCP and API. Everything in it that owners wrote is neutralised: one line, no control, format or
// invisible characters, no backticks, no angle brackets; signatures are ASCII. It remains text by strangers: the summary stands
// behind "//" as a comment, and the caller should say that it is data. The result never estimates to more tokens than the
// budget (see [EstimateTokens]); a budget that is too small for anything gives "".
func (c *Catalog) Index(tokenBudget int) string {
	if tokenBudget <= 0 || len(c.search.docs) == 0 {
		return ""
	}
	budget := cost(min(tokenBudget, maxBudget)) * costUnit
	blocks := c.ownerBlocks()
	kept, least := fitting(blocks, budget)
	if least > budget {
		return ""
	}
	shown := make([]*ownerBlock, kept)
	for i := range shown {
		shown[i] = &blocks[i]
		shown[i].prepare(c, budget)
	}
	shareOut(shown, budget-least)
	var out strings.Builder
	named := 0
	for _, b := range shown {
		out.WriteString(b.text)
		named += len(b.entries)
	}
	if kept < len(blocks) {
		out.WriteString(trailer(len(c.search.docs)-named, len(blocks)-kept))
	}
	return out.String()
}

// shareOut renders the owners. Those that need least come first, so that what they leave of their even share goes to the
// others.
func shareOut(blocks []*ownerBlock, spare cost) {
	order := slices.Clone(blocks)
	slices.SortStableFunc(order, func(a, b *ownerBlock) int { return cmp.Compare(a.need(), b.need()) })
	for i, b := range order {
		b.render(b.least() + spare/cost(len(order)-i))
		spare -= costOf(b.text) - b.least()
	}
}

// fitting returns how many owners can at least be named, and what naming them costs, the trailer included.
func fitting(blocks []ownerBlock, budget cost) (kept int, least cost) {
	sums := make([]cost, len(blocks)+1)
	for i := range blocks {
		sums[i+1] = sums[i] + blocks[i].least()
	}
	kept = len(blocks)
	hidden := 0 // tools of the owners that are not named
	for least = sums[kept]; least > budget && kept > 0; {
		kept--
		hidden += len(blocks[kept].entries)
		least = sums[kept] + costOf(trailer(hidden, len(blocks)-kept))
	}
	return kept, least
}

// trailer counts the tools of the owners that could not even be named.
func trailer(tools, owners int) string {
	return fmt.Sprintf("%d more tools of %d owners: tools.search(query)\n", tools, owners)
}

// ownerBlock is the part of the index that belongs to one owner.
type ownerBlock struct {
	head    string // "cloister:core:* (14 tools)" without line end
	owner   string
	entries []*Entry
	tools   []toolLine
	text    string // as rendered
}

// toolLine is one tool in its three forms, with what they cost.
type toolLine struct {
	full, short                   string // lines with their ends
	fullCost, shortCost, nameCost cost
}

// tooDear is the cost of a line that no budget can hold. A catalog's worth of them does not overflow.
const tooDear = cost(1) << 40

// ownerBlocks groups the tools by owner, in catalog order.
func (c *Catalog) ownerBlocks() []ownerBlock {
	var blocks []ownerBlock
	docs := c.search.docs
	for begin := 0; begin < len(docs); {
		first := docs[begin]
		end, mark, plural := begin, "", ""
		for ; end < len(docs) && docs[end].Owner == first.Owner && docs[end].Tier == first.Tier; end++ {
			if docs[end].Unsigned {
				mark = ", unsigned"
			}
		}
		if end-begin > 1 {
			plural = "s"
		}
		head := fmt.Sprintf("%s:%s:* (%d tool%s%s)", first.Source, first.Owner, end-begin, plural, mark)
		blocks = append(blocks, ownerBlock{head: head, owner: first.Owner, entries: docs[begin:end]})
		begin = end
	}
	return blocks
}

// prepare makes the lines of the owner's tools. Once they cost more than the whole budget the rest can only be named, and
// their schemas are left alone.
func (b *ownerBlock) prepare(c *Catalog, budget cost) {
	b.tools = make([]toolLine, len(b.entries))
	sum := cost(0)
	for i, e := range b.entries {
		t := &b.tools[i]
		t.nameCost = costOf(", " + e.Name)
		if sum > budget {
			t.fullCost, t.shortCost = tooDear, tooDear
			continue
		}
		t.full, t.short = c.lines(e)
		t.fullCost, t.shortCost = costOf(t.full), costOf(t.short)
		sum += t.shortCost
	}
}

// lines renders one tool with and without its summary. Its schemas were parsed by Build; they are parsed again here because
// keeping every tree would cost more memory than the schemas themselves.
func (c *Catalog) lines(e *Entry) (full, short string) {
	arguments, returns := "input?: object", ""
	if s, err := declare.Parse(e.Parameters); err == nil {
		arguments = declare.Signature(s)
	}
	if e.Returns != nil {
		if s, err := declare.Parse(e.Returns); err == nil {
			returns = ": " + declare.Line(s)
		}
	}
	name := convenienceName(e.Name)
	call := "tools." + name + "(" + arguments + ")"
	if name == "" || c.convenience[name] != e.ID {
		call = `tools.call("` + e.ID + `"`
		if arguments != "" {
			call += ", " + arguments
		}
		call += ")"
	}
	short = "- " + call + returns
	full = short
	if summary := promptText(e.Description, maxSummary); summary != "" {
		full += " // " + summary
	}
	return full + "\n", short + "\n"
}

func (b *ownerBlock) moreLine(n int) string {
	return fmt.Sprintf("- %d more: tools.search(%q)\n", n, b.owner)
}

// leastText names the owner and how to find its tools.
func (b *ownerBlock) leastText() string {
	return fmt.Sprintf("%s: tools.search(%q)\n", b.head, b.owner)
}

func (b *ownerBlock) least() cost { return costOf(b.leastText()) }

// need is what the owner's tools cost in full.
func (b *ownerBlock) need() cost {
	sum := costOf(b.head + "\n")
	for i := range b.tools {
		sum += b.tools[i].fullCost
	}
	return sum
}

const namesLine = "- names: "

// render writes the owner's tools in the best form that costs no more than allowed.
func (b *ownerBlock) render(allowed cost) {
	head := b.head + "\n"
	left := allowed - costOf(head)
	full := func(t *toolLine) cost { return t.fullCost }
	short := func(t *toolLine) cost { return t.shortCost }
	name := func(t *toolLine) cost { return t.nameCost }
	if n, ok := b.split(left, full, short); ok {
		b.text = head + b.signatures(n, len(b.tools))
		return
	}
	if n, ok := b.split(left-costOf(namesLine+"\n"), short, name); ok {
		b.text = head + b.signatures(0, n) + b.names(n, len(b.tools))
		return
	}
	// The line that counts the rest costs most with the greatest number.
	left -= costOf(namesLine+"\n") + costOf(b.moreLine(len(b.tools)))
	shown := 0
	for ; shown < len(b.tools) && left >= b.tools[shown].nameCost; shown++ {
		left -= b.tools[shown].nameCost
	}
	if shown == 0 {
		b.text = b.leastText()
		return
	}
	b.text = head + b.names(0, shown) + b.moreLine(len(b.tools)-shown)
}

// split returns the greatest number of tools that can have the dear form while all others still get the cheap one.
func (b *ownerBlock) split(allowed cost, dear, cheap func(*toolLine) cost) (n int, ok bool) {
	for i := range b.tools {
		allowed -= cheap(&b.tools[i])
	}
	if allowed < 0 {
		return 0, false
	}
	for n < len(b.tools) {
		if allowed -= dear(&b.tools[n]) - cheap(&b.tools[n]); allowed < 0 {
			break
		}
		n++
	}
	return n, true
}

// signatures writes the first tools in full and those up to end in short.
func (b *ownerBlock) signatures(full, end int) string {
	var out strings.Builder
	for i := range b.tools[:end] {
		if i < full {
			out.WriteString(b.tools[i].full)
		} else {
			out.WriteString(b.tools[i].short)
		}
	}
	return out.String()
}

// names lists the tools from begin to end by name only.
func (b *ownerBlock) names(begin, end int) string {
	if begin == end {
		return ""
	}
	names := make([]string, 0, end-begin)
	for _, e := range b.entries[begin:end] {
		names = append(names, e.Name)
	}
	return namesLine + strings.Join(names, ", ") + "\n"
}
