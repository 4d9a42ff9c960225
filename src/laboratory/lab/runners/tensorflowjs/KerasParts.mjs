// Parts of Keras models: the layers between tensors, called again on new inputs with the weights that they have.

/// A tensor has the name of the layer that makes it, behind the names of the models around the layer (`outer/inner`), and
/// `:1`, `:2`, ... for further calls of the layer (docs/keras.md).
function repeat(tf, model, operands, prefix, starts, made) {
  const values = new Map(model.inputs.map((tensor, i) => [tensor.id, operands[i]]));
  const nodes = Object.keys(model.nodesByDepth).map(Number).sort((a, b) => b - a).flatMap(depth => model.nodesByDepth[depth]);
  for (const node of nodes) {
    const layer = node.outboundLayer;
    if (node.inputTensors[0].id === node.outputTensors[0].id) // of an InputLayer
      continue;
    const given = node.inputTensors.map(tensor => values.get(tensor.id));
    let results;
    if (layer.nodesByDepth) {
      results = repeat(tf, layer, given, `${prefix}${layer.name}/`, starts, made);
    } else {
      results = [layer.apply(given.length === 1 ? given[0] : given, node.callArgs)].flat();
      let name = prefix + layer.name;
      for (let call = 1; made.has(name); ++call)
        name = `${prefix}${layer.name}:${call}`;
      if (starts.includes(name))
        results[0] = tf.input({ batchShape: results[0].shape, dtype: results[0].dtype });
      made.set(name, results[0]);
    }
    node.outputTensors.forEach((tensor, i) => values.set(tensor.id, results[i]));
  }
  return model.outputs.map(tensor => values.get(tensor.id));
}

/// The part of a model from the tensors `from` to the tensors `to`, by name; empty lists: the model's own ends, whose names are
/// `inputNames` and `outputNames`. Returns {model, inputNames, outputNames}.
export function partOf(tf, model, inputNames, outputNames, { from, to }) {
  const made = new Map();
  const inputs = model.inputs.map((tensor, i) => {
    const input = tf.input({ batchShape: tensor.shape, dtype: tensor.dtype });
    made.set(inputNames[i], input);
    return input;
  });
  const outputs = repeat(tf, model, inputs, '', from, made);
  outputs.forEach((tensor, i) => made.set(outputNames[i], made.get(outputNames[i]) ?? tensor));
  const tensorOf = name => {
    if (!made.has(name))
      throw new Error(`has no layer '${name}'`);
    return made.get(name);
  };
  const names = { inputNames: from.length ? from : inputNames, outputNames: to.length ? to : outputNames };
  return { ...names, model: tf.model({ inputs: names.inputNames.map(tensorOf), outputs: names.outputNames.map(tensorOf) }) };
}
