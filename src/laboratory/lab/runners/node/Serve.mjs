// What runners under Node.js share: the messages of docs/runner-protocol.md and the timed loop.
import { createInterface } from 'node:readline';
import { readNpy, types, writeNpy } from './Npy.mjs';

function requireOneThread(count, runtime) {
  if (count !== 1)
    throw new Error(`${count} threads: this build of ${runtime} computes on one`);
}

/// Keeps the elements of an .npy file as the value of the port with this name.
function bind(model, name, path) {
  const port = model.inputs.find(input => input.name === name);
  if (!port)
    throw new Error(`no input '${name}', expected ${model.inputs.map(input => input.name).join(', ')}`);
  const { descr, dims, bytes } = readNpy(path);
  const fits = !port.dims || (dims.length === port.dims.length && dims.every((dim, i) => typeof port.dims[i] === 'string' || dim === port.dims[i]));
  port.type ??= Object.values(types).find(type => type.descr === descr);
  if (descr !== port.type?.descr || !fits)
    throw new Error(`input '${name}': expected ${port.type?.descr ?? 'a known type'} of [${port.dims}], got ${descr} of [${dims}]`);
  const count = dims.reduce((product, dim) => product * dim, 1);
  if (bytes.length !== count * port.type.Array.BYTES_PER_ELEMENT)
    throw new Error(`${path}: expected ${count} elements of ${descr}, got ${bytes.length} bytes`);
  port.value = new port.type.Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  port.valueDims = dims;
}

const portJson = ({ name, type, dims }) => ({ name, type: type?.name ?? '', dims });

/// Answers requests until the input ends. `runtime` is what its messages call the runtime, `hello` the runner's part of the
/// greeting. `load(path, {from, to})` returns a model, or the part of it between these tensors (empty lists: the whole):
///   inputs, outputs   ports {name, type of Npy.mjs (null where a run tells), dims (null: any rank; a text: a
///                     symbolic extent)}; bound inputs get `value` and `valueDims`
///   run()             runs once and returns nanoseconds
///   results()         [{name, type, dims, data}] of the last run
export async function serve({ runtime, hello, load }) {
  let model = null;
  const timed = async () => {
    for (const { name, value } of model.inputs)
      if (!value)
        throw new Error(`input '${name}' is not bound`);
    return model.run();
  };
  const answers = {
    hello: () => ({ protocol: 1, ...hello, uncounted: 'Node.js does not count' }),
    load: async ({ path, threads = 1, from = [], to = [] }) => {
      requireOneThread(threads, runtime);
      model = null;
      const begin = process.hrtime.bigint();
      model = await load(path, { from, to });
      return { load_ns: Number(process.hrtime.bigint() - begin), inputs: model.inputs.map(portJson), outputs: model.outputs.map(portJson) };
    },
    inputs: ({ files }) => {
      for (const [name, path] of Object.entries(files))
        bind(model, name, path);
      return {};
    },
    run: async ({ directory }) => {
      await timed();
      const outputs = {};
      (await model.results()).forEach(({ name, type, dims, data }, i) => {
        outputs[name] = `${directory}/${i}.npy`;
        writeNpy(outputs[name], type.descr, dims, data);
      });
      return { outputs };
    },
    time: async ({ warmup = 0, repetitions }) => {
      const samples = [];
      for (let i = 0; i < warmup + repetitions; ++i)
        samples.push(await timed());
      return { samples_ns: samples.slice(warmup) };
    },
    threads: ({ count }) => {
      requireOneThread(count, runtime);
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
}
