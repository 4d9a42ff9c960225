// TensorFlow.js as a runner (docs/runner-protocol.md): frozen graphs and SavedModels of TensorFlow, and Keras models. A judge of
// outputs; its speed is no peer of a native program.
import { createRequire } from 'node:module';
import { readFileSync, statSync } from 'node:fs';
import { types } from '../node/Npy.mjs';
import { serve } from '../node/Serve.mjs';
import { readGraph, resultType } from './Graph.mjs';
import { isKeras, readKeras } from './Keras.mjs';
import { partOf } from './KerasParts.mjs';
import { clamped } from './Tensors.mjs';

console.log = console.info = console.warn = console.error; // standard output is the protocol's
const require = createRequire(import.meta.url);
const tf = require('@tensorflow/tfjs-core');
const { loadGraphModel } = require('@tensorflow/tfjs-converter');
const layers = require('@tensorflow/tfjs-layers');
require('@tensorflow/tfjs-backend-cpu');
const wasm = require('@tensorflow/tfjs-backend-wasm');
wasm.setWasmPaths(require.resolve('@tensorflow/tfjs-backend-wasm').replace(/[^/]*$/, ''));
tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
tf.unregisterKernel('Conv3DBackpropInputV2', 'wasm'); // its results are zeros
tf.unregisterKernel('GatherV2', 'wasm'); // with batch_dims it reads beyond the elements

/// Number types of TensorFlow.js by the types in files that it computes with.
const computed = { f32: 'float32', f64: 'float32', bool: 'bool' };
const symbolic = ({ name, dims }) => dims && dims.map((dim, i) => (dim === null || dim < 0 ? `${name}_${i}` : dim));

/// A loaded model, as node/Serve.mjs wants it. `execute(tensors by input)` returns the tensors of the outputs.
class Model {
  constructor(inputs, outputs, execute) {
    this.inputs = inputs;
    this.outputs = outputs;
    this.execute = execute;
    this.ran = [];
  }

  async run() {
    const given = Object.fromEntries(this.inputs.map(({ name, type, value, valueDims }) => {
      const dtype = computed[type.name] ?? 'int32';
      const values = dtype === 'float32' ? Float32Array.from(value) : dtype === 'bool' ? value : Int32Array.from(value, element => clamped(Number(element)));
      return [name, tf.tensor(values, valueDims, dtype)];
    }));
    tf.dispose(this.ran);
    const begin = process.hrtime.bigint();
    try {
      this.ran = await this.execute(given);
    } catch (error) {
      if (tf.getBackend() !== 'wasm' || !/wasm|not registered|not supported|unsupported|not implemented/i.test(error.message))
        throw error;
      console.error(`${error.message}: the plain backend runs this model`);
      await tf.setBackend('cpu'); // for every kernel that the WebAssembly backend lacks
      return this.run();
    }
    await Promise.all(this.ran.map(tensor => tensor.data()));
    const end = process.hrtime.bigint();
    tf.dispose(given);
    return Number(end - begin);
  }

  /// In the types of the file where TensorFlow.js has fewer.
  results() {
    return Promise.all(this.ran.map(async (tensor, i) => {
      const data = await tensor.data(), stated = this.outputs[i].type;
      // Of comparisons, shapes and the like the node states the type of the operands alone.
      const type = stated && (computed[stated.name] ?? 'int32') === tensor.dtype ? stated : types[tensor.dtype];
      if (!type)
        throw new Error(`output '${this.outputs[i].name}' has type ${tensor.dtype}, expected one of ${Object.keys(types).join(', ')}`);
      const big = type.Array === BigInt64Array;
      return { name: this.outputs[i].name, type, dims: tensor.shape, data: type.Array.from(data, big ? BigInt : Number) };
    }));
  }
}

/// Ports of a part: of the model where it has them, else any tensor by its name.
function portsOf(names, own, artifacts) {
  return names.map(name => {
    const known = own.find(port => port.name === name);
    if (!known && !artifacts.modelTopology.node.some(node => node.name === name.split(':')[0]))
      throw new Error(`has no node '${name}'`);
    return known ?? { name, tensor: name, number: null, dims: null };
  });
}

async function loadGraph(path, part) {
  const { ports, artifacts } = readGraph(path, signature);
  const model = await loadGraphModel({ load: async () => artifacts });
  const whole = !part.from.length;
  if (!whole)
    ports.inputs = portsOf(part.from, ports.inputs, artifacts);
  if (part.to.length)
    ports.outputs = portsOf(part.to, ports.outputs, artifacts);
  // The node behind an input of a part states no type of its result for certain; the bound array has it.
  const inputs = ports.inputs.map(port => ({ name: port.name, type: port.number && types[resultType(artifacts, port)], dims: symbolic(port) }));
  for (const { name, type } of inputs)
    if (!type && whole)
      throw new Error(`input '${name}' has a type that TensorFlow.js does not have`);
  const outputs = ports.outputs.map(port => ({ name: port.name, type: types[resultType(artifacts, port)], dims: symbolic(port) }));
  const wanted = ports.outputs.map(port => port.tensor);
  let dynamic = false;
  return new Model(inputs, outputs, async given => {
    const feeds = Object.fromEntries(ports.inputs.map(port => [port.tensor, given[port.name]]));
    if (!dynamic)
      try {
        return [model.execute(feeds, wanted)].flat();
      } catch (error) {
        if (!/executeAsync/.test(error.message))
          throw error;
        dynamic = true; // loops, branches, and extents that elements decide
      }
    return [await model.executeAsync(feeds, wanted)].flat();
  });
}

async function loadKeras(path, part) {
  const { topology, setWeights } = readKeras(path);
  let model = await layers.models.modelFromJSON(topology.model_config);
  setWeights(tf, model);
  const namesOf = list => list.map((tensor, i) => {
    const layer = tensor.sourceLayer.name, before = list.slice(0, i).filter(other => other.sourceLayer.name === layer).length;
    return before ? `${layer}_${before}` : layer;
  });
  let inputNames = namesOf(model.inputs), outputNames = namesOf(model.outputs);
  if (part.from.length || part.to.length)
    ({ model, inputNames, outputNames } = partOf(layers, model, inputNames, outputNames, part));
  const ports = (list, names) => list.map((tensor, i) =>
    ({ name: names[i], type: types[tensor.dtype] ?? types.float32, dims: symbolic({ name: names[i], dims: tensor.shape }) }));
  const inputs = ports(model.inputs, inputNames), outputs = ports(model.outputs, outputNames);
  return new Model(inputs, outputs, given => [model.predict(inputs.map(({ name }) => given[name]), { batchSize: 1 << 20 })].flat());
}

async function load(path, part) {
  await tf.setBackend('wasm');
  try {
    if (!statSync(path).isFile() || !isKeras(readFileSync(path)))
      return await loadGraph(path, part);
    return await loadKeras(path, part);
  } catch (error) {
    throw new Error(`${path}: ${error.message}`);
  }
}

const [flag, signature = ''] = process.argv.slice(2);
if (flag && flag !== '--signature') {
  console.error('usage: Runner.mjs [--signature NAME]');
  process.exit(2);
}
await serve({
  runtime: 'TensorFlow.js',
  hello: {
    name: 'tensorflowjs', version: tf.version_core, formats: ['tensorflow', 'savedmodel', 'keras'],
    settings: { backend: 'WebAssembly with SIMD on one thread; plain JavaScript for operators that it lacks', node: process.versions.node,
      caution: 'tensorflowjs is a judge of outputs: its times say nothing of native TensorFlow' },
  },
  load,
});
