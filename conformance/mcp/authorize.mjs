// Adds the bearer token to what the suite sends to the server: the suite has no option for headers. Node loads this before the
// suite (--import). Fetch and undici's own request both go through the global dispatcher.
//
// The suite names tools and prompts as it is written. Behind Cloister, without code mode, these have the name of their server in
// front, which CONFORMANCE_PREFIX adds where one is called or got, as somebody does who reads the list. Lists are left as they are.
import { Agent, setGlobalDispatcher } from "undici";

const { CONFORMANCE_ORIGIN: origin, CONFORMANCE_TOKEN: token, CONFORMANCE_PREFIX: prefix } = process.env;
if (!origin || !token) {
  throw new Error("CONFORMANCE_ORIGIN and CONFORMANCE_TOKEN are not set");
}

/** Headers with the token, in the form that they came in: a flat array, pairs or an object. */
function authorized(headers) {
  if (Array.isArray(headers)) {
    return [...headers, "authorization", `Bearer ${token}`];
  }
  if (headers && typeof headers[Symbol.iterator] === "function") {
    return [...headers].flat().concat("authorization", `Bearer ${token}`);
  }
  return { ...headers, authorization: `Bearer ${token}` };
}

const authorize = (dispatch) => (options, handler) =>
  dispatch(String(options.origin) === origin ? { ...options, headers: authorized(options.headers) } : options, handler);

setGlobalDispatcher(new Agent().compose(authorize));

/** The text of a request, with the whole name of what it calls or gets. */
function named(body) {
  const message = typeof body === "string" ? JSON.parse(body) : undefined;
  if (!["tools/call", "prompts/get"].includes(message?.method)) {
    return body;
  }
  return JSON.stringify({ ...message, params: { ...message.params, name: prefix + message.params.name } });
}

if (prefix) {
  const send = globalThis.fetch;
  globalThis.fetch = (input, init) => send(input, init?.body ? { ...init, body: named(init.body) } : init);
}
