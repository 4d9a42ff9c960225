// Arrays in NumPy's files, for the runners under Node.js.
import { readFileSync, writeFileSync } from 'node:fs';

/// By the name that runtimes give a type: Lathe's name, NumPy's, and the array that JavaScript has for it.
export const types = {
  int8: { name: 'i8', descr: '|i1', Array: Int8Array },
  uint8: { name: 'u8', descr: '|u1', Array: Uint8Array },
  bool: { name: 'bool', descr: '|b1', Array: Uint8Array },
  int16: { name: 'i16', descr: '<i2', Array: Int16Array },
  int32: { name: 'i32', descr: '<i4', Array: Int32Array },
  int64: { name: 'i64', descr: '<i8', Array: BigInt64Array },
  uint32: { name: 'u32', descr: '<u4', Array: Uint32Array },
  float32: { name: 'f32', descr: '<f4', Array: Float32Array },
  float64: { name: 'f64', descr: '<f8', Array: Float64Array },
};

/// Returns `descr`, `dims` and `bytes` of an .npy file.
export function readNpy(path) {
  const file = readFileSync(path);
  if (file.subarray(1, 6).toString('latin1') !== 'NUMPY')
    throw new Error(`${path}: is no .npy file`);
  const wide = file[6] > 1;
  const begin = wide ? 12 : 10;
  const length = wide ? file.readUInt32LE(8) : file.readUInt16LE(8);
  const header = file.subarray(begin, begin + length).toString('latin1');
  const said = /'descr': *'([^']*)'.*'fortran_order': *(\w+).*'shape': *\(([^)]*)\)/.exec(header);
  if (!said || said[2] !== 'False')
    throw new Error(`${path}: expected an array in C order, got ${header.trim()}`);
  return { descr: said[1], dims: said[3].split(',').filter(part => part.trim()).map(Number), bytes: file.subarray(begin + length) };
}

/// Writes `data`, a typed array, as an .npy file.
export function writeNpy(path, descr, dims, data) {
  const shape = dims.map(dim => `${dim},`).join(' ');
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape}), }`;
  const length = Math.ceil((header.length + 11) / 64) * 64 - 10;
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, length >> 8]);
  const content = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  writeFileSync(path, Buffer.concat([start, Buffer.from(header.padEnd(length - 1) + '\n', 'latin1'), content]));
}
