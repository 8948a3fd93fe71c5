package catalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// manyTools spreads the tools of the retrieval set over n entries of many owners, each with a few words of its own.
func manyTools(t testing.TB, n int) []Entry {
	t.Helper()
	base := loadTools(t)
	random := rand.New(rand.NewPCG(1, 2))
	entries := make([]Entry, 0, n)
	for i := range n {
		e := base[i%len(base)]
		round := i / len(base)
		e.Tier = External
		e.Owner = fmt.Sprintf("%s%d", e.Owner, round)
		e.Description += fmt.Sprintf(" for team %s%d and region r%d", e.Name[:3], random.IntN(500), round)
		entries = append(entries, e)
	}
	return entries
}

func mustBuild(t testing.TB, entries []Entry, layers ...Layer) *Catalog {
	t.Helper()
	c, err := Build(entries, layers...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func BenchmarkSearch(b *testing.B) {
	queries := []struct{ name, text string }{
		{"words", "create a github issue"},
		{"sentence", "I want you to show me the latest messages that people wrote in the support channel of our chat"},
		{"typo", "kuberntes namspaces"},
		{"hostile", strings.Repeat("get list serch creat isue zzqx ", 40_000)},
	}
	for _, size := range []int{2_000, 20_000} {
		c := mustBuild(b, manyTools(b, size))
		for _, q := range queries {
			b.Run(fmt.Sprintf("tools=%d/%s", size, q.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.Search(q.text, 8)
				}
			})
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, size := range []int{500, 5_000} {
		entries := manyTools(b, size)
		b.Run(fmt.Sprintf("tools=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustBuild(b, entries)
			}
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	for _, size := range []int{500, 5_000} {
		c := mustBuild(b, manyTools(b, size))
		b.Run(fmt.Sprintf("tools=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Index(4_000)
			}
		})
	}
}

func BenchmarkSuggest(b *testing.B) {
	c := mustBuild(b, manyTools(b, 20_000))
	for name, id := range map[string]string{
		"near":    "cloister:github7:creat_isue",
		"hostile": strings.Repeat("cloister:github:x", 60_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Suggest(id)
			}
		})
	}
}

func BenchmarkDigest(b *testing.B) {
	c := mustBuild(b, manyTools(b, 5_000))
	b.ReportAllocs()
	for b.Loop() {
		digestOf(c.entries)
	}
}
