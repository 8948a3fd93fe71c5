// structuredClone for what a sealed guest has: HTML, 2.7 "Safe passing of
// structured data", without transfer and without platform objects.
{
  const regexpSource = getter(RegExp.prototype, 'source'), regexpFlags = getter(RegExp.prototype, 'flags');
  const bufferLength = getter(ArrayBuffer.prototype, 'byteLength'), bufferSlice = ArrayBuffer.prototype.slice;
  const typedBuffer = getter(typedPrototype, 'buffer');
  const typedOffset = getter(typedPrototype, 'byteOffset');
  const viewBuffer = getter(DataView.prototype, 'buffer'), viewOffset = getter(DataView.prototype, 'byteOffset');
  const viewLength = getter(DataView.prototype, 'byteLength');
  const booleanValue = Boolean.prototype.valueOf, numberValue = Number.prototype.valueOf, stringValue = String.prototype.valueOf;
  const bigintValue = BigInt.prototype.valueOf, symbolValue = Symbol.prototype.valueOf;
  const weakMapHas = WeakMap.prototype.has, weakSetHas = WeakSet.prototype.has, weakRefDeref = WeakRef.prototype.deref;
  const GuestMap = Map, GuestSet = Set, GuestDate = Date, GuestRegExp = RegExp, GuestDataView = DataView, toObject = Object;
  const typedConstructors = { __proto__: null, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array,
    Uint32Array, Float16Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array };
  const errorConstructors = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const refused = (what) => errorFrom('DataCloneError', what + ' could not be cloned', 'DataCloneError');
  // has says whether an internal-slot getter accepts the value.
  const has = (get, value) => { try { apply(get, value, []); return true; } catch { return false; } };

  function clone(value, seen) {
    if (typeof value === 'function') throw refused('A function');
    if (typeof value === 'symbol') throw refused('A symbol');
    if (typeof value !== 'object' || value === null) return value;
    const before = apply(mapGet, seen, [value]);
    if (before !== undefined) return before;
    const copy = shell(value, seen);
    apply(mapSet, seen, [value, copy]);
    fill(value, copy, seen);
    return copy;
  }

  // shell makes the copy without its contents.
  function shell(value, seen) {
    if (isArray(value)) { const a = []; a.length = value.length; return a; }
    if (has(mapSize, value)) return new GuestMap();
    if (has(setSize, value)) return new GuestSet();
    if (has(dateValue, value)) return new GuestDate(apply(dateValue, value, []));
    if (has(bufferLength, value)) return apply(bufferSlice, value, [0]);
    const typed = apply(typedName, value, []);
    if (typed !== undefined) {
      return new typedConstructors[typed](clone(apply(typedBuffer, value, []), seen), apply(typedOffset, value, []), apply(typedLength, value, []));
    }
    if (has(viewBuffer, value)) return new GuestDataView(clone(apply(viewBuffer, value, []), seen), apply(viewOffset, value, []), apply(viewLength, value, []));
    if (isError(value)) return errorShell(value);
    if (value instanceof GuestRegExp) return new GuestRegExp(apply(regexpSource, value, []), apply(regexpFlags, value, []));
    if (has(symbolValue, value)) throw refused('A symbol');
    if (has(weakMapHas, value) || has(weakSetHas, value) || has(weakRefDeref, value)) throw refused('A weak reference');
    if (has(booleanValue, value)) return toObject(apply(booleanValue, value, []));
    if (has(numberValue, value)) return toObject(apply(numberValue, value, []));
    if (has(stringValue, value)) return toObject(apply(stringValue, value, []));
    if (has(bigintValue, value)) return toObject(apply(bigintValue, value, []));
    if (value instanceof GuestPromise) throw refused('A Promise');
    return {};
  }

  function errorShell(value) {
    const name = toText(value.name);
    const constructor = errorConstructors[name] || GuestError;
    const copy = new constructor(toText(value.message));
    const stack = getOwnPropertyDescriptor(value, 'stack');
    defineProperty(copy, 'stack', { __proto__: null, value: stack && typeof stack.value === 'string' ? stack.value : '', writable: true, configurable: true });
    return copy;
  }

  function fill(value, copy, seen) {
    if (has(mapSize, value)) {
      apply(mapForEach, value, [(item, key) => { apply(mapSet, copy, [clone(key, seen), clone(item, seen)]); }]);
    } else if (has(setSize, value)) {
      apply(setForEach, value, [(item) => { apply(setAdd, copy, [clone(item, seen)]); }]);
    } else if (isArray(value) || (getPrototypeOf(copy) === Object.prototype && !isError(value))) {
      const keys = ownKeys(value);
      for (let i = 0; i < keys.length; i++) {
        const key = keys[i];
        if (typeof key === 'symbol' || !apply(isEnumerable, value, [key])) continue;
        defineProperty(copy, key, { __proto__: null, value: clone(value[key], seen), enumerable: true, writable: true, configurable: true });
      }
    }
  }

  const holder = {
    __proto__: null,
    structuredClone(value) {
      if (arguments.length === 0) throw new GuestTypeError('structuredClone needs a value');
      const options = arguments[1];
      if (options !== undefined && options !== null && options.transfer !== undefined && options.transfer.length !== 0) {
        throw refused('A transfer list');
      }
      return clone(value, new GuestMap());
    },
  };
  defineProperty(globalThis, 'structuredClone', { __proto__: null, value: freeze(holder.structuredClone), writable: true, configurable: true });
}
