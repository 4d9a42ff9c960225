// Arrays in NumPy's files, and the tensors' names that a TensorFlow Lite file gives.
import { readFileSync, writeFileSync } from 'node:fs';

/// By the runtime's name of a type: Lathe's name, NumPy's, and the array that JavaScript has for it.
export const types = {
  int8: { name: 'i8', descr: '|i1', Array: Int8Array },
  uint8: { name: 'u8', descr: '|u1', Array: Uint8Array },
  bool: { name: 'bool', descr: '|b1', Array: Uint8Array },
  int16: { name: 'i16', descr: '<i2', Array: Int16Array },
  int32: { name: 'i32', descr: '<i4', Array: Int32Array },
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

/// A table of a flatbuffer at `at`; fields have the positions of import/tflite/tflite.fbs.
class Table {
  constructor(file, at) {
    this.file = file;
    this.at = at;
  }
  /// Where the value of a field is; 0: the file does not have it.
  place(field) {
    const offsets = this.at - this.file.readInt32LE(this.at);
    const slot = 4 + 2 * field;
    const relative = slot < this.file.readUInt16LE(offsets) ? this.file.readUInt16LE(offsets + slot) : 0;
    return relative && this.at + relative;
  }
  number(field) {
    const place = this.place(field);
    return place ? this.file.readUInt32LE(place) : 0;
  }
  text(field) {
    const place = this.place(field);
    if (!place)
      return '';
    const begin = place + this.file.readUInt32LE(place);
    return this.file.subarray(begin + 4, begin + 4 + this.file.readUInt32LE(begin)).toString('utf8');
  }
  tables(field) {
    const place = this.place(field);
    if (!place)
      return [];
    const begin = place + this.file.readUInt32LE(place);
    return Array.from({ length: this.file.readUInt32LE(begin) }, (_, i) => {
      const entry = begin + 4 + 4 * i;
      return new Table(this.file, entry + this.file.readUInt32LE(entry));
    });
  }
}

/// Returns the names of the first subgraph's tensors, by number, as Lathe's importer gives them (import/tflite/Reader.cpp):
/// the first signature's, else the tensors' own, made unique by numbers.
export function tensorNames(file) {
  const model = new Table(file, file.readUInt32LE(0));
  const [graph] = model.tables(2);
  const names = [], taken = new Set();
  const take = wanted => {
    let name = wanted;
    for (let number = 1; taken.has(name); ++number)
      name = `${wanted}_${number}`;
    taken.add(name);
    return name;
  };
  const signature = model.tables(7).find(one => one.number(4) === 0);
  for (const alias of signature ? [...signature.tables(0), ...signature.tables(1)] : [])
    if (alias.text(0) && !names[alias.number(1)])
      names[alias.number(1)] = take(alias.text(0));
  graph.tables(0).forEach((tensor, i) => {
    names[i] ??= take(tensor.text(3) || `tensor${i}`);
  });
  return names;
}
