/**
 * What a Cloister cell finds in its realm, for authors and editors. A cell is the
 * body of an async function: `await` and `return` work at its top level. There
 * are no modules, files, network, timers or environment, and no `eval`.
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
  /** Calls a tool. The input must have a JSON form; `{}` if it is left out. */
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

/** Adds text to the output. A value that is no string is shown as JSON. */
declare function text(value: unknown): void;
/** Adds a JSON value to the output. */
declare function json(value: unknown): void;
/** Suspends the program; it goes on with the next wait. */
declare function yield_control(reason?: string): Promise<void>;
/** A deep copy; functions, symbols and promises cannot be cloned. */
declare function structuredClone<T>(value: T): T;
/** Lines of the console are part of the output. */
declare const console: {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  debug(...values: unknown[]): void;
};
