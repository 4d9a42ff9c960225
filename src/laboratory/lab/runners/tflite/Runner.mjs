// TensorFlow Lite as a runner (docs/runner-protocol.md): the WebAssembly build in the npm package @tensorflow/tfjs-tflite,
// under Node.js and without TensorFlow.js. Its outputs are TensorFlow Lite's; its speed says nothing of a native build.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { types as all } from '../node/Npy.mjs';
import { serve } from '../node/Serve.mjs';
import { partOf, tensorNames } from './Names.mjs';

const require = createRequire(import.meta.url);
const modulePath = require.resolve('@tensorflow/tfjs-tflite/wasm/tflite_web_api_cc_simd.js');
const version = require('@tensorflow/tfjs-tflite/package.json').version;
const compiled = await WebAssembly.compile(readFileSync(modulePath.replace(/js$/, 'wasm')));

const { int64, ...types } = all; // which this build does not hand out

/// A loaded model, as node/Serve.mjs wants it.
class Model {
  /// A module of its own, so that memory and failures of a model end with it.
  static async load(path, { from, to }) {
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
    const whole = readFileSync(path), file = from.length || to.length ? partOf(whole, from, to) : whole;
    const place = module._malloc(file.length); // the interpreter reads weights from there as long as it lives
    module.HEAPU8.set(file, place);
    const made = module.TFLiteWebModelRunner.CreateFromBufferAndOptions(
      place, file.length, { numThreads: 1, enableProfiling: false, maxProfilingBufferEntries: 1 });
    if (!made.ok())
      throw new Error(`TensorFlow Lite does not load ${path}: ${[...said, made.errorMessage()].join(' ').replace(/\s+/g, ' ')}`);
    return new Model(made.value(), tensorNames(whole), said);
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
    return this.ports(this.interpreter.GetOutputs()).map(({ tensor, ...port }) => ({ ...port, data: tensor.data() }));
  }

  /// Inputs are copied in before: the interpreter may overwrite them.
  run() {
    for (const { tensor, value } of this.inputs)
      tensor.data().set(value);
    this.said.length = 0;
    const begin = process.hrtime.bigint();
    const done = this.interpreter.Infer();
    const end = process.hrtime.bigint();
    if (!done)
      throw new Error(`TensorFlow Lite failed: ${this.said.join(' ').replace(/\s+/g, ' ')}`);
    return Number(end - begin);
  }
}

await serve({
  runtime: 'TensorFlow Lite',
  hello: {
    name: 'tflite', version, formats: ['tflite'],
    settings: { build: 'WebAssembly with SIMD, one thread', node: process.versions.node,
      caution: 'tflite is the WebAssembly build: its outputs are TensorFlow Lite\'s, its times say nothing of a native build' },
  },
  load: Model.load,
});
