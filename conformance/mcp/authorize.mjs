// Adds the bearer token to what the suite sends to the server: the suite has no option for headers. Node loads this before the
// suite (--import). Fetch and undici's own request both go through the global dispatcher.
import { Agent, setGlobalDispatcher } from "undici";

const { CONFORMANCE_ORIGIN: origin, CONFORMANCE_TOKEN: token } = process.env;
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
