// The guest API: tools, ALL_TOOLS, API, text, json, yield_control, console.
const tools = { __proto__: null };

const helpers = {
  __proto__: null,
  search(query, options) {
    const limit = options === undefined || options === null ? undefined : options.limit;
    return request('s', '[' + encode(query) + ',' + encode(limit) + ']');
  },
  describe(id) {
    return request('d', encode(id));
  },
  call(id, input) {
    return call(id, input);
  },
};
for (const name of ownKeys(helpers)) define(tools, name, freeze(helpers[name]));
for (const name of ownKeys(setup.names)) {
  const number = toolNumber[setup.names[name]];
  define(tools, name, freeze({
    [name](input) { return request('c', number + (input === undefined ? '{}' : encode(input))); },
  }[name]));
}
freeze(tools);

for (const entry of setup.tools) freeze(entry);
freeze(setup.tools);

const files = setup.files;
const api = {
  __proto__: null,
  async list(prefix) {
    if (prefix !== undefined && typeof prefix !== 'string') throw new GuestTypeError('API.list(prefix): prefix must be a string');
    let items = '';
    const paths = ownKeys(files);
    for (let i = 0; i < paths.length; i++) {
      const path = paths[i];
      if (prefix !== undefined && !apply(stringStartsWith, path, [prefix])) continue;
      items += (items === '' ? '' : ',') + '{"path":' + jsonStringify(path) + ',"size":' + files[path].length + '}';
    }
    return jsonParse('[' + items + ']');
  },
  async read(path) {
    const file = typeof path === 'string' ? getOwnPropertyDescriptor(files, path) : undefined;
    if (file === undefined) throw errorFrom('Error', 'API.read: no such file: ' + cut(toText(path), 200) + '; API.list() shows what there is', 'invalid_input');
    return file.value;
  },
};
for (const name of ownKeys(api)) freeze(api[name]);
freeze(api);

// show turns any value into text for a reader.
function show(value) {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null) {
    if (isError(value)) return toText(value.name) + ': ' + toText(value.message);
    try {
      const text = jsonStringify(value);
      if (text !== undefined) return text;
    } catch { /* circular, or a getter that throws: the fall-back below */ }
    return '[object]';
  }
  return typeof value === 'bigint' ? toText(value) + 'n' : toText(value);
}

const cell = {
  __proto__: null,
  text(value) {
    output('t', jsonStringify(show(value)));
  },
  json(value) {
    const text = jsonStringify(value);
    if (text === undefined) throw new GuestTypeError('json(value): a ' + typeof value + ' has no JSON form');
    output('j', text);
  },
  yield_control(reason) {
    return request('y', jsonStringify(reason === undefined ? '' : cut(show(reason), 1000)));
  },
};

const console = { __proto__: null };
for (const level of ['log', 'info', 'warn', 'error', 'debug']) {
  define(console, level, freeze({
    [level]() {
      let line = '';
      for (let i = 0; i < arguments.length; i++) line += (i === 0 ? '' : ' ') + show(arguments[i]);
      output('l', level + ',' + jsonStringify(line));
    },
  }[level]));
}
freeze(console);

define(globalThis, 'tools', tools);
define(globalThis, 'ALL_TOOLS', setup.tools);
define(globalThis, 'API', api);
define(globalThis, 'console', console);
for (const name of ownKeys(cell)) define(globalThis, name, freeze(cell[name]));
