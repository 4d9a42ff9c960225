"""`lathe segments`: a network piece by piece against ONNX Runtime."""
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "model", "import", "keras", "testing"))
from keras_files import Layer, Model, Ref, input_layer, write

from fixture import PEER, Cli, field, main, network

TENSORFLOW_JS = os.path.join(PEER, "..", "..", "tensorflowjs", "node_modules")


def tensorflow_graph(relu="relu"):
    """softmax(relu(x w) v) for x of 1x3, as a frozen graph of TensorFlow, with this name of the relu."""
    shape = lambda *dims: b"".join(field(2, field(1, extent)) for extent in dims)
    attr = lambda key, value: field(5, field(1, key) + field(2, value))
    floats = attr("T", field(6, 1))

    def node(name, op, *inputs, attrs=floats):
        return field(1, field(1, name) + field(2, op) + b"".join(field(3, each) for each in inputs) + attrs)

    def constant(name, rows, columns):
        content = struct.pack(f"<{rows * columns}f", *((i % 5 - 2) / 4 for i in range(rows * columns)))
        tensor = field(1, 1) + field(2, shape(rows, columns)) + field(4, content)
        return node(name, "Const", attrs=attr("dtype", field(6, 1)) + attr("value", field(8, tensor)))

    placeholder = node("x", "Placeholder", attrs=attr("dtype", field(6, 1)) + attr("shape", field(7, shape(1, 3))))
    return (placeholder + constant("w", 3, 6) + constant("v", 6, 4) + node("first", "MatMul", "x", "w") + node(relu, "Relu", "first")
            + node("second", "MatMul", relu, "v") + node("prob", "Softmax", "second") + field(4, field(1, 1000)))


def keras_model():
    """A convolution, an inner model, and a dense layer that is called twice."""
    random = np.random.default_rng(3)
    weights = lambda *shape: random.normal(0, 0.5, shape)
    dense = lambda name, width, calls: Layer("Dense", name, {"units": width, "activation": "tanh", "use_bias": True}, [weights(6, width), weights(width)],
                                             calls=calls)
    conv = Layer("Conv2D", "conv", {"filters": 6, "kernel_size": [3, 3], "strides": [1, 1], "padding": "same", "use_bias": False, "activation": "relu",
                                    "groups": 1, "dilation_rate": [1, 1], "data_format": "channels_last"}, [weights(3, 3, 2, 6)], calls=[([Ref("x")], {})])
    inner = Model("inner", [input_layer("y", [6]), dense("dense", 6, [([Ref("y")], {})]), Layer("Activation", "act", {"activation": "relu"}, calls=[([Ref("dense")], {})])],
                  ["y"], [Ref("act")])
    return Model("outer", [input_layer("x", [5, 4, 2]), conv,
                           Layer("GlobalAveragePooling2D", "pool", {"data_format": "channels_last"}, calls=[([Ref("conv")], {})]),
                           Layer("Functional", "inner", calls=[([Ref("pool")], {})], model=inner),
                           dense("twice", 6, [([Ref("inner")], {}), ([Ref("twice", 0)], {})]),
                           dense("last", 3, [([Ref("twice", 1)], {})])], ["x"], [Ref("last")])


class Segments(Cli):
    def test_tensorflow_js_runs_parts_of_the_original_graph(self):
        graph = self.path("graph.pb")
        with open(graph, "wb") as file:
            file.write(tensorflow_graph())
        if not os.path.isdir(TENSORFLOW_JS):
            print("TENSORFLOW.JS IS NOT INSTALLED (make peers): it runs no parts")
            return
        figures = self.figures("segments", graph, "--at", "relu", "--repeat", "1", "--with", "tensorflowjs", "--no-store")
        parts = figures["cumulative"] + figures["blocks"]
        self.assertEqual([(part["from"], part["to"]) for part in parts], [("", "relu"), ("", ""), ("", "relu"), ("relu", "")])
        for part in parts:
            self.assertTrue(part["peers"][0]["agrees"], part)
            self.assertNotIn("notes", part["sides"][1])
        self.error("segments", self.net, "--with", "tensorflowjs", says="expected a model of TensorFlow or Keras, got .*net.mlir")

    def test_tensorflow_js_runs_parts_of_keras_models(self):
        if not os.path.isdir(TENSORFLOW_JS):
            print("TENSORFLOW.JS IS NOT INSTALLED (make peers): it runs no parts")
            return
        for name in ["parts.h5", "parts.keras"]:
            write(self.path(name), keras_model())
            # Behind a layer, behind a layer of an inner model, and behind the second call of a layer.
            figures = self.figures("segments", self.path(name), "--at", "conv,inner/dense,twice:1", "--repeat", "1", "--with", "tensorflowjs",
                                   "--no-store")
            parts = figures["cumulative"] + figures["blocks"]
            self.assertEqual([(part["from"], part["to"]) for part in parts],
                             [("", "conv"), ("", "inner/dense"), ("", "twice:1"), ("", ""),
                              ("", "conv"), ("conv", "inner/dense"), ("inner/dense", "twice:1"), ("twice:1", "")])
            for part in parts:
                self.assertTrue(part["peers"][0]["agrees"], part)
                self.assertNotIn("notes", part["sides"][1])
        self.error("segments", self.path("parts.keras"), "--at", "nowhere", "--with", "tensorflowjs", "--no-store", says="nowhere")

    def test_scopes_and_warnings(self):
        if not os.path.isdir(PEER):
            print("ONNX RUNTIME IS NOT INSTALLED (make peers): segments are not measured")
            return
        path = self.path("scoped.mlir")
        with open(path, "w") as file:
            file.write(network().replace('loc("relu1")', 'loc("head/relu1")').replace('loc("conv1")', 'loc("head/conv1")'))
        figures = self.figures("segments", path, "--at", "head,relu2", "--repeat", "1", "--no-store")
        self.assertEqual([part["to"] for part in figures["cumulative"]], ["head/relu1", "relu2", ""])
        text = self.lathe("segments", path, "--at", "head/,relu2", "--repeat", "1", "--no-store").stdout
        warnings = [line for line in text.splitlines() if line.startswith("warning")]
        self.assertIn("warning, 5 of 5 parts: 1 start says too little for a verdict on onnxruntime: allow more rounds", warnings)
        self.assertEqual(sum("too little" in line for line in warnings), 1, text)
        self.assertNotIn("--max-seconds", text)

    def test_a_part_that_the_other_runtime_cannot_run(self):
        if not os.path.isdir(TENSORFLOW_JS):
            print("TENSORFLOW.JS IS NOT INSTALLED (make peers): it runs no parts")
            return
        graph = self.path("renamed.pb")
        with open(graph, "wb") as file:  # nodes have printable names here, so TensorFlow.js does not find this one
            file.write(tensorflow_graph("re\nlu"))
        text = self.lathe("segments", graph, "--at", "re?lu", "--repeat", "1", "--with", "tensorflowjs", "--no-store", code=1).stdout
        self.assertIn("tensorflowjs failed", text)
        self.assertNotIn("outputs differ", text)

    def test_a_network_piece_by_piece(self):
        listed = self.lathe("segments", self.net, "--list").stdout
        self.assertIn("one tensor passes", listed)
        self.assertIn("relu1", listed)
        self.error("segments", self.net, "--with", "reference", says="expected onnxruntime or opencv")
        if not os.path.isdir(PEER):
            print("ONNX RUNTIME IS NOT INSTALLED (make peers): segments are not measured")
            return
        figures = self.figures("segments", self.net, "--at", "relu1,relu2", "--repeat", "3")
        self.assertEqual([(part["from"], part["to"]) for part in figures["cumulative"]], [("", "relu1"), ("", "relu2"), ("", "")])
        self.assertEqual([(part["from"], part["to"]) for part in figures["blocks"]], [("", "relu1"), ("relu1", "relu2"), ("relu2", "")])
        for part in figures["cumulative"] + figures["blocks"]:
            self.assertTrue(part["peers"][0]["agrees"], part)
            self.assertEqual(len(part["sides"][0]["rounds_ns"]), 3)
            self.assertEqual(part["starts"], [1, 1, 1])  # each run in processes of its own
            for side in part["sides"]:  # what a call costs, at the sizes of this part's inputs
                self.assertGreater(side["overhead_us"], 0)
        self.assertTrue(figures["finished"])
        self.assertEqual([part["operators"] for part in figures["blocks"]],
                         [figures["blocks"][0]["operators"]] + [part["operators"] - before["operators"] for part, before in zip(figures["cumulative"][1:], figures["cumulative"])])
        self.error("segments", self.net, "--at", "relu7", says="--at relu7: has no node or tensor")
        disordered = self.error("segments", self.net, "--at", "relu2,relu1", says="--at relu1 does not depend on --at relu2; give them in the order of the graph")
        self.assertNotIn("up to", disordered)  # nothing has been measured
        experiment = [e for e in self.figures("store", "list", "--kind", "segments")["experiments"] if e["points"]][-1]
        points = self.figures("store", "show", experiment["uuid"])["points"]
        self.assertEqual(len(points), 2 * 5)  # the first block is the first part
        self.assertEqual({point["operator"] for point in points}, {"segment"})
        self.assertTrue(any(point["problem"].endswith("data 1x3x12x12 from relu1 to relu2") for point in points), points)


if __name__ == "__main__":
    main()
