// Keras models (.h5 and .keras) in the form that TensorFlow.js builds layers from.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { inflateRawSync } from 'node:zlib';

const { File, Group } = createRequire(import.meta.url)('jsfive');

const isHdf5 = bytes => bytes.subarray(0, 4).equals(Buffer.from([0x89, 0x48, 0x44, 0x46]));
export const isKeras = bytes => isHdf5(bytes) || bytes.subarray(0, 4).toString('latin1') === 'PK\x03\x04';

/// The members of an archive by name, from its central directory.
function membersOf(bytes) {
  const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1'), members = new Map();
  let at = end < 0 ? bytes.length : bytes.readUInt32LE(end + 16);
  while (at + 46 <= bytes.length && bytes.readUInt32LE(at) === 0x02014b50) {
    const [packed, nameLength, extra, comment] = [bytes.readUInt32LE(at + 20), bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32)];
    const local = bytes.readUInt32LE(at + 42), method = bytes.readUInt16LE(at + 10);
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const content = bytes.subarray(begin, begin + packed);
    members.set(bytes.subarray(at + 46, at + 46 + nameLength).toString('utf8'), () => (method === 8 ? inflateRawSync(content) : content));
    at += 46 + nameLength + extra + comment;
  }
  return members;
}

// ---- Configurations. TensorFlow.js reads those of Keras 2.

const noSuch = (what, layer) => new Error(`layer '${layer}' has ${what}, which TensorFlow.js does not have`);

/// A function by its name, of Keras 2 or 3.
const nameOf = value => (typeof value === 'string' || !value ? value : value.config?.name ?? value.config);

/// Arguments of layers that TensorFlow.js ignores, so that its results would differ: [class, argument, values that are the same].
const ignored = [
  [/Transpose$/, 'output_padding', [null]], [/^Global/, 'keepdims', [false]], [/^ReLU$/, 'negative_slope', [0, null]],
  [/^ReLU$/, 'threshold', [0, null]], [/^UpSampling/, 'interpolation', ['nearest']], [/Conv\dD$/, 'groups', [1]],
  [/^GRU/, 'reset_after', [false]], [/LSTM|GRU|RNN/, 'zero_output_for_mask', [false]],
];

/// `kind` is the class of the layer.
function layerConfig(kind, given, version, layer) {
  const config = { ...given };
  for (const [classes, key, same] of ignored)
    if (classes.test(kind) && config[key] !== undefined && !same.includes(config[key]))
      throw noSuch(`${key} ${JSON.stringify(config[key])}`, layer);
  if (kind === 'LeakyReLU' && config.negative_slope !== undefined) // as Keras 3 calls it
    config.alpha = config.negative_slope;
  if (/LSTM|GRU|RNN/.test(kind)) // the default takes time, for what the file has
    config.recurrent_initializer = { class_name: 'Zeros', config: {} };
  for (const [key, value] of Object.entries(config)) {
    if (key.endsWith('_initializer'))
      config[key] = { class_name: 'Zeros', config: {} }; // the file has the weights
    else if (key.endsWith('_regularizer') || key.endsWith('_constraint'))
      config[key] = null;
    else if (key === 'activation' || key === 'recurrent_activation') {
      if (value && typeof value !== 'string' && value.class_name !== 'function')
        throw noSuch(`the activation ${value.class_name}`, layer);
      config[key] = { silu: 'swish' }[nameOf(value)] ?? nameOf(value);
      if (version === 3 && config[key] === 'hard_sigmoid')
        throw noSuch("Keras 3's hard_sigmoid", layer);
    } else if (key === 'dtype')
      config[key] = typeof value === 'string' && value ? value : value?.config?.name ?? 'float32';
    else if (['layer', 'cell', 'backward_layer'].includes(key) && value)
      config[key] = { class_name: value.class_name, config: layerConfig(value.class_name, value.config, version, layer) };
  }
  if (config.batch_shape)
    config.batch_input_shape = config.batch_shape;
  if (Array.isArray(config.axis) && config.axis.length === 1)
    [config.axis] = config.axis;
  for (const key of ['batch_shape', 'ragged', 'sparse', 'optional', 'registered_name', 'module', 'build_config', 'quantization_config'])
    delete config[key];
  return config;
}

const isTensor = value => value?.class_name === '__keras_tensor__';

/// A call of Keras 3, as Keras 2 writes it: for every operand the layer, its call, the result, and arguments.
function oldCall({ args = [], kwargs = {} }, layer) {
  const operands = args.flat(), rest = Object.fromEntries(Object.entries(kwargs).filter(([key, value]) => value !== null && key !== 'training'));
  if (!operands.every(isTensor) || Object.values(rest).flat().some(isTensor))
    throw noSuch('a call with other arguments than tensors', layer);
  return operands.map((tensor, i) => [...tensor.config.keras_history, i ? {} : rest]);
}

const references = value => (typeof value?.[0] === 'string' ? [value] : Array.isArray(value) ? value : Object.values(value ?? {}));
const isModel = kind => ['Sequential', 'Functional', 'Model'].includes(kind);

/// Counts calls of models inside of a model from 1: the call 0 is in TensorFlow.js what made them. Old files do so, too.
function countCalls(config) {
  const all = [...config.layers.flatMap(layer => (layer.inbound_nodes ?? []).flat()), ...config.input_layers, ...config.output_layers];
  for (const { name } of config.layers.filter(layer => isModel(layer.class_name))) {
    const own = all.filter(reference => reference[0] === name);
    if (own.some(reference => reference[1] === 0))
      own.forEach(reference => ++reference[1]);
  }
}

function modelConfig({ class_name: kind, config: given }, version) {
  const listed = Array.isArray(given) ? given : given.layers; // old Sequentials are a list
  const layers = listed.map(layer => {
    const name = layer.config.name ?? layer.name;
    const entry = { class_name: layer.class_name, config: isModel(layer.class_name) ? modelConfig(layer, version).config : layerConfig(layer.class_name, layer.config, version, name) };
    if (kind !== 'Sequential') {
      entry.name = layer.name ?? name;
      entry.inbound_nodes = (layer.inbound_nodes ?? []).map(call => (Array.isArray(call) ? call : oldCall(call, name)));
    }
    return entry;
  });
  const config = { name: given.name ?? 'sequential', layers };
  if (kind !== 'Sequential') {
    config.input_layers = references(given.input_layers);
    config.output_layers = references(given.output_layers);
    countCalls(config);
  }
  return { class_name: kind === 'Sequential' ? kind : 'Functional', config };
}

// ---- Weights.

const at = (group, path) => {
  let here = group;
  for (const part of path.split('/').filter(Boolean)) {
    if (!(here instanceof Group) || !here.keys.includes(part))
      return null;
    here = here.get(part);
  }
  return here;
};

const snakeCase = name => name.replace(/\W+/g, '').replace(/(.)([A-Z][a-z]+)/g, '$1_$2').replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();

/// Arrays of "vars", in order.
function variables(group, path) {
  const vars = at(group, `${path}/vars`);
  return vars ? vars.keys.map(Number).sort((a, b) => a - b).map(key => vars.get(String(key))) : [];
}

/// The arrays of a layer of a .keras file; those that wrap another layer have them inside of it.
function arraysBelow(group, path) {
  const own = variables(group, path);
  const inner = ['forward_layer', 'backward_layer', 'layer', 'cell'].filter(part => at(group, `${path}/${part}`));
  return [...own, ...inner.flatMap(part => arraysBelow(group, `${path}/${part}`))];
}

function setArrays(tf, layer, arrays) {
  if (arrays.length !== layer.weights.length)
    throw new Error(`layer '${layer.name}' has ${arrays.length} arrays in the file, expected ${layer.weights.length}`);
  if (arrays.includes(null))
    throw new Error(`layer '${layer.name}': an array that the file lists is missing`);
  const tensors = arrays.map(array => tf.tensor(Float32Array.from(array.value), array.shape, 'float32'));
  layer.setWeights(tensors);
  tf.dispose(tensors);
}

/// Of a .keras file: folders are called after the classes of layers, in their order.
function setNew(tf, model, config, file, path) {
  const used = {};
  for (const entry of config.layers) {
    const name = snakeCase(entry.class_name), count = used[name] = (used[name] ?? -1) + 1;
    const folder = `${path}/${count ? `${name}_${count}` : name}`;
    const layer = model.layers.find(one => one.name === entry.config.name);
    if (isModel(entry.class_name))
      setNew(tf, layer, entry.config, file, `${folder}/layers`);
    else if (layer?.weights.length)
      setArrays(tf, layer, arraysBelow(file, folder));
  }
}

/// Names that the group of a layer lists; texts of a fixed length end in zeros.
function arrayNames(group, layer) {
  const listed = at(group, layer)?.attrs.weight_names ?? [];
  return [...listed].map(name => name.replace(/\0+$/, ''));
}

/// Of an .h5 file: groups are called after layers, and name their arrays.
function setOld(tf, layers, group, names) {
  for (const layer of layers) {
    const own = names ? names.filter(name => name.split('/').slice(0, -1).includes(layer.name)) : arrayNames(group, layer.name);
    const place = names ? group : at(group, layer.name);
    if (layer.layers)
      setOld(tf, layer.layers, place, own);
    else if (layer.weights.length)
      setArrays(tf, layer, own.map(name => at(place, name)));
  }
}

const arrayBuffer = bytes => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);

/// Reads a model. Returns `topology` for modelFromJSON, and setWeights(tf, model), which gives its layers the arrays of the file.
export function readKeras(path) {
  const bytes = readFileSync(path);
  const members = isHdf5(bytes) ? null : membersOf(bytes);
  const member = name => {
    if (!members.has(name))
      throw new Error(`member '${name}' is missing`);
    return members.get(name)();
  };
  const file = new File(arrayBuffer(members ? member('model.weights.h5') : bytes), path);
  const saved = members ? member('config.json').toString('utf8') : file.attrs.model_config;
  if (!saved)
    throw new Error('has no attribute model_config: it holds weights alone');
  const version = members ? 3 : Number.parseInt(file.attrs.keras_version ?? '1', 10);
  const config = modelConfig(JSON.parse(saved), version);
  const setWeights = (tf, model) => {
    if (members)
      setNew(tf, model, config.config, file, at(file, 'layers') ? '/layers' : '/_layer_checkpoint_dependencies');
    else
      setOld(tf, model.layers, at(file, 'model_weights') ?? file, null);
  };
  return { topology: { model_config: config }, setWeights };
}
