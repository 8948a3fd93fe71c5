package declare_test

import (
	"fmt"

	"github.com/cloister-wasm/cloister/internal/declare"
)

var example = []byte(`{"type":"object","required":["query"],"properties":{
	"limit":{"type":"integer","minimum":1,"description":"How many results. */ evil()"},
	"query":{"type":"string"},
	"sort":{"enum":["newest","best"]}}}`)

func ExampleInput() {
	schema, err := declare.Parse(example)
	if err != nil {
		fmt.Println(err)
		return
	}
	steps := 100_000
	in := declare.Input(schema, declare.Options{Shape: declare.Shape{Depth: 8, Members: 100, Docs: true}, Bytes: 16 << 10, Steps: &steps})
	var docs []string
	for _, p := range in.Docs {
		docs = append(docs, "@param "+p.Key+" "+p.Doc)
	}
	fmt.Print(declare.Comment(0, docs))
	fmt.Println("declare function search(input: " + in.Text + "): Promise<unknown>;")
	// Output:
	// /** @param limit How many results. * / evil() */
	// declare function search(input: {
	//   limit?: number /* integer, >= 1 */;
	//   query: string;
	//   sort?: "newest" | "best";
	// }): Promise<unknown>;
}

func ExampleSignature() {
	schema, err := declare.Parse(example)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("search(" + declare.Signature(schema) + ")")
	// Output: search({query: string, limit?: number, sort?: "newest" | "best"})
}

func ExampleTable() {
	schema, err := declare.Parse(example)
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, _, _ := declare.Table(schema, 3, 100)
	for _, r := range rows {
		fmt.Printf("%s %s %v %q\n", r.Name, r.Type, r.Required, r.About)
	}
	// Output:
	// limit integer false "How many results. */ evil()"
	// query string true ""
	// sort "newest" | "best" false ""
}
