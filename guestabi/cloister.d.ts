/**
 * What a Cloister cell finds in its realm, for authors and editors. A cell is the
 * body of an async function: `await` and `return` work at its top level. There
 * are no modules, files, network, timers, locale data or environment, and no
 * `eval`. `TextEncoder`, `TextDecoder`, `atob` and `btoa` are there.
 *
 * What is returned, passed to a tool or to `json` has to have a JSON form. Sets
 * and typed arrays become arrays, maps with string keys objects, errors their
 * name, message and code. Promises, functions, generators, symbols, BigInts, NaN,
 * infinities, invalid dates and other maps are errors that say what to do.
 */

/** A tool of this run. Schemas are given by `tools.describe`. */
interface ToolCatalogEntry {
  readonly id: string;
  readonly name: string;
  readonly label?: string;
  readonly description: string;
  readonly source: "cloister" | "mcp" | "client";
  /** The owner: "core", a plugin's id, a server, or an application. */
  readonly sourceName?: string;
}

/** A tool with its JSON Schemas. */
interface ToolCatalogEntryWithSchema extends ToolCatalogEntry {
  /** JSON Schema of the input. */
  readonly parameters: unknown;
  /** JSON Schema of the result, where the tool declares one. */
  readonly returns?: unknown;
  /** Set for a plugin that was loaded without a signature. */
  readonly unsigned?: true;
}

/** What a failed call is rejected with: an Error with a code. */
interface ToolFailure extends Error {
  readonly code?: string;
}

interface ToolCatalog {
  /** Ranks tools for a query, best first. The limit is a positive integer. */
  search(query: string, options?: { limit?: number }): Promise<ToolCatalogEntry[]>;
  describe(id: string): Promise<ToolCatalogEntryWithSchema>;
  /**
   * Calls a tool. The input must have a JSON form; `{}` if it is left out. Integers
   * of a result beyond Number.MAX_SAFE_INTEGER are strings of their digits.
   */
  call(id: string, input?: unknown): Promise<any>;
  /** Tools whose name is a plain identifier and belongs to one tool only. */
  readonly [safeToolName: string]: (input?: any, ...rest: any[]) => Promise<any>;
}

/** All tools of this run but those of MCP servers, in catalog order. Frozen. */
declare const ALL_TOOLS: readonly ToolCatalogEntry[];
declare const tools: ToolCatalog;
/**
 * MCP servers by name in camelCase, and their tools: `await MCP.github.createIssue({…})`.
 * The declarations of a run's own servers are in `API.read("mcp/<server>.d.ts")`.
 */
declare const MCP: {
  /** Ranks the tools of all servers for a query, best first. */
  readonly $search: (query: string, options?: { limit?: number }) => Promise<{ call: string; server: string; tool: string; description: string }[]>;
  readonly [server: string]: any;
};

/** What every server of MCP has beside its tools. */
interface McpServer {
  /** The declaration of the server, or of one tool; `schema` adds that tool's JSON Schemas. */
  readonly $api: (tool?: string, options?: { schema?: boolean }) => Promise<{
    server: string; declaration: string; tools?: string[]; tool?: string; id?: string; schema?: { parameters: unknown; returns: unknown };
  }>;
  /** Set if the server has resources. Binary contents come as a handle. */
  readonly resources?: { list(): Promise<{ resources: unknown[]; resourceTemplates: unknown[] }>; read(input: { uri: string }): Promise<{ contents: unknown[] }> };
  /** Set if the server has prompts. */
  readonly prompts?: { list(): Promise<{ prompts: unknown[] }>; get(input: { name: string; arguments?: Record<string, string> }): Promise<{ description?: string; messages: unknown[] }> };
}
/** Namespaces of plugins by their global name. */
declare const namespaces: Readonly<Record<string, any>>;
/** Declaration files about this run's tools. */
declare const API: {
  list(prefix?: string): Promise<{ path: string; size: number }[]>;
  read(path: string): Promise<string>;
};

/** Adds text to the output. A value that is no string is shown as by console.log of Node.js. */
declare function text(value: unknown): void;
/** Adds a JSON value to the output. */
declare function json(value: unknown): void;
/** Suspends the program; it goes on with the next wait. */
declare function yield_control(reason?: string): Promise<void>;
/** A deep copy; functions, symbols and promises cannot be cloned. */
declare function structuredClone<T>(value: T): T;
/** Lines of the console are part of the output. Long and deep values are shown in part. */
declare const console: {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  /** As log. */
  table(...values: unknown[]): void;
  dir(...values: unknown[]): void;
  trace(...values: unknown[]): void;
};
