const r = [];
const f = new Float64Array([1.5, -0, NaN, Infinity]); r.push(f, new Uint8Array(f.buffer).slice(0, 8), new Int8Array([127, 128, -129, 1.9, NaN]), new Uint8ClampedArray([-5, 300, 1.5, 2.5]));
const b = new ArrayBuffer(16); const v = new DataView(b);
v.setInt16(0, -2); v.setInt16(2, -2, true); v.setFloat32(4, 3.14159); v.setBigUint64(8, 0xffffffffffffffffn);
r.push(new Uint8Array(b), v.getUint16(0), v.getUint16(2, true), v.getFloat32(4), v.getBigInt64(8), new Uint16Array(b, 2, 3).byteOffset);
r.push(new Int32Array([3, 1, 2]).sort(), new Float32Array([1, NaN, -0, 0, -1]).sort(), Array.from(new Uint8Array([1, 2, 3]).map((x) => x * 100)), new Uint8Array([1, 2, 3]).subarray(1), Uint8Array.from('123'), Uint8Array.of(1, 2));
for (const bad of [() => new Uint16Array(b, 1), () => new DataView(b, 17), () => v.getInt8(16), () => new Uint8Array(-1), () => new BigInt64Array([1])]) { try { bad(); r.push('ok'); } catch (e) { r.push(e.name); } }
const res = new ArrayBuffer(4, { maxByteLength: 8 }); const view = new Uint8Array(res); res.resize(8); r.push(view.length, res.maxByteLength, res.resizable); res.resize(2); r.push(view.length);
const t = new ArrayBuffer(4).transfer(8); r.push(t.byteLength, b.slice(8).byteLength, ArrayBuffer.isView(v));
r.push(new Uint8Array([5, 1, 4]).toSorted(), new Uint8Array([1, 2, 3]).with(1, 9), new Uint8Array([1, 2, 3, 4]).copyWithin(0, 2), new Uint8Array(4).fill(7, 1, 3), new Uint8Array([1, 2, 3]).findLast((x) => x < 3), new Uint8Array([1, 2]).at(-1));
const set = new Uint8Array(5); set.set([1, 2], 3); r.push(set, new Float32Array([0.1])[0], new Float16Array([0.1, 65504, 1e6])[1], set.includes(2), set.indexOf(2), set.join('-'), [...set.entries()].length);
r.push(Object.keys(set), '5' in set, set[9], delete set[0] === true, Object.getOwnPropertyDescriptor(set, 0), new Uint8Array({ length: 2, 0: 7 }), Object.prototype.toString.call(set));
r;
