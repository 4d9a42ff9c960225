// The names that a TensorFlow Lite file gives its tensors, and parts of a file between such tensors.

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
  /// A vector of numbers; null: the file does not have it.
  numbers(field) {
    const place = this.place(field);
    if (!place)
      return null;
    const begin = place + this.file.readUInt32LE(place);
    return Array.from({ length: this.file.readUInt32LE(begin) }, (_, i) => this.file.readInt32LE(begin + 4 + 4 * i));
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

/// Where the fields of import/tflite/tflite.fbs stand.
const subgraphs = 2, signatures = 7, subgraphInputs = 1, subgraphOutputs = 2, operators = 3, operatorInputs = 1, operatorOutputs = 2;

/// Positions of the operators that the tensors `to` need if those of `from` are given.
function neededOperators(graph, from, to) {
  const steps = graph.tables(operators), makers = new Map();
  steps.forEach((step, i) => (step.numbers(operatorOutputs) ?? []).forEach(tensor => makers.set(tensor, i)));
  const needed = new Set(), open = [...to];
  while (open.length) {
    const tensor = open.pop(), maker = makers.get(tensor);
    if (from.has(tensor) || maker === undefined || needed.has(maker))
      continue;
    needed.add(maker);
    open.push(...(steps[maker].numbers(operatorInputs) ?? []));
  }
  return steps.map((_, i) => i).filter(i => needed.has(i));
}

/// The file whose first subgraph is the part between tensors, by the names that tensorNames gives; an empty list: from the
/// inputs, or to the outputs. Vectors of operators become shorter in place, those of tensors are written behind the file.
export function partOf(file, from, to) {
  const names = tensorNames(file);
  const numbersOf = list => list.map(name => {
    const number = names.indexOf(name);
    if (number < 0)
      throw new Error(`no tensor '${name}' in the first subgraph`);
    return number;
  });
  const part = Buffer.concat([file, Buffer.alloc((4 - file.length % 4) % 4), Buffer.alloc(8 + 4 * (from.length + to.length))]);
  const model = new Table(part, part.readUInt32LE(0)), [graph] = model.tables(subgraphs);
  const inputs = from.length ? numbersOf(from) : graph.numbers(subgraphInputs), outputs = to.length ? numbersOf(to) : graph.numbers(subgraphOutputs);
  const kept = neededOperators(graph, new Set(inputs), outputs);
  const place = graph.place(operators), list = place + part.readUInt32LE(place);
  kept.forEach((position, i) => { // offsets are relative to where they stand
    const old = list + 4 + 4 * position, now = list + 4 + 4 * i;
    part.writeUInt32LE(old + part.readUInt32LE(old) - now, now);
  });
  part.writeUInt32LE(kept.length, list);
  let end = part.length - 8 - 4 * (from.length + to.length);
  const replace = (field, numbers) => {
    part.writeUInt32LE(end - graph.place(field), graph.place(field));
    for (const number of [numbers.length, ...numbers]) {
      part.writeInt32LE(number, end);
      end += 4;
    }
  };
  if (from.length)
    replace(subgraphInputs, inputs);
  if (to.length)
    replace(subgraphOutputs, outputs);
  const aliases = model.place(signatures); // they name the inputs and outputs of the whole
  if (aliases)
    part.writeUInt32LE(0, aliases + part.readUInt32LE(aliases));
  return part;
}
