import { Value } from "./json";

/** What came of a call: a value, or a failure, which the cell that called can catch. */
export class Answer {
  value: Value | null = null;
  /** The kind of error, an identifier; "" means "Error". */
  name: string = "";
  /** For programs: lower-case letters, digits and underscores. */
  code: string = "";
  /** What is wrong and how to mend it. */
  message: string = "";

  static ok(value: Value): Answer {
    const a = new Answer();
    a.value = value;
    return a;
  }

  static fail(code: string, message: string): Answer {
    const a = new Answer();
    a.code = code;
    a.message = message;
    return a;
  }

  /** Reads the contract's envelope. */
  static read(text: string): Answer {
    const v = Value.parse(text);
    if (!v) return Answer.fail("invalid_response", "the host's answer is not JSON");
    if (v.num("abi") != 1) return Answer.fail("unsupported_abi", "the host speaks another version of the messages; build the plugin with a newer SDK");
    const error = v.get("error");
    if (error) {
      const a = Answer.fail(error.str("code"), error.str("message"));
      a.name = error.str("name");
      return a;
    }
    const value = v.get("value");
    return Answer.ok(value ? value : Value.null());
  }

  /** Writes the contract's envelope. */
  toString(): string {
    const out = Value.object().set("abi", Value.number(1));
    const value = this.value;
    if (value) return out.set("value", value).toString();
    const error = Value.object().set("message", Value.text(this.message.length > 0 ? this.message : "the plugin failed without a message"));
    if (this.name.length > 0) error.set("name", Value.text(this.name));
    if (this.code.length > 0) error.set("code", Value.text(this.code));
    return out.set("error", error).toString();
  }
}
