// The entries, in the order of guestabi/wire.go. Only the host holds them.
return [
  // start runs a cell. The function must be the whole text that the host
  // compiled: source that closes the wrapper leaves a shorter function behind.
  function start(fn, text) {
    if (typeof fn !== 'function' || apply(functionToString, fn, []) !== text) {
      throw new GuestSyntaxError('the code closes the function around it: unbalanced brackets');
    }
    return apply(fn, undefined, []);
  },

  // settle delivers results: [[id, 1, value] or [id, 0, name, message, code], ...]
  function settle(batch) {
    for (let i = 0; i < batch.length; i++) {
      const item = batch[i];
      const waiter = open[item[0]];
      if (waiter === undefined) continue;
      delete open[item[0]];
      openRequests--;
      if (item[1] === 1) waiter.resolve(item[2]);
      else waiter.reject(errorFrom(item[2], item[3], item[4]));
    }
  },

  // drain hands over the outbox: JSON text without the outer brackets.
  function drain() {
    const items = outbox;
    outbox = '';
    return items;
  },

  // finish gives the JSON text of the cell's value.
  function finish(value) {
    return encode(value);
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
      const name = read('name'), message = read('message');
      if (name !== undefined || message !== undefined) {
        return jsonStringify({ __proto__: null, name, message, code: read('code'), stack: read('stack'), error: isError(reason) });
      }
    }
    let text = '[object]';
    try { text = cut(show(reason), 8192); } catch { /* the value cannot be shown */ }
    return jsonStringify({ __proto__: null, message: text });
  },
];
