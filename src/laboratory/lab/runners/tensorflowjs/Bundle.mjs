// The variables of a SavedModel: a table of keys (variables.index) and the elements (variables.data-*).
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { decode } from './Protobuf.mjs';
import { extentsOf, tensorOfBytes } from './Tensors.mjs';

/// A number in LEB128 at `at`, and the place behind it.
function varint(bytes, at) {
  let value = 0, factor = 1;
  for (;;) {
    if (at >= bytes.length)
      throw new Error('ends inside of a number');
    const byte = bytes[at++];
    value += (byte & 127) * factor;
    if (byte < 128)
      return [value, at];
    factor *= 128;
  }
}

/// The entries of a block: keys share a prefix with the key before, and the block ends with restart points.
function* entries(file, offset, size) {
  if (file[offset + size] !== 0)
    throw new Error('has compressed blocks, expected plain ones');
  const block = file.subarray(offset, offset + size);
  const end = size - 4 - 4 * block.readUInt32LE(size - 4);
  let key = Buffer.alloc(0);
  for (let at = 0; at < end;) {
    let shared, fresh, length;
    [shared, at] = varint(block, at);
    [fresh, at] = varint(block, at);
    [length, at] = varint(block, at);
    key = Buffer.concat([key.subarray(0, shared), block.subarray(at, at + fresh)]);
    yield [key.toString('utf8'), block.subarray(at + fresh, at + fresh + length)];
    at += fresh + length;
  }
}

const handle = bytes => {
  const [offset, behind] = varint(bytes, 0);
  return [offset, varint(bytes, behind)[0]];
};

/// Up to `size` bytes of a file, which may be large: all variables lie in one.
function readPart(path, offset, size) {
  const file = openSync(path);
  try {
    const bytes = Buffer.alloc(size);
    return bytes.subarray(0, readSync(file, bytes, 0, size, offset));
  } finally {
    closeSync(file);
  }
}

export class Bundle {
  /// `prefix` is the path without ".index".
  constructor(prefix) {
    this.prefix = prefix;
    const file = readFileSync(`${prefix}.index`);
    this.entries = new Map();
    try {
      const footer = file.subarray(file.length - 48); // handles of the meta index and of the index
      const [, metaEnd] = varint(footer, varint(footer, 0)[1]);
      for (const [, place] of entries(file, ...handle(footer.subarray(metaEnd))))
        for (const [key, value] of entries(file, ...handle(place)))
          this.entries.set(key, value);
      this.shards = decodeHeader(this.entries.get(''));
    } catch (error) {
      throw new Error(`${prefix}.index: ${error.message}`);
    }
  }

  /// `{shape, dtype, values}` of the variable with this key.
  tensor(key) {
    const found = this.entries.get(key);
    if (!found)
      throw new Error(`${this.prefix}.index has no variable '${key}'`);
    const entry = decode('BundleEntryProto', found);
    if (entry.slices)
      throw new Error(`variable '${key}' is partitioned, which this runner does not read`);
    const five = number => String(number).padStart(5, '0');
    const bytes = readPart(`${this.prefix}.data-${five(entry.shard)}-of-${five(this.shards)}`, entry.offset, entry.size);
    return tensorOfBytes(entry.dtype, extentsOf(entry.shape), bytes, `variable '${key}'`);
  }
}

/// The number of data files, field 1 of the header.
function decodeHeader(bytes) {
  return bytes?.length && bytes[0] === 8 ? varint(bytes, 1)[0] : 1;
}
