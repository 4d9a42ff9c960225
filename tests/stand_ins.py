"""Writes small models and their values, which NumPy computes, in the layout of LATHE_TEST_DATA.

usage: stand_ins.py FLATC FOLDER

Tests read FOLDER where LATHE_TEST_DATA does not exist. Each model stands in for a network: it has the file name and the kinds
of layers of the network, but random weights and fewer channels and pixels.

FOLDER/models/             networks of TensorFlow Lite, TensorFlow, Keras and ONNX
FOLDER/models/golden/      inputs, outputs and values of the tensors of each network of floats (manifest.json: tolerances)
FOLDER/conformance/onnx/   cases of Debian's libonnx-testdata (opsets before 18), in own/ the cases of onnx_cases.py from opset 18
"""
import json
import os
import shutil
import subprocess
import sys

import numpy as np

TESTS = os.path.dirname(os.path.abspath(__file__))
IMPORT = os.path.join(TESTS, "..", "src", "model", "import")
sys.path[:0] = [os.path.join(IMPORT, "keras", "testing"), os.path.join(IMPORT, "tensorflow", "testing")]
import graph_files as tensorflow  # noqa: E402
import keras_files as keras  # noqa: E402
import onnx_writer as onnx  # noqa: E402
import reference  # noqa: E402
from onnx_cases import Part, cases  # noqa: E402
from scope import FLOAT, INT  # noqa: E402

DEBIAN = "/usr/share/libonnx-testdata/data"
# Cases there with models of opset 1, and with bfloat16 data that says it is uint16.
NOT_READ = ("test_global*pool*", "test_softplus*", "test_softsign*", "*BFLOAT16*")


class Layer:
    """A layer reads the results of the layers `inputs`, which are counted from the input of the network (0)."""

    def __init__(self, kind, inputs, weight=None, bias=None, stride=1, activation="linear"):
        self.kind, self.inputs, self.weight, self.bias = kind, inputs, weight, bias
        self.stride, self.activation = stride, activation

    def value(self, given):
        x = given[0]
        if self.kind == "conv":
            x = reference.conv(x, self.weight, self.stride, "same") + self.bias
        elif self.kind == "depthwise":
            x = reference.depthwise(x, self.weight, self.stride, "same") + self.bias
        elif self.kind == "dense":
            x = x @ self.weight + self.bias
        elif self.kind == "add":
            x = given[0] + given[1]
        elif self.kind == "mean":
            x = x.mean((1, 2))
        return reference.ACTIVATIONS["softmax" if self.kind == "softmax" else self.activation](x)


class Network:
    """Layers in the order in which they run. Methods return the number of their result."""

    def __init__(self, name, extents):
        self.name, self.extents, self.layers, self.channels = name, extents, [], [extents[-1]]
        self.random = np.random.RandomState(sum(map(ord, name)))

    def add(self, kind, inputs, channels, shape=None, **more):
        weight = bias = None
        if shape:
            fan = np.prod(shape[:2] if kind == "depthwise" else shape[:-1])
            weight = self.random.normal(0, (2 / fan) ** 0.5, shape).astype("f4")
            bias = self.random.uniform(-0.3, 0.3, channels).astype("f4")
        self.layers.append(Layer(kind, inputs, weight, bias, **more))
        self.channels.append(channels)
        return len(self.layers)

    def conv(self, x, filters, size, stride=1, activation="relu"):
        return self.add("conv", [x], filters, (size, size, self.channels[x], filters), stride=stride, activation=activation)

    def depthwise(self, x, stride=1):
        c = self.channels[x]
        return self.add("depthwise", [x], c, (3, 3, c, 1), stride=stride, activation="relu")

    def dense(self, x, units, activation="linear"):
        return self.add("dense", [x], units, (self.channels[x], units), activation=activation)

    def sum(self, a, b):
        return self.add("add", [a, b], self.channels[a], activation="relu")

    def classes(self, x, count):
        x = self.dense(self.add("mean", [x], self.channels[x]), count)
        return self.add("softmax", [x], count)

    def values(self, x):
        """The input and the results of all layers."""
        values = [x.astype("f8")]
        for layer in self.layers:
            values.append(layer.value([values[i] for i in layer.inputs]))
        return values

    def inputs(self):
        return [np.random.RandomState(seed).uniform(-1, 1, (1, *self.extents)).astype("f4") for seed in (1, 2)]


def dscnn(name):
    net = Network(name, [49, 10, 1])
    x = net.conv(0, 8, 4, stride=2)
    for _ in range(3):
        x = net.conv(net.depthwise(x), 8, 1)
    net.classes(x, 12)
    return net


def resnet(name):
    net = Network(name, [16, 16, 3])
    x = net.conv(0, 8, 3)
    x = net.sum(x, net.conv(net.conv(x, 8, 3), 8, 3, activation="linear"))
    side = net.conv(net.conv(x, 16, 3, stride=2), 16, 3, activation="linear")
    net.classes(net.sum(net.conv(x, 16, 1, stride=2, activation="linear"), side), 10)
    return net


def mobilenet(name):
    net = Network(name, [16, 16, 3])
    x = net.conv(0, 8, 3, stride=2)
    for filters, stride in ((8, 1), (16, 2), (16, 1), (24, 2)):
        x = net.conv(net.depthwise(x, stride), filters, 1)
    net.classes(x, 2)
    return net


def autoencoder(name):
    net, x = Network(name, [40]), 0
    for units in (32, 32, 24, 24, 8, 24, 24, 32, 32):
        x = net.dense(x, units, "relu")
    net.dense(x, 40)
    return net


def classifier(name):
    net = Network(name, [30])
    x = net.dense(net.dense(0, 24, "relu"), 16, "relu")
    net.add("softmax", [net.dense(x, 10)], 10)
    return net


# ---- TensorFlow Lite: flatc makes the file of JSON


class Tflite:
    """codes   scale and zero point of the input and of every result, of a network whose tensors are int8; None: floats"""

    NAMES = {"conv": "CONV_2D", "depthwise": "DEPTHWISE_CONV_2D", "dense": "FULLY_CONNECTED", "add": "ADD", "mean": "MEAN",
             "softmax": "SOFTMAX"}
    OPTIONS = {"conv": "Conv2D", "depthwise": "DepthwiseConv2D", "dense": "FullyConnected", "add": "Add", "mean": "Reducer",
               "softmax": "Softmax"}
    TYPES = {"float32": "FLOAT32", "int8": "INT8", "int32": "INT32"}

    def __init__(self, network, codes=None):
        self.network, self.codes = network, codes
        self.tensors, self.buffers, self.operators = [], [{}], []
        extents = [value.shape for value in network.values(network.inputs()[0])]
        for i, shape in enumerate(extents):
            scale = {"scale": [codes[i][0]], "zero_point": [codes[i][1]]} if codes else {}
            self.tensor(self.name(i), shape, "int8" if codes else "float32", scale)
        for i, layer in enumerate(network.layers):
            self.layer(i + 1, layer)

    def name(self, i):
        return f"{self.network.layers[i - 1].kind}_{i}" if i else "input_1"

    def tensor(self, name, shape, kind, scale=None, data=None):
        if data is not None:
            self.buffers.append({"data": list(np.ascontiguousarray(data).tobytes())})
        self.tensors.append({"name": name, "shape": [int(n) for n in shape], "type": self.TYPES[kind], "quantization": scale or {},
                             "buffer": len(self.buffers) - 1 if data is not None else 0})
        return len(self.tensors) - 1

    def constant(self, name, array, scale=None):
        return self.tensor(name, array.shape, array.dtype.name, scale, array)

    def weights(self, at, layer):
        """The layer's weight and bias as constants: floats, or integers with a scale for each channel."""
        array, axis = {"conv": (lambda w: w.transpose(3, 0, 1, 2), 0), "depthwise": (lambda w: w.transpose(3, 0, 1, 2), 3),
                       "dense": (np.transpose, None)}[layer.kind]
        array = array(layer.weight)
        names = [f"{self.name(at)}/{part}" for part in ("weight", "bias")]
        if not self.codes:
            return [self.constant(name, each) for name, each in zip(names, (array, layer.bias))]
        others = tuple(i for i in range(array.ndim) if i != axis)
        largest = np.abs(array).max(others if axis is not None else None, keepdims=True)
        scales = largest / 127
        of = lambda s: {"scale": [float(one) for one in s.ravel()], "zero_point": [0] * s.size, "axis": axis or 0}
        codes = np.round(array / scales).astype("i1")
        sums = scales.ravel() * self.codes[layer.inputs[0]][0]
        bias = np.round(layer.bias / sums).astype("i4")
        return [self.constant(names[0], codes, of(scales)), self.constant(names[1], bias, {**of(sums), "axis": 0})]

    def layer(self, at, layer):
        relu = {"activation": "RELU" if layer.activation == "relu" else "NONE"}
        window = {"padding": "SAME", "stride_w": layer.stride, "stride_h": layer.stride, **relu}
        options = {"conv": window, "depthwise": {**window, "depth_multiplier": 1}, "dense": relu, "add": relu, "mean": {},
                   "softmax": {"beta": 1.0}}[layer.kind]
        inputs = list(layer.inputs)
        if layer.weight is not None:
            inputs += self.weights(at, layer)
        elif layer.kind == "mean":
            inputs.append(self.constant(f"{self.name(at)}/axes", np.array([1, 2], "i4")))
        self.operators.append({"code": list(self.NAMES).index(layer.kind), "inputs": inputs, "outputs": [at],
                               "options_type": self.OPTIONS[layer.kind], "options": options})

    def write(self, flatc, path):
        codes = [{"code": name, "old_code": number, "version": 1}
                 for name, number in zip(self.NAMES.values(), (3, 4, 9, 0, 40, 25))]
        graph = {"tensors": self.tensors, "inputs": [0], "outputs": [len(self.network.layers)], "operators": self.operators}
        model = {"version": 3, "operator_codes": codes, "subgraphs": [graph], "buffers": self.buffers}
        text = path.replace(".tflite", ".json")
        with open(text, "w") as file:
            json.dump(model, file)
        folder = os.path.dirname(path)
        subprocess.run([flatc, "-b", "-o", folder, os.path.join(IMPORT, "tflite", "tflite.fbs"), text], check=True)
        os.remove(text)
        os.replace(text.replace(".json", ".bin"), path)


def codes_of(network):
    """Scale and zero point of the tensors, by what they hold for the network's inputs."""
    runs, codes = [network.values(x) for x in network.inputs()], []
    for i, each in enumerate(zip(*runs)):
        least, most = min(0, *(v.min() for v in each)), max(0, *(v.max() for v in each))
        scale = float(np.float32((most - least) / 255))
        codes.append((scale, int(round(-128 - least / scale))))
        if i and network.layers[i - 1].kind == "softmax":
            codes[i] = (1 / 256, -128)
    return codes


# ---- TensorFlow


class Graph:
    """A network as nodes of TensorFlow."""

    def __init__(self, network, placeholder, result):
        self.graph = tensorflow.Graph()
        self.names = [self.graph.placeholder(placeholder, [-1, *network.extents])]
        for i, layer in enumerate(network.layers):
            self.layer(f"{layer.kind}_{i + 1}", layer)
        self.float(result, "Identity", [self.names[-1]])

    def float(self, name, op, inputs, **attributes):
        return self.graph.node(name, op, inputs, T=FLOAT, **attributes)

    def layer(self, name, layer):
        given, window = [self.names[i] for i in layer.inputs], {"strides": [1, layer.stride, layer.stride, 1], "padding": "SAME",
                                                                "data_format": "NHWC", "dilations": [1, 1, 1, 1]}
        if layer.weight is not None:
            op, attributes = {"conv": ("Conv2D", window), "depthwise": ("DepthwiseConv2dNative", window),
                              "dense": ("MatMul", {"transpose_a": False, "transpose_b": False})}[layer.kind]
            x = self.float(f"{name}/{op}", op, [*given, self.graph.const(f"{name}/weight", layer.weight)], **attributes)
            x = self.float(f"{name}/BiasAdd", "BiasAdd", [x, self.graph.const(f"{name}/bias", layer.bias)], data_format="NHWC")
        elif layer.kind == "add":
            x = self.float(f"{name}/AddV2", "AddV2", given)
        elif layer.kind == "mean":
            x = self.float(f"{name}/Mean", "Mean", [*given, self.graph.const(f"{name}/axes", [1, 2])], Tidx=INT, keep_dims=False)
        else:
            x = self.float(f"{name}/Softmax", "Softmax", given)
        self.names.append(self.float(f"{name}/Relu", "Relu", [x]) if layer.activation == "relu" else x)


def write_saved_model(folder, network):
    """One graph with a signature, whose weights are constants."""
    os.makedirs(folder)
    part, number = tensorflow.part, tensorflow.number
    nodes = Graph(network, "x", "y").graph.bytes
    entry = lambda key, message: part(1, key) + part(2, message)
    of = lambda name, extents: part(1, name + ":0") + number(2, 1) + part(3, tensorflow.shape_message(extents))
    signature = part(1, entry("input_1", of("x", [-1, *network.extents]))) + part(2, entry("Identity", of("y", [-1, 12])))
    signature += part(3, "tensorflow/serving/predict")
    graph = part(1, part(4, "serve")) + part(2, nodes + part(4, number(1, tensorflow.PRODUCER)))
    graph += part(5, entry("serving_default", signature))
    with open(os.path.join(folder, "saved_model.pb"), "wb") as file:
        file.write(number(1, 1) + part(2, graph))


class Recurrent:
    """A recurrent network as TensorFlow 1 unrolls it: the steps one after the other, then a projection."""

    STEPS, INPUTS, UNITS, CLASSES = 4, 7, 12, 10

    def __init__(self, name):
        self.name, self.extents = name, [self.STEPS * self.INPUTS]
        random = np.random.RandomState(sum(map(ord, name)))
        gates = {"lstm": [("kernel", 4)], "gru": [("gates", 2), ("candidate", 1)]}[name]
        self.weights = {part: (random.normal(0, 0.4, (self.INPUTS + self.UNITS, n * self.UNITS)).astype("f4"),
                               random.uniform(-0.3, 0.3, n * self.UNITS).astype("f4")) for part, n in gates}
        self.last = (random.normal(0, 0.5, (self.UNITS, self.CLASSES)).astype("f4"), random.uniform(-1, 1, self.CLASSES).astype("f4"))

    def inputs(self):
        return [np.random.RandomState(seed).uniform(-1, 1, (1, *self.extents)).astype("f4") for seed in (1, 2)]

    def values(self, x):
        h = c = np.zeros((1, self.UNITS))
        dense = lambda parts, weights: np.concatenate(parts, 1) @ weights[0] + weights[1]
        s = reference.sigmoid
        for step in np.split(x.astype("f8"), self.STEPS, 1):
            if self.name == "lstm":
                i, j, f, o = np.split(dense([step, h], self.weights["kernel"]), 4, 1)
                c = s(f + 1) * c + s(i) * np.tanh(j)
                h = s(o) * np.tanh(c)
            else:
                r, u = np.split(s(dense([step, h], self.weights["gates"])), 2, 1)
                h = u * h + (1 - u) * np.tanh(dense([step, r * h], self.weights["candidate"]))
        return [x, h @ self.last[0] + self.last[1]]

    def write(self, path):
        self.graph = tensorflow.Graph()
        x = self.graph.placeholder("X", [-1, *self.extents])
        weights = {part: [self.graph.const(f"{part}/{name}", array) for name, array in zip(("weight", "bias"), arrays)]
                   for part, arrays in {**self.weights, "last": self.last}.items()}
        axis, one, zeros = self.graph.const("axis", 1), self.graph.const("one", 1.0), self.graph.const("zeros", np.zeros((1, self.UNITS)))
        self.graph.node("steps", "Split", [axis, x], T=FLOAT, num_split=self.STEPS)
        h = c = zeros
        for t in range(self.STEPS):
            step = f"steps:{t}" if t else "steps"

            def op(name, kind, *inputs, t=t, **more):
                return self.graph.node(f"cell_{t}/{name}", kind, inputs, T=FLOAT, **more)

            def dense(name, parts, pair, op=op):
                joined = op(name + "/concat", "ConcatV2", *parts, axis, N=len(parts), Tidx=INT)
                product = op(name + "/MatMul", "MatMul", joined, weights[pair][0], transpose_a=False, transpose_b=False)
                return op(name + "/BiasAdd", "BiasAdd", product, weights[pair][1], data_format="NHWC")

            if self.name == "lstm":
                parts = self.graph.node(f"cell_{t}/split", "Split", [axis, dense("gates", [step, h], "kernel")], T=FLOAT, num_split=4)
                forget = op("forget", "Sigmoid", op("add", "Add", parts + ":2", one))
                fresh = op("mul_1", "Mul", op("input", "Sigmoid", parts), op("new", "Tanh", parts + ":1"))
                c = op("state", "Add", op("mul", "Mul", c, forget), fresh)
                h = op("result", "Mul", op("Tanh", "Tanh", c), op("output", "Sigmoid", parts + ":3"))
            else:
                both = op("Sigmoid", "Sigmoid", dense("gates", [step, h], "gates"))
                parts = self.graph.node(f"cell_{t}/split", "Split", [axis, both], T=FLOAT, num_split=2)
                new = op("Tanh", "Tanh", dense("candidate", [step, op("mul", "Mul", parts, h)], "candidate"))
                kept, rest = op("mul_1", "Mul", parts + ":1", h), op("sub", "Sub", one, parts + ":1")
                h = op("result", "Add", kept, op("mul_2", "Mul", rest, new))
        y = self.graph.node("last/MatMul", "MatMul", [h, weights["last"][0]], T=FLOAT, transpose_a=False, transpose_b=False)
        self.graph.node("output", "BiasAdd", [y, weights["last"][1]], T=FLOAT, data_format="NHWC")
        self.graph.write(path)


# ---- Keras


def keras_model(network):
    kinds = {"conv": "Conv2D", "depthwise": "DepthwiseConv2D", "dense": "Dense", "add": "Add", "mean": "GlobalAveragePooling2D",
             "softmax": "Softmax"}
    layers, names = [keras.input_layer("input_1", network.extents)], ["input_1"]
    for i, layer in enumerate(network.layers):
        config = {"activation": layer.activation, "use_bias": True}
        if layer.kind in ("conv", "depthwise"):
            config.update(kernel_size=list(layer.weight.shape[:2]), strides=[layer.stride] * 2, padding="same",
                          data_format="channels_last", dilation_rate=[1, 1])
            config.update({"filters": layer.weight.shape[-1], "groups": 1} if layer.kind == "conv" else {"depth_multiplier": 1})
        elif layer.kind == "dense":
            config["units"] = layer.weight.shape[-1]
        else:
            config = {"mean": {"data_format": "channels_last", "keepdims": False}, "softmax": {"axis": -1}}.get(layer.kind, {})
        given = [keras.Ref(names[j]) for j in layer.inputs]
        weights = [] if layer.weight is None else [layer.weight, layer.bias]
        name = f"{layer.kind}_{i + 1}"
        layers.append(keras.Layer(kinds[layer.kind], name, config, weights, calls=[([given if len(given) > 1 else given[0]], {})]))
        if layer.kind == "add":
            layers.append(keras.Layer("Activation", name + "_relu", {"activation": "relu"}, calls=[([keras.Ref(name)], {})]))
            name += "_relu"
        names.append(name)
    return keras.Model("model", layers, ["input_1"], [keras.Ref(names[-1])])


# ---- ONNX


def write_light_squeezenet(folder):
    """A fire module between convolutions, and its output for the input arange(n)/n."""
    net = Network("light_squeezenet", [224, 224, 3])
    squeeze = net.conv(net.conv(0, 8, 3, stride=8), 4, 1)
    both = net.conv(squeeze, 8, 1), net.conv(squeeze, 8, 3)
    net.channels.append(16)
    layers, (small, large) = net.layers, both
    weight = net.random.normal(0, 0.35, (1, 1, 16, 1000)).astype("f4")
    bias = net.random.uniform(-0.1, 0.1, 1000).astype("f4")
    x = (np.arange(3 * 224 * 224) / (3 * 224 * 224)).astype("f4").reshape(1, 3, 224, 224)
    values = net.values(x.transpose(0, 2, 3, 1))
    joined = np.concatenate([values[small], values[large]], 3)
    y = reference.softmax(np.maximum(joined @ weight[0, 0] + bias, 0).mean((1, 2)))

    nodes, constants = [], []
    for i, layer in enumerate([*layers, Layer("conv", [len(layers) + 1], weight, bias, activation="relu")]):
        at = i + 1 if i < len(layers) else i + 2
        constants += [onnx.tensor(f"w{at}", layer.weight.transpose(3, 2, 0, 1)), onnx.tensor(f"b{at}", layer.bias)]
        nodes.append(onnx.node("Conv", f"v{layer.inputs[0]} w{at} b{at}", f"c{at}", f"conv{at}", auto_pad="SAME_UPPER",
                               kernel_shape=list(layer.weight.shape[:2]), strides=[layer.stride] * 2))
        nodes.append(onnx.node("Relu", f"c{at}", f"v{at}", f"relu{at}"))
        if at == len(layers):
            nodes.append(onnx.node("Concat", f"v{small} v{large}", f"v{at + 1}", "concat", axis=1))
    nodes += [onnx.node("GlobalAveragePool", f"v{len(layers) + 2}", "pooled", "pool"),
              onnx.node("Flatten", "pooled", "flat", "flatten"), onnx.node("Softmax", "flat", "y", "softmax")]
    onnx.model(os.path.join(folder, "light_squeezenet.onnx"), nodes, [onnx.value("v0", [1, 3, 224, 224])], [onnx.value("y", [1, 1000])],
               constants, opset=9)
    with open(os.path.join(folder, "light_squeezenet_output_0.pb"), "wb") as file:
        file.write(onnx.tensor("y", y.astype("f4")))


def write_conformance(folder):
    """Cases in the folders that the ONNX project uses: onnx_cases.py from opset 18, and copies of Debian's older cases."""
    for case in cases():
        if case.opset < 18:
            continue
        place = os.path.join(folder, "own", f"test_{case.name}")
        data = os.path.join(place, "test_data_set_0")
        os.makedirs(data)
        part = Part([case])
        part.write(place, "model")
        results = [np.asarray(e) for e in case.expected if e is not None]
        results = [e.astype(Part.KINDS[e.dtype.kind]) for e in results]
        for name, arrays in (("input", part.arrays.values()), ("output", results)):
            for i, array in enumerate(arrays):
                with open(os.path.join(data, f"{name}_{i}.pb"), "wb") as file:
                    file.write(onnx.tensor("", array))
    for kind in ("node", "simple", "pytorch-operator", "pytorch-converted"):
        if os.path.isdir(os.path.join(DEBIAN, kind)):
            shutil.copytree(os.path.join(DEBIAN, kind), os.path.join(folder, kind), ignore=shutil.ignore_patterns(*NOT_READ))
        else:
            print(f"{DEBIAN}/{kind} is missing: no cases of ONNX before opset 18 (Debian: libonnx-testdata)")


def write_golden(folder, model, network):
    """Inputs and outputs; returns the entry of the manifest."""
    entry = {"model": model, "inputs": [{"name": "", "shape": [1, *network.extents]}], "tolerance": {"max_abs_diff_over_max_abs": 1e-5},
             "cases": []}
    for number, x in enumerate(network.inputs()):
        place = os.path.join(folder, f"case_{number}")
        os.makedirs(place)
        values = network.values(x)
        np.save(os.path.join(place, "input_0.npy"), x)
        np.save(os.path.join(place, "output_0.npy"), values[-1].astype("f4"))
        entry["cases"].append({"dir": f"case_{number}"})
        if model.endswith(".tflite"):
            with open(os.path.join(place, "tensors.tsv"), "w") as file:
                file.write("op_index\top\ttensor_index\ttype\tshape\tscale\tzero_point\tcrc32\tmin\tmax\tsum\tname\n")
                for i, value in enumerate(values[1:]):
                    row = [i, network.layers[i].kind, i + 1, "float32", "x".join(map(str, value.shape)), "", "", ""]
                    file.write("\t".join(map(str, [*row, value.min(), value.max(), value.sum(), f"{network.layers[i].kind}_{i + 1}"])) + "\n")
    return entry


def main():
    flatc, folder = sys.argv[1:]
    if os.path.exists(folder):
        shutil.rmtree(folder)
    models = os.path.join(folder, "models")
    for name in ("tflite", "tensorflow", "keras", "onnx", "golden"):
        os.makedirs(os.path.join(models, name))
    manifest = {}

    def golden(name, model, network):
        manifest[name] = write_golden(os.path.join(models, "golden", name), model, network)
        return os.path.join(models, model)

    for name, make in (("kws_dscnn", dscnn), ("resnet8_cifar10", resnet), ("toycar_autoencoder", autoencoder), ("vww96_mobilenet", mobilenet)):
        network = make(name)
        Tflite(network).write(flatc, golden(name + "_float", f"tflite/{name}_float.tflite", network))
        Tflite(network, codes_of(network)).write(flatc, os.path.join(models, "tflite", name + "_int8.tflite"))
    for name, make in (("resnet8_cifar10", resnet), ("toycar_autoencoder", autoencoder), ("vww96_mobilenet", mobilenet)):
        network = make(name)
        keras.write(golden(name, f"keras/{name}.h5", network), keras_model(network))
    for name, network in (("ae0", autoencoder("ae0")), ("fc-layers", classifier("fc-layers"))):
        Graph(network, "X", "output").graph.write(golden(name, f"tensorflow/{name}.frozen.pb", network))
    for name in ("gru", "lstm"):
        network = Recurrent(name)
        network.write(golden(name, f"tensorflow/{name}.frozen.pb", network))
        manifest[name]["inputs"][0]["name"] = "X"
    network = dscnn("kws_dscnn_saved_model")
    write_saved_model(golden("kws_dscnn_saved_model", "tensorflow/kws_dscnn_saved_model", network), network)
    write_light_squeezenet(os.path.join(models, "onnx"))
    os.makedirs(os.path.join(folder, "conformance", "onnx"))
    write_conformance(os.path.join(folder, "conformance", "onnx"))
    with open(os.path.join(models, "golden", "manifest.json"), "w") as file:  # last: the folder is complete
        json.dump(manifest, file, indent=1)


if __name__ == "__main__":
    main()
