// Tensors of TensorFlow's files, in the types that TensorFlow.js has.

/// Numbers of TensorFlow's types: the type in TensorFlow.js, the name in node/Npy.mjs, and how an element is read from bytes.
const dtypes = {
  1: { js: 'float32', npy: 'float32', width: 4, read: (b, at) => b.readFloatLE(at) },
  2: { js: 'float32', npy: 'float64', width: 8, read: (b, at) => b.readDoubleLE(at) },
  3: { js: 'int32', npy: 'int32', width: 4, read: (b, at) => b.readInt32LE(at) },
  4: { js: 'int32', npy: 'uint8', width: 1, read: (b, at) => b.readUInt8(at) },
  5: { js: 'int32', npy: 'int16', width: 2, read: (b, at) => b.readInt16LE(at) },
  6: { js: 'int32', npy: 'int8', width: 1, read: (b, at) => b.readInt8(at) },
  7: { js: 'string' },
  9: { js: 'int32', npy: 'int64', width: 8, read: (b, at) => Number(b.readBigInt64LE(at)) },
  10: { js: 'bool', npy: 'bool', width: 1, read: (b, at) => b.readUInt8(at) },
  14: { js: 'float32', width: 2, read: (b, at) => floatOfBits(b.readUInt16LE(at) << 16) },
  19: { js: 'float32', width: 2, read: (b, at) => halfOfBits(b.readUInt16LE(at)) },
};

const word = Buffer.alloc(4);
function floatOfBits(bits) {
  word.writeInt32LE(bits | 0);
  return word.readFloatLE(0);
}
function halfOfBits(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent === 31)
    return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * fraction / 1024);
}

/// The row of a type; its number may be that of a reference, which is 100 more.
export function dtypeOf(number, what) {
  const found = dtypes[number > 100 ? number - 100 : number];
  if (!found)
    throw new Error(`${what} has TensorFlow's type ${number}, which TensorFlow.js does not have`);
  return found;
}

export const extentsOf = shape => (shape?.dim ?? []).map(dim => dim.size);

const limit = 2 ** 31;
export const clamped = value => Math.min(Math.max(value, -limit), limit - 1); // 64-bit numbers such as "to the end"
const emptyOf = { float32: Float32Array, int32: Int32Array, bool: Uint8Array };

/// `{shape, dtype, values}` of raw bytes.
export function tensorOfBytes(number, shape, bytes, what) {
  const type = dtypeOf(number, what), count = shape.reduce((a, b) => a * b, 1);
  if (type.js === 'string')
    throw new Error(`${what} holds texts, expected numbers`);
  if (bytes.length !== count * type.width)
    throw new Error(`${what} has ${bytes.length} bytes, expected ${count} elements of ${type.width} bytes`);
  const values = new emptyOf[type.js](count);
  for (let i = 0; i < count; ++i)
    values[i] = type.js === 'int32' ? clamped(type.read(bytes, i * type.width)) : type.read(bytes, i * type.width);
  return { shape, dtype: type.js, values };
}

/// `{shape, dtype, values}` of a TensorProto. Where it lists fewer elements than there are, the last one repeats.
export function tensorOfProto(proto, what) {
  const type = dtypeOf(proto.dtype, what), shape = extentsOf(proto.tensorShape);
  if (proto.content?.length)
    return tensorOfBytes(proto.dtype, shape, proto.content, what);
  const count = shape.reduce((a, b) => a * b, 1);
  let listed = proto.floats ?? proto.doubles ?? proto.longs ?? proto.ints ?? proto.bools ?? proto.strings;
  if (proto.halves)
    listed = proto.halves.map(type === dtypes[19] ? halfOfBits : bits => floatOfBits(bits << 16));
  listed ??= type.js === 'string' ? [Buffer.alloc(0)] : [0];
  const all = Array.from({ length: count }, (_, i) => listed[Math.min(i, listed.length - 1)]);
  if (type.js === 'string')
    return { shape, dtype: 'string', values: all };
  return { shape, dtype: type.js, values: emptyOf[type.js].from(all, value => type.js === 'int32' ? clamped(value) : Number(value)) };
}
