// The variables of a SavedModel: a table of keys (variables.index) and the elements (variables.data-*).
import { readFileSync } from 'node:fs';
import { decode } from './Protobuf.mjs';
import { extentsOf, tensorOfBytes } from './Tensors.mjs';

/// A number in LEB128 at `at`, and the place behind it.
function varint(bytes, at) {
  let value = 0, factor = 1;
  for (;;) {
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
    throw new Error('its blocks are compressed');
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

export class Bundle {
  /// `prefix` is the path without ".index".
  constructor(prefix) {
    this.prefix = prefix;
    const file = readFileSync(`${prefix}.index`);
    this.entries = new Map();
    const footer = file.subarray(file.length - 48); // handles of the meta index and of the index
    const [, metaEnd] = varint(footer, varint(footer, 0)[1]);
    for (const [, place] of entries(file, ...handle(footer.subarray(metaEnd))))
      for (const [key, value] of entries(file, ...handle(place)))
        this.entries.set(key, value);
    this.shards = decodeHeader(this.entries.get(''));
  }

  /// `{shape, dtype, values}` of the variable with this key.
  tensor(key) {
    const bytes = this.entries.get(key);
    if (!bytes)
      throw new Error(`${this.prefix}.index has no variable '${key}'`);
    const entry = decode('BundleEntryProto', bytes);
    if (entry.slices)
      throw new Error(`variable '${key}' is partitioned, which this runner does not read`);
    const five = number => String(number).padStart(5, '0');
    const data = readFileSync(`${this.prefix}.data-${five(entry.shard)}-of-${five(this.shards)}`);
    return tensorOfBytes(entry.dtype, extentsOf(entry.shape), data.subarray(entry.offset, entry.offset + entry.size), `variable '${key}'`);
  }
}

/// The number of data files, field 1 of the header.
function decodeHeader(bytes) {
  return bytes?.length && bytes[0] === 8 ? varint(bytes, 1)[0] : 1;
}
