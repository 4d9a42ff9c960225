#!/usr/bin/env python3
"""TensorFlow as a runner (docs/runner-protocol.md), for whoever has it: frozen graphs, SavedModels and Keras models.

usage: Runner.py [--signature NAME]

LATHE_TENSORFLOW_PYTHON names the Python that has TensorFlow 2.
"""
import json
import os
import sys
import time

import numpy as np

TYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "int8": "i8", "uint8": "u8", "int16": "i16", "int32": "i32", "int64": "i64",
         "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool"}
# Operators whose results are not outputs of a frozen graph even if nothing reads them; "OP:1": result 1 and later ones.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "NoOutputs.txt")) as file:
    NO_OUTPUTS = set(file.read().split())
tf = None


def require_tensorflow():
    """Imports TensorFlow; its import takes seconds, so nothing else does."""
    global tf
    if tf is None:
        try:
            import tensorflow
        except ImportError as error:
            raise RuntimeError("TensorFlow is not installed for %s (%s): set LATHE_TENSORFLOW_PYTHON" % (sys.executable, error))
        tf = tensorflow
    return tf


def port(name, dtype, shape):
    """A port of the protocol. `shape` is a tf.TensorShape or a list; None: any rank."""
    kind = TYPES.get(getattr(dtype, "name", dtype))
    if kind is None:
        raise RuntimeError("'%s' has type %s, expected one of %s" % (name, dtype, ", ".join(TYPES)))
    if shape is not None and getattr(shape, "rank", 0) is None:
        shape = None
    dims = None if shape is None else [d if d is not None else "%s_%d" % (name, i) for i, d in enumerate(shape)]
    return {"name": name, "type": kind, "dims": dims}


class Model:
    """A loaded model: ports, and `call`, which maps a dictionary of tensors to the list of the outputs' tensors."""

    def __init__(self, inputs, outputs, call):
        self.inputs, self.outputs, self.call, self.bound = inputs, outputs, call, {}

    def bind(self, name, path):
        if name not in [each["name"] for each in self.inputs]:
            raise RuntimeError("no input '%s', expected %s" % (name, ", ".join(each["name"] for each in self.inputs)))
        self.bound[name] = tf.constant(np.load(path))

    def run(self):
        """Outputs, and nanoseconds of the call alone."""
        for each in self.inputs:
            if each["name"] not in self.bound:
                raise RuntimeError("input '%s' is not bound" % each["name"])
        begin = time.monotonic_ns()
        results = self.call(self.bound)
        arrays = [result.numpy() for result in results]
        return arrays, time.monotonic_ns() - begin


def load_keras(path):
    model = tf.keras.models.load_model(path, compile=False)
    function = tf.function(lambda arguments: model(arguments, training=False))
    names = [str(name) for name in model.input_names] if hasattr(model, "input_names") else [each.name.split(":")[0] for each in model.inputs]
    inputs = [port(name, each.dtype, each.shape) for name, each in zip(names, model.inputs)]
    outputs = [port(str(name), each.dtype, each.shape) for name, each in zip(model.output_names, model.outputs)]

    def call(bound):
        arguments = [bound[name] for name in names]
        results = function(arguments[0] if len(arguments) == 1 else arguments)
        return list(results) if isinstance(results, (list, tuple)) else list(results.values()) if isinstance(results, dict) else [results]

    return Model(inputs, outputs, call)


def load_saved_model(folder, signature):
    loaded = tf.saved_model.load(folder)
    names = sorted(loaded.signatures)
    name = signature or (names[0] if len(names) == 1 else "serving_default")
    if name not in names:
        raise RuntimeError("has no signature '%s', expected one of: %s" % (name, ", ".join(names)))
    function = loaded.signatures[name]
    arguments = function.structured_input_signature[1]
    keys = sorted(function.structured_outputs)
    inputs = [port(key, arguments[key].dtype, arguments[key].shape) for key in sorted(arguments)]
    # As Lathe's importer names them.
    outputs = [port(key + "_out" if key in arguments else key, function.structured_outputs[key].dtype, function.structured_outputs[key].shape)
               for key in keys]

    def call(bound, loaded=loaded):  # which owns the variables
        results = function(**bound)
        return [results[key] for key in keys]

    return Model(inputs, outputs, call)


def unmerged(nodes):
    """Names of the nodes of branches and bodies, which have a value only where the branch is taken."""
    readers, found = {}, set()
    for node in nodes:
        for name in node.input:
            readers.setdefault(name.lstrip("^").split(":")[0], []).append(node)
    open_nodes = [node for node in nodes if node.op in ("Switch", "RefSwitch")]
    while open_nodes:
        node = open_nodes.pop()
        if node.op not in ("Merge", "RefMerge", "Exit", "RefExit") and node.name not in found:
            found.add(node.name)
            open_nodes += readers.get(node.name, [])
    return found


def frozen_ports(nodes):
    """Names of the nodes that Lathe's importer takes for inputs and outputs of a frozen graph (import/tensorflow/FrozenPorts.cpp)."""
    operands = {node.name: [name.split(":")[0] for name in node.input if not name.startswith("^")] for node in nodes}
    read = {name for names in operands.values() for name in names}
    last = [node for node in nodes if node.name not in read and node.op not in NO_OUTPUTS]
    aside = unmerged(nodes) | {name[1:] for node in nodes if node.op not in NO_OUTPUTS for name in node.input if name.startswith("^")}
    outputs = [node.name for node in last if node.op not in ("Exit", "RefExit") and node.name not in aside] or [node.name for node in last]
    needed, open_names = set(), list(outputs)
    while open_names:
        name = open_names.pop()
        if name not in needed:
            needed.add(name)
            open_names += operands.get(name, [])
    return [node.name for node in nodes if node.op == "Placeholder" and node.name in needed], outputs


def are_outputs(op, results):
    """The results of a last node that are outputs."""
    numbers = [i for i in range(len(results)) if "%s:%d" % (op, i) in NO_OUTPUTS]
    return results[:numbers[0]] if numbers else results


def load_graph(path):
    graph = tf.compat.v1.GraphDef()
    with open(path, "rb") as file:
        graph.ParseFromString(file.read())
    feeds, fetches = frozen_ports(graph.node)
    wrapped = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), [])
    tensors = [wrapped.graph.get_tensor_by_name(name + ":0") for name in feeds]
    results = [(name if not i else "%s:%d" % (name, i), tensor) for name in fetches
               for operation in [wrapped.graph.get_operation_by_name(name)]
               for i, tensor in enumerate(are_outputs(operation.type, operation.outputs))]
    function = wrapped.prune(tensors, [tensor for _, tensor in results])
    return Model([port(name, each.dtype, each.shape) for name, each in zip(feeds, tensors)],
                 [port(name, each.dtype, each.shape) for name, each in results],
                 lambda bound: list(function(*[bound[name] for name in feeds])))


def set_threads(count):
    try:
        tf.config.threading.set_intra_op_parallelism_threads(count)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:  # it has begun to compute
        if tf.config.threading.get_intra_op_parallelism_threads() != count:
            raise RuntimeError("%d threads: TensorFlow fixes their number at its first computation" % count)


def load(path, threads, signature):
    require_tensorflow()
    set_threads(threads)
    if os.path.isdir(path):
        return load_saved_model(path, signature)
    with open(path, "rb") as file:
        begin = file.read(4)
    if begin in (b"\x89HDF", b"PK\x03\x04"):
        return load_keras(path)
    if begin[:1] == b"\x0a":
        return load_graph(path)
    return load_saved_model(os.path.dirname(path), signature)


class Runner:
    def __init__(self, signature):
        self.signature, self.model = signature, None

    def answer(self, request):
        what = request["do"]
        if what == "hello":
            return {"protocol": 1, "name": "tensorflow", "version": require_tensorflow().__version__,
                    "formats": ["tensorflow", "savedmodel", "keras"], "settings": {"python": sys.version.split()[0]},
                    "uncounted": "the script does not count"}
        if what == "load":
            self.model = None
            if request.get("from") or request.get("to"):
                raise RuntimeError("this runner runs whole models alone")
            begin = time.monotonic_ns()
            self.model = load(request["path"], request.get("threads", 1), self.signature)
            return {"load_ns": time.monotonic_ns() - begin, "inputs": self.model.inputs, "outputs": self.model.outputs}
        if self.model is None:
            raise RuntimeError("'%s' before 'load'" % what)
        if what == "inputs":
            for name, path in request["files"].items():
                self.model.bind(name, path)
            return {}
        if what == "run":
            files = {}
            for i, (each, array) in enumerate(zip(self.model.outputs, self.model.run()[0])):
                files[each["name"]] = "%s/%d.npy" % (request["directory"], i)
                np.save(files[each["name"]], array)
            return {"outputs": files}
        if what == "time":
            samples = [self.model.run()[1] for _ in range(request.get("warmup", 0) + request["repetitions"])]
            return {"samples_ns": samples[request.get("warmup", 0):]}
        if what == "threads":
            set_threads(request["count"])
            return {}
        raise RuntimeError("unknown request '%s'" % what)


def main():
    arguments = sys.argv[1:]
    if len(arguments) not in (0, 2) or arguments[:1] not in ([], ["--signature"]):
        sys.exit("usage: Runner.py [--signature NAME]")
    runner = Runner(arguments[1] if arguments else "")
    answers, sys.stdout = sys.stdout, sys.stderr  # standard output is the protocol's
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if request["do"] == "quit":
                break
            result = {"ok": True, **runner.answer(request)}
        except Exception as error:  # of the framework, of any kind
            result = {"ok": False, "error": str(error).split("\n")[0]}
        print(json.dumps(result), file=answers, flush=True)


main()
