// Reads the messages of TensorFlow's files into plain objects, with names of fields as protobuf's JSON form has them.

/// By message and number of the field: its name, its kind and, where it repeats, 'many'. A kind is 'int', 'bool', 'float', 'double',
/// 'text', 'bytes' or another message; 'map:KIND' is a map from texts. Numbers of fields are facts of the format.
const schema = {
  SavedModel: { 2: ['metaGraphs', 'MetaGraphDef', 'many'] },
  MetaGraphDef: { 1: ['metaInfoDef', 'MetaInfoDef'], 2: ['graphDef', 'GraphDef'], 5: ['signatureDef', 'map:SignatureDef'] },
  MetaInfoDef: { 4: ['tags', 'text', 'many'] },
  SignatureDef: { 1: ['inputs', 'map:TensorInfo'], 2: ['outputs', 'map:TensorInfo'] },
  TensorInfo: { 1: ['name', 'text'], 2: ['dtype', 'int'], 3: ['tensorShape', 'TensorShapeProto'] },
  GraphDef: { 1: ['node', 'NodeDef', 'many'], 2: ['library', 'FunctionDefLibrary'], 4: ['versions', 'VersionDef'] },
  VersionDef: { 1: ['producer', 'int'] },
  FunctionDefLibrary: { 1: ['function', 'FunctionDef', 'many'] },
  FunctionDef: { 1: ['signature', 'OpDef'], 3: ['nodeDef', 'NodeDef', 'many'], 4: ['ret', 'map:text'] },
  OpDef: { 1: ['name', 'text'], 2: ['inputArg', 'ArgDef', 'many'], 3: ['outputArg', 'ArgDef', 'many'] },
  ArgDef: { 1: ['name', 'text'], 3: ['type', 'int'] },
  NodeDef: { 1: ['name', 'text'], 2: ['op', 'text'], 3: ['input', 'text', 'many'], 5: ['attr', 'map:AttrValue'] },
  AttrValue: { 1: ['list', 'ListValue'], 2: ['s', 'bytes'], 3: ['i', 'int'], 4: ['f', 'float'], 5: ['b', 'bool'], 6: ['type', 'int'],
    7: ['shape', 'TensorShapeProto'], 8: ['tensor', 'TensorProto'], 10: ['func', 'NameAttrList'] },
  ListValue: { 2: ['s', 'bytes', 'many'], 3: ['i', 'int', 'many'], 4: ['f', 'float', 'many'], 5: ['b', 'bool', 'many'],
    6: ['type', 'int', 'many'], 7: ['shape', 'TensorShapeProto', 'many'], 9: ['func', 'NameAttrList', 'many'] },
  NameAttrList: { 1: ['name', 'text'] },
  TensorShapeProto: { 2: ['dim', 'Dim', 'many'], 3: ['unknownRank', 'bool'] },
  Dim: { 1: ['size', 'int'] },
  TensorProto: { 1: ['dtype', 'int'], 2: ['tensorShape', 'TensorShapeProto'], 4: ['content', 'bytes'], 5: ['floats', 'float', 'many'],
    6: ['doubles', 'double', 'many'], 7: ['ints', 'int', 'many'], 8: ['strings', 'bytes', 'many'], 10: ['longs', 'int', 'many'],
    11: ['bools', 'bool', 'many'], 13: ['halves', 'int', 'many'] },
  BundleEntryProto: { 1: ['dtype', 'int'], 2: ['shape', 'TensorShapeProto'], 3: ['shard', 'int'], 4: ['offset', 'int'],
    5: ['size', 'int'], 7: ['slices', 'bytes', 'many'] },
};
/// What proto3 does not write.
const defaults = { Dim: { size: 0 }, BundleEntryProto: { shard: 0, offset: 0, size: 0 } };

/// A position in some bytes.
class Cursor {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  get ended() {
    return this.at >= this.bytes.length;
  }
  varint() {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.ended)
        throw new Error('the file ends inside of a field');
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128)
        break;
    }
    return Number(BigInt.asIntN(64, value));
  }
  take(length) {
    if (length < 0 || this.at + length > this.bytes.length)
      throw new Error('the file ends inside of a field');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

const widths = { 0: 0, 1: 8, 5: 4 };

/// One value of a kind, at the place of `cursor`.
function readValue(cursor, kind) {
  switch (kind) {
    case 'int': return cursor.varint();
    case 'bool': return cursor.varint() !== 0;
    case 'float': return cursor.take(4).readFloatLE(0);
    case 'double': return cursor.take(8).readDoubleLE(0);
  }
  const bytes = cursor.take(cursor.varint());
  return kind === 'text' ? bytes.toString('utf8') : kind === 'bytes' ? bytes : decode(kind, bytes);
}

function skip(cursor, wire) {
  if (wire === 0)
    cursor.varint();
  else
    cursor.take(wire === 2 ? cursor.varint() : widths[wire] ?? -1);
}

function readEntry(bytes, kind) {
  const cursor = new Cursor(bytes);
  let key = '', value = kind === 'text' ? '' : {};
  while (!cursor.ended) {
    const tag = cursor.varint();
    if (tag >> 3 === 1)
      key = readValue(cursor, 'text');
    else if (tag >> 3 === 2)
      value = readValue(cursor, kind);
    else
      skip(cursor, tag & 7);
  }
  return [key, value];
}

/// Returns the message that `bytes`, a Buffer, hold.
export function decode(message, bytes) {
  const fields = schema[message], cursor = new Cursor(bytes), result = { ...defaults[message] };
  while (!cursor.ended) {
    const tag = cursor.varint(), wire = tag & 7, field = fields[tag >> 3];
    if (!field) {
      skip(cursor, wire);
      continue;
    }
    const [name, kind, many] = field;
    if (kind.startsWith('map:')) {
      const [key, value] = readEntry(cursor.take(cursor.varint()), kind.slice(4));
      (result[name] ??= {})[key] = value;
    } else if (!many) {
      result[name] = readValue(cursor, kind);
    } else if (wire === 2 && ['int', 'bool', 'float', 'double'].includes(kind)) { // packed
      const part = new Cursor(cursor.take(cursor.varint()));
      while (!part.ended)
        (result[name] ??= []).push(readValue(part, kind));
    } else {
      (result[name] ??= []).push(readValue(cursor, kind));
    }
  }
  return result;
}
