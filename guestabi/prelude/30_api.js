// The guest API: tools, ALL_TOOLS, API, text, json, yield_control, console.

// noCallbacks is for who writes as in the time before promises: the callback would never be called.
function noCallbacks(what) {
  return errorFrom('TypeError', what + ' takes no function: it gives a promise, await it', 'invalid_input');
}

const tools = { __proto__: null };

const helpers = {
  __proto__: null,
  search(query, options) {
    const limit = options === undefined || options === null ? undefined : options.limit;
    try {
      return request('s', '[' + encode(query) + ',' + encode(limit) + ']');
    } catch (error) {
      return failed(error);
    }
  },
  describe(id) {
    try {
      return request('d', encode(id));
    } catch (error) {
      return failed(error);
    }
  },
  call(id, input, callback) {
    return typeof callback === 'function' ? failed(noCallbacks('tools.call')) : call(id, input);
  },
};
for (const name of ownKeys(helpers)) define(tools, name, freeze(helpers[name]));
for (const name of ownKeys(setup.names)) {
  const number = toolNumber[setup.names[name]];
  define(tools, name, freeze({
    [name](input, callback) {
      // A list's map passes an index and the list here.
      return typeof callback === 'function' ? failed(noCallbacks('tools.' + name)) : callNumber(number, input);
    },
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

const cell = {
  __proto__: null,
  text(value) {
    output('t', jsonStringify(show(value)));
  },
  json(value) {
    if (value === undefined) throw new GuestTypeError('json(value): undefined has no JSON form');
    let text;
    try {
      text = encode(value);
    } catch (error) {
      throw about(error, 'json(value)');
    }
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
for (const name of ['table', 'dir', 'trace']) define(console, name, console.log); // the value is all there is to show
freeze(console);

define(globalThis, 'tools', tools);
define(globalThis, 'ALL_TOOLS', setup.tools);
define(globalThis, 'API', api);
define(globalThis, 'console', console);
for (const name of ownKeys(cell)) define(globalThis, name, freeze(cell[name]));
