// causes is what an error's message does not say: the errors of an AggregateError, and its cause.
function causes(error) {
  const errors = getOwnPropertyDescriptor(error, 'errors'), cause = getOwnPropertyDescriptor(error, 'cause');
  let text = '';
  if (errors !== undefined && isArray(errors.value)) text += ' (errors: ' + cut(show(errors.value), 2000) + ')';
  if (cause !== undefined && cause.value !== undefined) text += ' (cause: ' + cut(show(cause.value), 2000) + ')';
  return text;
}

// The entries, in the order of guestabi/wire.go. Only the host holds them.
return [
  // start runs a cell. The function must be the whole text that the host
  // compiled: source that closes the wrapper leaves a shorter function behind.
  function start(fn, text) {
    if (typeof fn !== 'function' || apply(functionToString, fn, []) !== text) {
      throw new GuestSyntaxError('the code closes the function around it: unbalanced brackets');
    }
    saysSymbol = apply(stringIndexOf, text, ['Symbol']) >= 0;
    return apply(fn, undefined, []);
  },

  // settle answers a request: a value, or [name, message, code] of a failure.
  function settle(slot, ok, value) {
    const resolve = resolvers[slot], reject = rejecters[slot];
    if (resolve === undefined) return;
    resolvers[slot] = rejecters[slot] = undefined;
    free[freeSlots++] = slot;
    if (ok === 1) resolve(value);
    else reject(errorFrom(value[0], value[1], value[2]));
  },

  // drain hands over the outbox, or undefined if there is nothing in it.
  function drain() {
    if (outbox === '') return undefined;
    const messages = outbox;
    outbox = '';
    return messages;
  },

  // finish gives the JSON text of the cell's value, nothing for undefined.
  function finish(value) {
    return value === undefined ? '' : encode(value);
  },

  // explain describes a thrown value as JSON text.
  function explain(reason) {
    const read = (name) => {
      try {
        const value = reason[name];
        return typeof value === 'string' ? cut(value, 8192) : undefined;
      } catch {
        return undefined;
      }
    };
    if (typeof reason === 'object' && reason !== null) {
      const name = read('name');
      let message = read('message');
      if (message !== undefined && isError(reason)) {
        const more = causes(reason);
        message = message === '' ? apply(stringSlice, more, [1]) : cut(message + more, 8192);
      }
      if (name !== undefined || message !== undefined) {
        return jsonStringify({ __proto__: null, name, message, code: read('code'), stack: read('stack'), error: isError(reason) });
      }
    }
    let text = '[object]';
    try { text = cut(show(reason), 8192); } catch { /* the value cannot be shown */ }
    return jsonStringify({ __proto__: null, message: text });
  },
];
