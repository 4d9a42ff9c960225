// TensorFlow Lite as a runner (docs/runner-protocol.md): the WebAssembly build in the npm package @tensorflow/tfjs-tflite,
// under Node.js and without TensorFlow.js. Its outputs are TensorFlow Lite's; its speed says nothing of a native build.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { readNpy, tensorNames, types, writeNpy } from './Arrays.mjs';

const require = createRequire(import.meta.url);
const modulePath = require.resolve('@tensorflow/tfjs-tflite/wasm/tflite_web_api_cc_simd.js');
const version = require('@tensorflow/tfjs-tflite/package.json').version;
const compiled = await WebAssembly.compile(readFileSync(modulePath.replace(/js$/, 'wasm')));

/// A loaded model.
class Model {
  /// A module of its own, so that memory and failures of a model end with it.
  static async load(path) {
    const said = [];
    const note = text => {
      said.push(String(text));
      console.error(text);
    };
    const instantiateWasm = (imports, done) => {
      WebAssembly.instantiate(compiled, imports).then(instance => done(instance, compiled));
      return {}; // done later
    };
    const module = await require(modulePath)({ instantiateWasm, print: note, printErr: note });
    const file = readFileSync(path);
    const place = module._malloc(file.length); // the interpreter reads weights from there as long as it lives
    module.HEAPU8.set(file, place);
    const made = module.TFLiteWebModelRunner.CreateFromBufferAndOptions(
      place, file.length, { numThreads: 1, enableProfiling: false, maxProfilingBufferEntries: 1 });
    if (!made.ok())
      throw new Error(`TensorFlow Lite does not load ${path}: ${[...said, made.errorMessage()].join(' ').replace(/\s+/g, ' ')}`);
    return new Model(made.value(), tensorNames(file), said);
  }

  constructor(interpreter, names, said) {
    this.interpreter = interpreter;
    this.said = said;
    this.ports = list => Array.from({ length: list.size() }, (_, i) => {
      const tensor = list.get(i), type = types[tensor.dataType], name = names[tensor.id];
      if (!type)
        throw new Error(`'${name}' has a type that this build does not hand out, expected ${Object.keys(types).join(', ')}`);
      return { name, type, tensor, dims: tensor.shape ? tensor.shape.split(',').map(Number) : [] };
    });
    this.inputs = this.ports(interpreter.GetInputs());
    this.outputs = this.ports(interpreter.GetOutputs());
  }

  /// Of the last run: the elements may decide the extents.
  results() {
    return this.ports(this.interpreter.GetOutputs());
  }

  bind(name, path) {
    const port = this.inputs.find(input => input.name === name);
    if (!port)
      throw new Error(`no input '${name}', expected ${this.inputs.map(input => input.name).join(', ')}`);
    const { descr, dims, bytes } = readNpy(path);
    if (descr !== port.type.descr || dims.join() !== port.dims.join())
      throw new Error(`input '${name}': expected ${port.type.descr} of [${port.dims}], got ${descr} of [${dims}]`);
    port.value = new port.type.Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  }

  /// Runs once and returns nanoseconds. Inputs are copied in before: the interpreter may overwrite them.
  run() {
    for (const { name, tensor, value } of this.inputs) {
      if (!value)
        throw new Error(`input '${name}' is not bound`);
      tensor.data().set(value);
    }
    this.said.length = 0;
    const begin = process.hrtime.bigint();
    const done = this.interpreter.Infer();
    const end = process.hrtime.bigint();
    if (!done)
      throw new Error(`TensorFlow Lite failed: ${this.said.join(' ').replace(/\s+/g, ' ')}`);
    return Number(end - begin);
  }
}

let model = null;

function requireOneThread(count) {
  if (count !== 1)
    throw new Error(`${count} threads: this build of TensorFlow Lite computes on one`);
}

const portJson = ({ name, type, dims }) => ({ name, type: type.name, dims });

const answers = {
  hello: () => ({
    protocol: 1, name: 'tflite', version, formats: ['tflite'],
    settings: { build: 'WebAssembly with SIMD, one thread', node: process.versions.node,
      caution: 'tflite is the WebAssembly build: its outputs are TensorFlow Lite\'s, its times say nothing of a native build' },
    uncounted: 'Node.js does not count',
  }),
  load: async ({ path, threads = 1 }) => {
    requireOneThread(threads);
    model = null;
    const begin = process.hrtime.bigint();
    model = await Model.load(path);
    return { load_ns: Number(process.hrtime.bigint() - begin), inputs: model.inputs.map(portJson), outputs: model.outputs.map(portJson) };
  },
  inputs: ({ files }) => {
    for (const [name, path] of Object.entries(files))
      model.bind(name, path);
    return {};
  },
  run: ({ directory }) => {
    model.run();
    const outputs = {};
    model.results().forEach(({ name, type, dims, tensor }, i) => {
      outputs[name] = `${directory}/${i}.npy`;
      writeNpy(outputs[name], type.descr, dims, tensor.data());
    });
    return { outputs };
  },
  time: ({ warmup = 0, repetitions }) => {
    for (let i = 0; i < warmup; ++i)
      model.run();
    return { samples_ns: Array.from({ length: repetitions }, () => model.run()) };
  },
  threads: ({ count }) => {
    requireOneThread(count);
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const request = JSON.parse(line);
    if (request.do === 'quit')
      break;
    if (!Object.hasOwn(answers, request.do))
      throw new Error(`unknown request '${request.do}'`);
    if (!model && !['hello', 'load'].includes(request.do))
      throw new Error(`'${request.do}' before 'load'`);
    answer = { ok: true, ...await answers[request.do](request) };
  } catch (error) {
    answer = { ok: false, error: String(error.message ?? error).split('\n')[0] };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
