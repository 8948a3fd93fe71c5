// How text() and the console show values: as util.inspect of Node.js does, on one
// line. A value may be hostile: depth, items and length are bounded, getters are
// not called, and what cannot be looked at is shown as such.
const showDepth = 6, showItems = 200, showString = 10000;
const objectToString = objectPrototype.toString, toISO = Date.prototype.toISOString, functionName = 'name';
const booleanOf = Boolean.prototype.valueOf, numberOf = Number.prototype.valueOf, stringOf = String.prototype.valueOf;
let room = 0; // characters that the value being shown may still take

// show turns any value into text for a reader. A string is itself.
function show(value) {
  if (typeof value === 'string') return value;
  const before = room;
  room = setup.maxOutput;
  try {
    return inspect(value, 0, undefined);
  } catch {
    return '[a value that cannot be shown]';
  } finally {
    room = before;
  }
}

function spend(text) {
  room -= text.length;
  return text;
}

function quote(text) {
  const more = text.length - showString;
  const json = jsonStringify(more > 0 ? cut(text, showString) : text);
  const plain = apply(stringIndexOf, text, ["'"]) >= 0 || apply(stringIndexOf, text, ['"']) >= 0 ? json : "'" + apply(stringSlice, json, [1, -1]) + "'";
  return more > 0 ? plain + '... ' + more + ' more characters' : plain;
}

// inspect shows a value inside of others, which up lists.
function inspect(value, depth, up) {
  if (room < 0) return '...';
  switch (typeof value) {
    case 'string': return spend(quote(value));
    case 'bigint': return spend(toText(value) + 'n');
    case 'number': return spend(value === 0 && 1 / value < 0 ? '-0' : toText(value));
    case 'function': return spend(functionTitle(value));
    case 'object': break;
    default: return spend(toText(value));
  }
  if (value === null) return spend('null');
  for (let seen = up; seen !== undefined; seen = seen.up) {
    if (seen.value === value) return spend('[Circular]');
  }
  const inner = { __proto__: null, value, up };
  if (isArray(value)) return depth >= showDepth ? spend('[Array]') : '[' + items(value, value.length, depth, inner) + ']';
  const special = inspectKind(value, depth, inner);
  if (special !== undefined) return special;
  if (depth >= showDepth) return spend('[Object]');
  const title = constructorName(value);
  return (title === '' || title === 'Object' ? '' : spend(title + ' ')) + members(value, depth, inner, undefined);
}

function functionTitle(value) {
  const name = getOwnPropertyDescriptor(value, functionName);
  return name !== undefined && typeof name.value === 'string' && name.value !== '' ? '[Function: ' + cut(name.value, 100) + ']' : '[Function (anonymous)]';
}

// constructorName is the name of the class that an object is an instance of, as far as no getter has to be called for it.
function constructorName(value) {
  const prototype = getPrototypeOf(value);
  if (prototype === objectPrototype || prototype === null) return '';
  const made = getOwnPropertyDescriptor(prototype, 'constructor');
  const name = made !== undefined && typeof made.value === 'function' ? getOwnPropertyDescriptor(made.value, functionName) : undefined;
  return name !== undefined && typeof name.value === 'string' ? cut(name.value, 100) : '';
}

// joined puts parts between spaces, as Node.js does: { a: 1, b: 2 }.
function joined(text) { return text === '' ? '' : ' ' + text + ' '; }

function more(count, what) { return '... ' + count + ' more ' + what + (count === 1 ? '' : 's'); }

function items(list, length, depth, inner) {
  let text = '';
  for (let i = 0; i < length; i++) {
    if (i === showItems || room < 0) {
      text += ', ' + more(length - i, 'item');
      break;
    }
    const own = getOwnPropertyDescriptor(list, i);
    text += (i === 0 ? '' : ', ') + (own === undefined ? '<empty>' : property(own, depth, inner));
  }
  return joined(text);
}

function property(own, depth, inner) {
  if (own.get !== undefined || own.set !== undefined) return spend('[Getter]');
  return inspect(own.value, depth + 1, inner);
}

// members shows the enumerable properties of an object behind first, which may be undefined. Of an error, it leaves out
// what is shown already.
function members(value, depth, inner, first, ofError) {
  let text = first === undefined ? '' : first, shown = 0;
  const keys = objectKeys(value);
  for (let i = 0; i < keys.length; i++) {
    if (shown === showItems || room < 0) {
      text += ', ' + more(keys.length - i, 'member');
      break;
    }
    const own = getOwnPropertyDescriptor(value, keys[i]);
    if (own === undefined || ofError && (keys[i] === 'name' || keys[i] === 'message' || keys[i] === 'stack' || keys[i] === 'errors' || keys[i] === 'cause')) continue;
    text += (text === '' ? '' : ', ') + spend(keyText(keys[i])) + ': ' + property(own, depth, inner);
    shown++;
  }
  return '{' + joined(text) + '}';
}

const plainKey = /^[A-Za-z_$][A-Za-z0-9_$]*$/, regexpExec = RegExp.prototype.exec;
function keyText(key) { return key.length <= 100 && apply(regexpExec, plainKey, [key]) !== null ? key : quote(key); }

// inspectKind shows what is more than its members; undefined for other objects. The tag of
// an object can lie: then the kind's own function throws, and the object is shown by its members.
function inspectKind(value, depth, inner) {
  if (isError(value)) return inspectError(value, depth, inner);
  const prototype = getPrototypeOf(value);
  if (prototype === objectPrototype || prototype === null) return undefined;
  const typed = apply(typedName, value, []);
  if (typed !== undefined) return spend(typed) + '(' + apply(typedLength, value, []) + ') [' + items(value, apply(typedLength, value, []), depth, inner) + ']';
  try {
    switch (apply(objectToString, value, [])) {
      case '[object Promise]': return spend('Promise { not awaited }');
      case '[object Date]': {
        const time = apply(dateValue, value, []);
        return spend(time - time === 0 ? apply(toISO, value, []) : 'Invalid Date');
      }
      case '[object RegExp]': return spend(toText(value));
      case '[object Map]': return entries('Map', apply(mapSize, value, []), depth, (each) => {
        apply(mapForEach, value, [(item, key) => each(() => inspect(key, depth + 1, inner) + ' => ' + inspect(item, depth + 1, inner))]);
      });
      case '[object Set]': return entries('Set', apply(setSize, value, []), depth, (each) => {
        apply(setForEach, value, [(item) => each(() => inspect(item, depth + 1, inner))]);
      });
      case '[object Number]': return spend('[Number: ' + apply(numberOf, value, []) + ']');
      case '[object String]': return spend('[String: ' + quote(apply(stringOf, value, [])) + ']');
      case '[object Boolean]': return spend('[Boolean: ' + apply(booleanOf, value, []) + ']');
      case '[object ArrayBuffer]': return spend('ArrayBuffer { byteLength: ' + value.byteLength + ' }');
      case '[object Generator]': return spend('Object [Generator] {}');
    }
  } catch { /* no such object */ }
  return undefined;
}

function entries(kind, size, depth, visit) {
  if (depth >= showDepth) return spend('[' + kind + ']');
  let text = '', shown = 0;
  visit((item) => {
    if (shown < showItems && room >= 0) text += (shown++ === 0 ? '' : ', ') + item();
  });
  if (shown < size) text += ', ' + more(size - shown, 'item');
  return spend(kind + '(' + size + ') ') + '{' + joined(text) + '}';
}

// inspectError shows an error's name and message, what else is on it, the errors of an AggregateError and its cause.
function inspectError(error, depth, inner) {
  const name = toText(error.name), message = toText(error.message);
  let head = message === '' ? name : name === '' ? message : name + ': ' + message;
  if (head.length > showString) head = cut(head, showString) + '...';
  spend(head);
  if (depth >= showDepth) return head;
  let first = '';
  const errors = getOwnPropertyDescriptor(error, 'errors'), cause = getOwnPropertyDescriptor(error, 'cause');
  if (errors !== undefined && isArray(errors.value)) first = 'errors: ' + inspect(errors.value, depth + 1, inner);
  if (cause !== undefined) first += (first === '' ? '' : ', ') + 'cause: ' + property(cause, depth, inner);
  const rest = members(error, depth, inner, first, true);
  return rest === '{}' ? head : head + ' ' + rest;
}
