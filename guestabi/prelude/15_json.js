// What values become as JSON. JSON.stringify asks a value for toJSON before it
// looks at it, so methods on the prototypes of what JSON has no word for keep
// anything from being lost, at no cost to plain data: sets, maps, typed arrays,
// errors and patterns are written, the rest is an error that says what to do.
// They hold for a cell's own JSON.stringify too, but for functions, which the
// language leaves out there and which are errors only in what leaves the cell.
let leaving = false; // encode is at work

// noForm is the error for a value without a JSON form, found under key.
let refusal; // the last of these errors
function noForm(what, key, remedy) {
  refusal = new GuestTypeError(what + where(key) + ' has no JSON form: ' + remedy);
  define(refusal, 'code', 'invalid_input');
  return refusal;
}

// about says in a refusal what the value was to be.
function about(error, what) {
  if (error === refusal) hide(error, 'message', what + ': ' + error.message);
  return error;
}

function where(key) {
  return key === '' || key === undefined ? '' : ' (at "' + cut(toText(key), 100) + '")';
}

const awaitRemedy = 'await it, or await Promise.all(list) for a list of promises';

// refuse puts a toJSON that always throws on a prototype.
function refuse(prototype, what, remedy) {
  hide(prototype, 'toJSON', { toJSON(key) { throw noForm(what, key, remedy); } }.toJSON);
}

hide(Function.prototype, 'toJSON', {
  toJSON(key) {
    if (!leaving) return this;
    throw noForm('a function', key, 'call it and give what it returns, or leave it out');
  },
}.toJSON);
hide(BigInt.prototype, 'toJSON', {
  toJSON(key) { throw noForm('a BigInt', key, 'use String(n), or Number(n) if it is small'); },
}.toJSON);
hide(Set.prototype, 'toJSON', {
  toJSON() {
    const list = [];
    list.length = apply(setSize, this, []);
    let i = 0;
    apply(setForEach, this, [(item) => { put(list, i++, item); }]);
    return list;
  },
}.toJSON);
hide(Map.prototype, 'toJSON', {
  toJSON(key) {
    const object = { __proto__: null };
    let others = false;
    apply(mapForEach, this, [(item, name) => {
      if (typeof name === 'string') put(object, name, item);
      else others = true;
    }]);
    if (others) throw noForm('a Map with keys that are no strings', key, 'use [...map] for pairs, or Object.fromEntries(map) for an object');
    return object;
  },
}.toJSON);
hide(typedPrototype, 'toJSON', {
  toJSON() {
    const list = [];
    const length = list.length = apply(typedLength, this, []);
    for (let i = 0; i < length; i++) put(list, i, this[i]);
    return list;
  },
}.toJSON);
hide(RegExp.prototype, 'toJSON', { toJSON() { return toText(this); } }.toJSON);
hide(Error.prototype, 'toJSON', { toJSON() { return errorData(this); } }.toJSON);

const bytesRemedy = 'use new Uint8Array(buffer), which becomes a list of numbers, or its toBase64()';
refuse(ArrayBuffer.prototype, 'an ArrayBuffer', bytesRemedy);
refuse(DataView.prototype, 'a DataView', bytesRemedy);
refuse(Iterator.prototype, 'an iterator or generator', 'use [...it] for a list of what it gives');
refuse(getPrototypeOf(getPrototypeOf(getPrototypeOf((async function* () { })()))), 'an async generator', 'collect what it gives with for await');
refuse(Symbol.prototype, 'a symbol', 'use its description, a string');
for (const weak of [WeakMap, WeakSet, WeakRef, FinalizationRegistry]) refuse(weak.prototype, 'a ' + weak.name, 'give what it refers to');

function put(object, name, value) {
  defineProperty(object, name, { __proto__: null, value, enumerable: true, writable: true, configurable: true });
}

// errorData is an error as data: name, message and code, what else the program put on it, the errors of an
// AggregateError and the text of its cause.
function errorData(error) {
  const data = { __proto__: null };
  put(data, 'name', toText(error.name));
  put(data, 'message', toText(error.message));
  const keys = objectKeys(error);
  for (let i = 0; i < keys.length; i++) {
    if (keys[i] !== 'name' && keys[i] !== 'message' && keys[i] !== 'stack') put(data, keys[i], error[keys[i]]);
  }
  const errors = getOwnPropertyDescriptor(error, 'errors'), cause = getOwnPropertyDescriptor(error, 'cause');
  if (errors !== undefined && isArray(errors.value)) put(data, 'errors', errors.value);
  if (cause !== undefined) put(data, 'cause', isError(cause.value) ? cause.value : show(cause.value));
  return data;
}

// encode gives the JSON text of what leaves the cell, with null for undefined. For NaN and
// infinity JSON.stringify writes null and asks nobody, and it leaves symbols out: the value is
// looked at again, so that a getter may be asked twice. Of a large one only the text is
// searched first, for a null, which costs less, and so of a very small one; only a program that says Symbol has any.
const nullText = ['null'], fewSteps = 64;
let saysSymbol = false, steps = 0;
function encode(value) {
  if (typeof value === 'string') return jsonStringify(value);
  const before = leaving;
  leaving = true;
  try {
    const text = jsonStringify(value);
    if (text === undefined) {
      if (value === undefined) return 'null';
      throw noForm('a ' + typeof value, '', 'give what it stands for');
    }
    if (text.length < 100 ? !saysSymbol && apply(stringIndexOf, text, nullText) < 0 : isFlat(value)) return text;
    steps = fewSteps;
    let lost = lossIn(value, 0);
    if (steps < 0 && (saysSymbol || apply(stringIndexOf, text, nullText) >= 0)) {
      steps = Infinity;
      lost = lossIn(value, 0);
    }
    if (lost !== undefined) throw noForm(lost.what, lost.at, lost.remedy);
    return text;
  } finally {
    leaving = before;
  }
}

// isFlat says of an object whether it has but a few members, strings and finite numbers all: what most calls pass.
function isFlat(value) {
  if (typeof value !== 'object' || value === null || getPrototypeOf(value) !== objectPrototype) return false;
  let members = 0;
  for (const key in value) {
    const item = value[key];
    if (typeof item !== 'string' && (typeof item !== 'number' || item - item !== 0) || ++members > 16) return false;
  }
  return true;
}

const lossDepth = 256; // deeper values are refused by the host
const dateToJSON = Date.prototype.toJSON;

// lossIn finds the first number, date or symbol that JSON text does not hold, and says where. It gives up after
// steps values.
function lossIn(value, depth) {
  switch (typeof value) {
    case 'number': return value - value === 0 ? undefined : lossOf(toText(value), 'find out why it is no number, or use null or a text');
    case 'symbol': return lossOf('a symbol', 'use its description, a string');
    case 'object': break;
    default: return undefined;
  }
  if (value === null || depth > lossDepth) return undefined;
  const toJSON = value.toJSON;
  if (typeof toJSON === 'function') {
    if (toJSON !== dateToJSON) return isConverter(toJSON) ? lossIn(apply(toJSON, value, ['']), depth + 1) : undefined;
    const time = apply(dateValue, value, []);
    return time - time === 0 ? undefined : lossOf('an invalid Date', 'check the text that it was made from');
  }
  const keys = isArray(value) ? undefined : objectKeys(value);
  const length = keys === undefined ? value.length : keys.length;
  for (let i = 0; i < length; i++) {
    if (--steps < 0) return undefined;
    const key = keys === undefined ? i : keys[i], item = value[key];
    switch (typeof item) {
      case 'number': if (item - item === 0) continue; break;
      case 'object': if (item === null) continue; break;
      case 'symbol': break;
      default: continue;
    }
    const lost = lossIn(item, depth + 1);
    if (lost !== undefined) {
      lost.at = lost.at === '' ? toText(key) : toText(key) + '.' + lost.at;
      return lost;
    }
  }
  return undefined;
}

function lossOf(what, remedy) { return { __proto__: null, what, remedy, at: '' }; }

const setToJSON = Set.prototype.toJSON, mapToJSON = Map.prototype.toJSON, typedToJSON = typedPrototype.toJSON, errorToJSON = Error.prototype.toJSON;
function isConverter(f) { return f === setToJSON || f === mapToJSON || f === typedToJSON || f === errorToJSON; }

// A promise that was not awaited is the commonest mistake of a first program, and
// most of what is done with it is silent in the language: a property is undefined, its
// text is "[object Promise]", its JSON {}. What Promise.prototype does not have is
// therefore asked of an object behind it, which says so. await, then, catch and
// finally never come here.
{
  const promisePrototype = GuestPromise.prototype;
  const { iterator, toPrimitive } = Symbol;
  const toJSON = { toJSON(key) { throw noForm('a promise', key, awaitRemedy); } }.toJSON;
  const missed = new Proxy(freeze({ __proto__: objectPrototype }), {
    __proto__: null,
    get(_, key, receiver) {
      if (key in objectPrototype || typeof receiver !== 'object' || getPrototypeOf(receiver) !== promisePrototype) {
        return reflectGet(objectPrototype, key, receiver);
      }
      switch (key) {
        case 'toJSON': return toJSON;
        case iterator: throw new GuestTypeError('a promise is not iterable: await it first');
        case toPrimitive: throw new GuestTypeError('a promise was used as a text or number: await it first');
      }
      if (typeof key === 'symbol' || key === 'then' || key === 'catch' || key === 'finally') return undefined; // deleted by the program
      const name = cut(key, 100);
      throw new GuestTypeError('"' + name + '" was asked of a promise: await it first, as in (await promise).' + name +
        '; await Promise.all(list) for a list of promises');
    },
  });
  Object.setPrototypeOf(promisePrototype, missed);
}
