// The namespaces of plugins, and MCP: frozen objects of data, and functions that each send
// the number of a call with its arguments. The host knows what a number stands
// for; guestabi/wire.go has the form of the tree.
function callable(name, number) {
  return freeze({
    [name]() {
      let last = arguments.length;
      while (last > 0 && arguments[last - 1] === undefined) last--;
      if (last > 0 && typeof arguments[last - 1] === 'function') return failed(noCallbacks(name));
      let args = '', gone = 0;
      try {
        for (let i = 0; i < last; i++) {
          if (arguments[i] === undefined && i < 16) gone |= 1 << i;
          args += (i === 0 ? '' : ',') + encode(arguments[i]);
        }
      } catch (error) {
        return failed(about(error, 'input of ' + name));
      }
      return request('n', number + ',' + gone + ',[' + args + ']');
    },
  }[name]);
}

function frozen(value) {
  if (typeof value === 'object' && value !== null) {
    for (const key of ownKeys(value)) frozen(value[key]);
    freeze(value);
  }
  return value;
}

function grow(name, node) {
  const kind = node[0], rest = node[1];
  if (kind === 'c') return callable(name, rest);
  if (kind === 'v') return frozen(rest);
  const object = kind === 'a' ? [] : {};
  for (const key of ownKeys(rest)) {
    if (kind === 'a' && key === 'length') continue;
    if (rest[key][0] === 's') continue;
    // $api and $search are no tools: loops over a server's tools pass them by.
    defineProperty(object, key, { __proto__: null, value: grow(key, rest[key]), enumerable: key[0] !== '$' });
  }
  for (const key of ownKeys(rest)) { // other names of functions: they work, and no loop meets them
    if (rest[key][0] === 's') defineProperty(object, key, { __proto__: null, value: object[rest[key][1]] });
  }
  return freeze(object);
}

const namespaces = { __proto__: null };
for (const namespace of setup.namespaces ?? []) {
  const scope = grow(namespace.name, namespace.scope);
  define(namespaces, namespace.name, scope);
  define(globalThis, namespace.name, scope);
}
define(globalThis, 'MCP', setup.mcp === undefined ? freeze({ __proto__: null }) : grow('MCP', setup.mcp));
define(globalThis, 'namespaces', freeze(namespaces));
