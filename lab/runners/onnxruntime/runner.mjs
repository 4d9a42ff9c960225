// ONNX Runtime as a runner for `lathe compare`. The protocol: docs/runner-protocol.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

const ort = (await import('onnxruntime-node')).default;

// Element type -> [type of ONNX Runtime's tensors, array that holds them, npy descriptor].
const types = {
  f32: ['float32', Float32Array, '<f4'], f64: ['float64', Float64Array, '<f8'], f16: ['float16', Uint16Array, '<f2'],
  i8: ['int8', Int8Array, '|i1'], i16: ['int16', Int16Array, '<i2'], i32: ['int32', Int32Array, '<i4'],
  i64: ['int64', BigInt64Array, '<i8'], u8: ['uint8', Uint8Array, '|u1'], u16: ['uint16', Uint16Array, '<u2'],
  u32: ['uint32', Uint32Array, '<u4'], u64: ['uint64', BigUint64Array, '<u8'], bool: ['bool', Uint8Array, '|b1'],
};
const byOrtName = Object.fromEntries(Object.entries(types).map(([name, t]) => [t[0], { name, array: t[1], descriptor: t[2] }]));
const byDescriptor = Object.fromEntries(Object.entries(types).map(([name, t]) => [t[2], { name, ort: t[0], array: t[1] }]));

function readNpy(path) {
  const file = readFileSync(path);
  if (file.toString('latin1', 0, 6) !== '\x93NUMPY') throw new Error(`${path}: no .npy file`);
  const headerAt = file[6] === 1 ? 10 : 12;
  const length = file[6] === 1 ? file.readUInt16LE(8) : file.readUInt32LE(8);
  const header = file.toString('latin1', headerAt, headerAt + length);
  const descriptor = /'descr'\s*:\s*'([^']*)'/.exec(header)?.[1];
  const type = byDescriptor[descriptor];
  if (!type || !/'fortran_order'\s*:\s*False/.test(header)) throw new Error(`${path}: cannot read arrays of ${header.trim()}`);
  const dims = /'shape'\s*:\s*\(([^)]*)\)/.exec(header)[1].split(',').map(s => s.trim()).filter(s => s).map(Number);
  const bytes = file.subarray(headerAt + length);
  const count = dims.reduce((a, b) => a * b, 1);
  if (bytes.length < count * type.array.BYTES_PER_ELEMENT) throw new Error(`${path}: truncated`);
  const data = new type.array(count); // a copy of its own: aligned
  new Uint8Array(data.buffer).set(bytes.subarray(0, data.byteLength));
  return new ort.Tensor(type.ort, data, dims);
}

function writeNpy(path, tensor) {
  const type = byOrtName[tensor.type];
  if (!type) throw new Error(`an output is of type ${tensor.type}, which .npy files cannot hold`);
  const shape = tensor.dims.length === 1 ? `${tensor.dims[0]},` : tensor.dims.join(', ');
  let header = `{'descr': '${type.descriptor}', 'fortran_order': False, 'shape': (${shape}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
  const start = Buffer.from(`\x93NUMPY\x01\x00\x00\x00${header}`, 'latin1');
  start.writeUInt16LE(header.length, 8);
  const data = tensor.data;
  writeFileSync(path, Buffer.concat([start, Buffer.from(data.buffer, data.byteOffset, data.byteLength)]));
}

let path, threads = 1, session, feeds = {};

async function createSession() {
  const begin = process.hrtime.bigint();
  session = await ort.InferenceSession.create(path, {
    executionProviders: ['cpu'], intraOpNumThreads: threads, interOpNumThreads: 1,
    executionMode: 'sequential', graphOptimizationLevel: 'all', logSeverityLevel: 3,
  });
  return Number(process.hrtime.bigint() - begin);
}

// A dimension is a number, or a text where it is free.
const describe = list => list.map(v => ({
  name: v.name, type: byOrtName[v.type]?.name ?? String(v.type), dims: v.shape ? [...v.shape] : [],
}));

const actions = {
  hello: () => ({
    protocol: 1, name: 'onnxruntime', version: ort.env?.versions?.node ?? ort.env?.versions?.common ?? '', formats: ['onnx'],
    uncounted: 'cycles, instructions, cache_misses: a program of Node.js does not see them',
    settings: { execution: 'sequential', graph_optimization: 'all', provider: 'cpu', node: process.version },
  }),
  load: async request => {
    path = request.path;
    threads = request.threads ?? 1;
    feeds = {};
    const loadNs = await createSession();
    return { load_ns: loadNs, inputs: describe(session.inputMetadata), outputs: describe(session.outputMetadata) };
  },
  threads: async request => {
    threads = request.count;
    return { load_ns: await createSession() };
  },
  inputs: request => {
    feeds = Object.fromEntries(Object.entries(request.files).map(([name, file]) => [name, readNpy(file)]));
    return {};
  },
  run: async request => {
    const results = await session.run(feeds);
    const outputs = {};
    session.outputNames.forEach((name, i) => {
      outputs[name] = join(request.directory, `${i}.npy`);
      writeNpy(outputs[name], results[name]);
    });
    return { outputs };
  },
  time: async request => {
    for (let i = 0; i < (request.warmup ?? 0); ++i) await session.run(feeds);
    const samples = [], before = process.cpuUsage();
    for (let i = 0; i < request.repetitions; ++i) {
      const begin = process.hrtime.bigint();
      await session.run(feeds);
      samples.push(Number(process.hrtime.bigint() - begin));
    }
    const used = process.cpuUsage(before); // of all threads, in microseconds
    return { samples_ns: samples, counts: { cpu_ns: 1000 * (used.user + used.system) } };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const request = JSON.parse(line);
    if (request.do === 'quit') break;
    if (!Object.hasOwn(actions, request.do)) throw new Error(`unknown request '${request.do}'`);
    if (!session && !['hello', 'load'].includes(request.do)) throw new Error(`'${request.do}' before 'load'`);
    answer = { ok: true, ...(await actions[request.do](request)) };
  } catch (error) {
    answer = { ok: false, error: String(error.message ?? error).split('\n')[0] };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
process.exit(0);
