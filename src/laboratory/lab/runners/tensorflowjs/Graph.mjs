// A graph of TensorFlow in the form that TensorFlow.js executes: calls unfolded, variables and constants as weights.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Bundle } from './Bundle.mjs';
import { decode } from './Protobuf.mjs';
import { dtypeOf, extentsOf, tensorOfProto } from './Tensors.mjs';

const isVariable = op => ['VarHandleOp', 'VariableV2', 'Variable'].includes(op);
/// Operators whose results are no outputs of a frozen graph even if nothing reads them; "OP:1": result 1 and those behind it.
const noOutputs = new Set(readFileSync(new URL('../tensorflow/NoOutputs.txt', import.meta.url), 'utf8').trim().split('\n'));
/// How many results operators have that have several: a number, or the attribute that says it.
const resultCounts = { FusedBatchNorm: 5, FusedBatchNormV2: 5, FusedBatchNormV3: 6, IdentityN: 'T', If: 'Tout', Merge: 2,
  NonMaxSuppressionV4: 2, NonMaxSuppressionV5: 3, Split: 'num_split', SplitV: 'num_split', StatelessIf: 'Tout', StatelessWhile: 'T',
  Switch: 2, TopKV2: 2, Unique: 2, Unpack: 'num', While: 'T' };

/// Numbers of the results of a node that are outputs if nothing reads them.
function outputNumbers(node) {
  const rule = resultCounts[node.op] ?? 1, said = node.attr?.[rule];
  const count = typeof rule === 'number' ? rule : said?.list?.type?.length ?? said?.i ?? 1;
  const numbers = Array.from({ length: count }, (_, i) => i), end = numbers.findIndex(i => noOutputs.has(`${node.op}:${i}`));
  return end < 0 ? numbers : numbers.slice(0, end);
}

/// "node", "node:1" or, inside of functions, "node:result:1".
const nodeOf = input => input.split(':')[0];
const indexOf = input => Number(input.split(':').at(-1)) || 0;
const withoutOrder = node => ({ ...node, input: (node.input ?? []).filter(input => !input.startsWith('^')) });

/// Puts the functions that nodes call in place of the calls.
class Unfolding {
  constructor(functions) {
    this.functions = functions;
    this.nodes = [];
  }

  /// The function that a node calls, not as a branch or a body.
  called(node) {
    const direct = this.functions.get(node.op);
    return ['PartitionedCall', 'StatefulPartitionedCall'].includes(node.op) ? this.functions.get(node.attr.f.func.name) : direct;
  }

  /// Adds nodes, under `scope`. `map` tells what an argument of the function is outside. Returns how to refer to a result.
  add(nodes, scope, map) {
    const calls = new Map();
    const outside = input => {
      const name = nodeOf(input);
      if (map.has(name))
        return map.get(name);
      const call = calls.get(name);
      return call ? call(input) : scope + input;
    };
    for (const node of nodes) { // calls first: nodes may stand in any order
      const callee = this.called(node);
      if (!callee)
        continue;
      let results = null; // unfolded when the first result is asked for, with everything that it reads
      calls.set(node.name, input => {
        results ??= this.unfold(node, callee, scope, outside);
        const parts = input.split(':'), args = callee.signature.outputArg ?? [];
        const named = parts.length === 3 ? args.findIndex(arg => arg.name === parts[1]) : -1;
        return results[named < 0 ? indexOf(input) : named];
      });
    }
    for (const node of nodes)
      if (!calls.has(node.name))
        this.nodes.push({ ...node, name: scope + node.name, input: withoutOrder(node).input.map(outside) });
    return outside;
  }

  unfold(node, callee, scope, outside) {
    const operands = withoutOrder(node).input.map(outside);
    const map = new Map((callee.signature.inputArg ?? []).map((arg, i) => [arg.name, operands[i]]));
    const inside = this.add(callee.nodeDef ?? [], `${scope}${node.name}/`, map);
    return (callee.signature.outputArg ?? []).map(arg => inside(callee.ret[arg.name]));
  }
}

/// The nodes that `outputs` need.
function needed(nodes, outputs) {
  const byName = new Map(nodes.map(node => [node.name, node])), seen = new Set(), open = outputs.map(nodeOf);
  while (open.length) {
    const name = open.pop();
    if (seen.has(name))
      continue;
    seen.add(name);
    if (!byName.has(name))
      throw new Error(`node '${name}' is missing`);
    open.push(...byName.get(name).input.map(nodeOf));
  }
  return nodes.filter(node => seen.has(node.name));
}

/// Keys of variables in the checkpoint, by the names of their nodes: the operators that restore it tell them.
function variableKeys(nodes) {
  const byName = new Map(nodes.map(node => [node.name, node])), keys = new Map();
  for (const assign of nodes) {
    if (!['AssignVariableOp', 'Assign'].includes(assign.op))
      continue;
    let value = assign.input[1], from = byName.get(nodeOf(value));
    while (from?.op === 'Identity') {
      value = from.input[0];
      from = byName.get(nodeOf(value));
    }
    const names = from?.op === 'RestoreV2' ? byName.get(nodeOf(from.input[1])) : null;
    if (names)
      keys.set(nodeOf(assign.input[0]), String(tensorOfProto(names.attr.value.tensor, names.name).values[indexOf(value)]));
  }
  return keys;
}

const readers = { ReadVariableOp: 'Identity', ResourceGather: 'Gather' };

/// What files leave out because it is TensorFlow's default, where TensorFlow.js has another one or none.
const absent = {
  dilations: [/^(Conv2D|Conv3D|DepthwiseConv2dNative)$/, { list: { i: [1, 1, 1, 1, 1] } }],
  epsilon: [/^FusedBatchNorm/, { f: 1e-4 }],
  extrapolation_value: [/^CropAndResize$/, { f: 0 }],
  output_type: [/^Arg(Max|Min)$|^Where$/, { type: 9 }], // int64; Where has no other
};

function withDefaults(op, attr, inputs) {
  if (op === 'ConcatV2' || op === 'Concat')
    attr.N ??= { i: inputs - 1 };
  for (const [key, [ops, value]] of Object.entries(absent))
    if (ops.test(op) && !attr[key])
      attr[key] = value;
  return attr;
}

/// Attributes in protobuf's JSON form, where bytes are base64; constants lie among the weights.
function attributesJson(attr) {
  const base64 = bytes => bytes.toString('base64');
  return Object.fromEntries(Object.entries(attr ?? {}).filter(([, value]) => !value.tensor).map(([key, value]) => [key, {
    ...value,
    ...(value.s ? { s: base64(value.s) } : {}),
    ...(value.list?.s ? { list: { ...value.list, s: value.list.s.map(base64) } } : {}),
  }]));
}

/// Moves constants to `weights` and returns the other form of the nodes.
function nodesJson(nodes, weights) {
  return nodes.map(node => {
    if (node.op === 'Const')
      weights.set(node.name, tensorOfProto(node.attr.value.tensor, `node '${node.name}'`));
    return { name: node.name, op: readers[node.op] ?? node.op, input: node.input, attr: withDefaults(node.op, attributesJson(node.attr), node.input.length) };
  });
}

/// A function whose nodes have the function's name in front: all weights of TensorFlow.js are in one table.
function functionJson(given, functions, weights) {
  const name = given.signature.name, unfolding = new Unfolding(functions);
  const args = new Map((given.signature.inputArg ?? []).map(arg => [arg.name, arg.name]));
  const outside = unfolding.add(given.nodeDef ?? [], `${name}/`, args);
  const ret = Object.fromEntries(Object.entries(given.ret ?? {}).map(([key, value]) => [key, outside(value)]));
  return { signature: { inputArg: [], outputArg: [], ...given.signature }, nodeDef: nodesJson(unfolding.nodes, weights), ret };
}

const portOf = (name, tensor, number, shape) => ({ name, tensor, number, dims: !shape || shape.unknownRank ? null : extentsOf(shape) });

/// Names of the nodes that are no outputs as long as there are others (import/tensorflow/FrozenPorts.cpp). `given` are the nodes of the
/// file, which name what they wait for.
function nodesAside(given) {
  const readers = new Map(), inBranch = new Set(), ending = ['Exit', 'RefExit'];
  for (const node of given)
    for (const input of node.input ?? []) {
      const name = nodeOf(input.replace('^', ''));
      readers.set(name, [...(readers.get(name) ?? []), node]);
    }
  const open = given.filter(node => ['Switch', 'RefSwitch'].includes(node.op));
  while (open.length) {
    const node = open.pop();
    if (['Merge', 'RefMerge', ...ending].includes(node.op) || inBranch.has(node.name))
      continue;
    inBranch.add(node.name);
    open.push(...(readers.get(node.name) ?? []));
  }
  const awaited = given.filter(node => !noOutputs.has(node.op)).flatMap(node => (node.input ?? []).filter(input => input.startsWith('^')));
  return new Set([...inBranch, ...awaited.map(input => input.slice(1)), ...given.filter(node => ending.includes(node.op)).map(node => node.name)]);
}

/// Inputs and outputs of a frozen graph: its placeholders, and the results that nothing reads.
function frozenPorts(nodes, given, producer) {
  const read = new Set(nodes.flatMap(node => node.input.map(nodeOf))), aside = nodesAside(given);
  const open = nodes.filter(node => !read.has(node.name) && !noOutputs.has(node.op));
  const left = open.filter(node => !aside.has(node.name));
  const outputs = (left.length ? left : open).flatMap(node => outputNumbers(node).map(i => {
    const name = i ? `${node.name}:${i}` : node.name;
    return portOf(name, name, null, null);
  }));
  const used = new Set(needed(nodes, outputs.map(port => port.tensor)).map(node => node.name));
  const inputs = nodes.filter(node => node.op === 'Placeholder' && used.has(node.name)).map(node => {
    const shape = node.attr.shape?.shape; // a scalar in old files: unknown
    return portOf(node.name, node.name, node.attr.dtype.type, shape?.dim || producer >= 24 ? shape : null);
  });
  return { inputs, outputs };
}

function signaturePorts(signature) {
  const sorted = map => Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const inputs = sorted(signature.inputs).map(([key, info]) => portOf(key, info.name, info.dtype, info.tensorShape));
  const keys = new Set(inputs.map(port => port.name));
  const outputs = sorted(signature.outputs).map(([key, info]) =>
    portOf(keys.has(key) ? `${key}_out` : key, info.name, info.dtype, info.tensorShape));
  return { inputs, outputs };
}

/// The graph for serving of a SavedModel and one of its signatures.
function chooseSignature(saved, wanted) {
  const graphs = saved.metaGraphs ?? [];
  const meta = graphs.find(one => one.metaInfoDef?.tags?.includes('serve')) ?? graphs[0];
  const names = Object.keys(meta?.signatureDef ?? {}).filter(name => !name.startsWith('__saved_model'));
  const name = wanted || (names.length === 1 ? names[0] : 'serving_default');
  if (!meta?.signatureDef?.[name])
    throw new Error(`has no signature '${name}', expected one of: ${names.join(', ')}`);
  return { graph: meta.graphDef, signature: meta.signatureDef[name] };
}

/// The elements of all weights one behind the other, as TensorFlow.js reads them.
function packed(weights) {
  const specs = [], parts = [];
  for (const [name, { shape, dtype, values }] of weights) {
    specs.push({ name, shape, dtype });
    if (dtype !== 'string') {
      parts.push(Buffer.from(values.buffer, values.byteOffset, values.byteLength));
      continue;
    }
    for (const text of values) {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(text.length);
      parts.push(length, text);
    }
  }
  const all = Buffer.concat(parts);
  return { weightSpecs: specs, weightData: all.buffer.slice(all.byteOffset, all.byteOffset + all.length) };
}

/// Reads a GraphDef, or the folder or file of a SavedModel. Returns `artifacts` for loadGraphModel and the ports: {name, tensor, number
/// of the type or null, dims or null}.
export function readGraph(path, signatureName) {
  const folder = statSync(path).isDirectory() ? path : dirname(path);
  const file = folder === path ? join(path, 'saved_model.pb') : path;
  if (!existsSync(file))
    throw new Error(`${file}: is missing`);
  const bytes = readFileSync(file), isSaved = bytes[0] !== 0x0a;
  const saved = isSaved && chooseSignature(decode('SavedModel', bytes), signatureName);
  const graph = saved ? saved.graph : decode('GraphDef', bytes);
  const functions = new Map((graph.library?.function ?? []).map(one => [one.signature.name, one]));
  const unfolding = new Unfolding(functions);
  const outside = unfolding.add(graph.node ?? [], '', new Map());
  const ports = saved ? signaturePorts(saved.signature) : frozenPorts(unfolding.nodes, graph.node ?? [], graph.versions?.producer ?? 0);
  for (const port of ports.outputs)
    port.tensor = outside(port.tensor);
  let bundle = null, keys = null;
  const weights = new Map();
  const nodes = needed(unfolding.nodes, ports.outputs.map(port => port.tensor)).map(node => {
    if (!isVariable(node.op))
      return node;
    if (!keys) { // a call for the sake of order alone restores them
      for (const restore of graph.node)
        if (unfolding.called(restore))
          outside(restore.name);
      keys = variableKeys(unfolding.nodes);
      bundle = new Bundle(join(folder, 'variables', 'variables'));
    }
    if (!keys.has(node.name))
      throw new Error(`variable '${node.name}': no node restores it, expected an assignment from RestoreV2`);
    weights.set(node.name, bundle.tensor(keys.get(node.name)));
    return { name: node.name, op: 'Const', input: [], attr: { dtype: node.attr.dtype, value: {} } };
  });
  const constants = new Set(weights.keys());
  const node = nodes.map(one => (constants.has(one.name) ? one : nodesJson([one], weights)[0]));
  const used = usedFunctions(node, functions).map(one => functionJson(one, functions, weights));
  const entry = port => ({ name: port.tensor, dtype: port.number });
  const table = list => Object.fromEntries(list.map(port => [port.name, entry(port)]));
  return {
    ports,
    artifacts: {
      format: 'graph-model',
      modelTopology: { node, library: { function: used }, versions: { producer: graph.versions?.producer ?? 0 } },
      signature: { inputs: table(ports.inputs), outputs: table(ports.outputs) },
      ...packed(weights),
    },
  };
}

/// The functions that branches and bodies name, with those inside of them.
function usedFunctions(nodes, functions) {
  const found = new Map(), open = [...nodes];
  while (open.length)
    for (const value of Object.values(open.pop().attr ?? {}))
      for (const { name } of [value.func, ...(value.list?.func ?? [])].filter(Boolean))
        if (functions.has(name) && !found.has(name)) {
          found.set(name, functions.get(name));
          open.push(...(functions.get(name).nodeDef ?? []));
        }
  return [...found.values()];
}

/// The type of a result, for a TensorFlow.js that has fewer types: what the node says of it; null where it says nothing.
export function resultType(artifacts, port) {
  if (port.number)
    return dtypeOf(port.number, port.name).npy;
  const attr = artifacts.modelTopology.node.find(node => node.name === nodeOf(port.tensor))?.attr ?? {};
  const said = attr.output_type ?? attr.DstT ?? attr.out_type ?? attr.Tparams ?? attr.dtype ?? attr.T;
  return said?.type ? dtypeOf(said.type, port.name).npy : null;
}
