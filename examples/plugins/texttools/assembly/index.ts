// The plugin examples.text: what people do to texts, in AssemblyScript.

import { Answer, Value, fail, ok, tool } from "../../../../sdk/assemblyscript/assembly";
import { diffLines } from "./diff";
import { distance } from "./distance";
import { slugify } from "./slug";
import { fill } from "./template";
import { frequencies } from "./words";

export { cloister_call, cloister_describe } from "../../../../sdk/assemblyscript/assembly";

tool("word_frequency", "", (input: Value): Answer => frequencies(input.str("text"), <i32>input.num("top", 10), <i32>input.num("minLength", 1)));

tool("slugify", "", (input: Value): Answer =>
  ok(Value.object().set("slug", Value.text(slugify(input.str("text"), input.str("separator", "-"), <i32>input.num("maxLength", 80))))));

tool("text_distance", "", (input: Value): Answer => distance(input.str("a"), input.str("b"), input.flag("ignoreCase")));

tool("text_diff", "", (input: Value): Answer => diffLines(input.str("before"), input.str("after"), <i32>input.num("context", 3)));

tool("fill_template", "", (input: Value): Answer => {
  const values = input.get("values");
  return values ? fill(input.str("template"), values, input.flag("keepMissing")) : fail("invalid_input", "give the values as an object");
});
