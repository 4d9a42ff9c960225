// The names that a TensorFlow Lite file gives its tensors.

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
