// Copies of what the prelude needs, taken before any cell runs. A cell may
// rewrite every built-in object; nothing below looks one up again.
//
// Rules for all files of the prelude: read no property of a built-in at call
// time, use object literals with a null prototype as records, grow no arrays
// (an element may meet a setter on Array.prototype), build messages as strings.
const { apply, ownKeys, get: reflectGet } = Reflect;
const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, keys: objectKeys } = Object;
const { parse: jsonParse, stringify: jsonStringify } = JSON;
const GuestError = Error;
const GuestTypeError = TypeError;
const GuestSyntaxError = SyntaxError;
const GuestPromise = Promise;
const toText = String;
const functionToString = Function.prototype.toString;
const stringSlice = String.prototype.slice;
const stringStartsWith = String.prototype.startsWith;
const stringIndexOf = String.prototype.indexOf;
const isArray = Array.isArray;
const isError = Error.isError;
const objectPrototype = Object.prototype;
const isEnumerable = objectPrototype.propertyIsEnumerable;
const dateValue = Date.prototype.getTime;
const { get: mapGet, set: mapSet, forEach: mapForEach } = Map.prototype;
const { add: setAdd, forEach: setForEach } = Set.prototype;
const getter = (prototype, name) => getOwnPropertyDescriptor(prototype, name).get;
const mapSize = getter(Map.prototype, 'size'), setSize = getter(Set.prototype, 'size');
const typedPrototype = getPrototypeOf(Int8Array.prototype);
const typedName = getter(typedPrototype, Symbol.toStringTag), typedLength = getter(typedPrototype, 'length');

// hide defines a property as built-in ones are: a cell may replace it, and no loop meets it.
function hide(object, name, value) {
  defineProperty(object, name, { __proto__: null, value, enumerable: false, writable: true, configurable: true });
}

function define(object, name, value) {
  defineProperty(object, name, { __proto__: null, value, enumerable: true, writable: false, configurable: false });
}

function cut(text, length) {
  return text.length > length ? apply(stringSlice, text, [0, length]) : text;
}

// An error that the host reports: name, message and code, and no stack, which
// would only show the prelude.
function errorFrom(name, message, code) {
  const error = new GuestError(message);
  defineProperty(error, 'name', { __proto__: null, value: name, writable: true, configurable: true });
  if (code !== undefined) define(error, 'code', code);
  defineProperty(error, 'stack', { __proto__: null, value: '', writable: true, configurable: true });
  return error;
}
