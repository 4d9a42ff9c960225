"""`lathe diff-models`: two models, changed at known places."""
import os
import re
import sys

import numpy as np

for importer in ("keras", "tensorflow"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "model", "import", importer, "testing"))
from graph_files import Graph, Type, number, part, shape_message
from keras_files import Layer, Model, Ref, input_layer, write

from fixture import Cli, main, network

SCALE = """func.func @main(%x: tensor<1x4xf32>, %w: tensor<4xf32>) -> tensor<1x4xf32> {
  %y = nn.mul %x, %w : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32> }"""


def saved_model(folder, **signatures):
    """y = OP x for each NAME=OP."""
    graph = Graph()
    entries = b""
    for name, op in signatures.items():
        x = graph.placeholder(f"{name}/x", [1, 4])
        y = graph.node(f"{name}/y", op, [x], T=Type("float32"))
        port = lambda key, node: part(1, key) + part(2, part(1, node + ":0") + number(2, 1) + part(3, shape_message([1, 4])))
        entries += part(5, part(1, name) + part(2, part(1, port("x", x)) + part(2, port("y", y)) + part(3, "predict")))
    os.makedirs(folder)
    with open(os.path.join(folder, "saved_model.pb"), "wb") as file:
        file.write(number(1, 1) + part(2, part(1, part(4, "serve")) + part(2, graph.bytes + part(4, number(1, 1087))) + entries))
    return folder

# The network of the fixture as importers of formats with the channels last write it.
LAST = """
func.func @main(%data: tensor<1x12x12x3xf32> {nn.name = "data"}) -> (tensor<1x5xf32> {nn.name = "prob"}) {
  %w1 = nn.constant {value = dense<WEIGHTS1> : tensor<8x3x3x3xf32>} : tensor<8x3x3x3xf32>
  %b1 = nn.constant {value = dense<[0.1, -0.2, 0.3, 0.0, 0.5, -0.1, 0.2, 0.4]> : tensor<8xf32>} : tensor<8xf32>
  %w2 = nn.constant {value = dense<WEIGHTS2> : tensor<8x8x3x3xf32>} : tensor<8x8x3x3xf32>
  %fc = nn.constant {value = dense<WEIGHTS3> : tensor<8x5xf32>} : tensor<8x5xf32>
  %pad = nn.pad %data {pads = array<i64: 0, 1, 1, 0, 0, 1, 1, 0>, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x12x12x3xf32>) -> tensor<1x14x14x3xf32> loc("pad1")
  %i = nn.transpose %pad {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x14x14x3xf32>) -> tensor<1x3x14x14xf32>
  %0 = nn.conv %i, %w1, %b1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x3x14x14xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<1x8x12x12xf32> loc("conv_a")
  %t0 = nn.transpose %0 {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x8x12x12xf32>) -> tensor<1x12x12x8xf32>
  %1 = nn.relu %t0 : (tensor<1x12x12x8xf32>) -> tensor<1x12x12x8xf32> loc("relu_a")
  %t1 = nn.transpose %1 {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x12x12x8xf32>) -> tensor<1x8x12x12xf32>
  %2 = nn.conv %t1, %w2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x8x12x12xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x12x12xf32> loc("conv_b")
  %t2 = nn.transpose %2 {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x8x12x12xf32>) -> tensor<1x12x12x8xf32>
  %3 = nn.add %1, %t2 : (tensor<1x12x12x8xf32>, tensor<1x12x12x8xf32>) -> tensor<1x12x12x8xf32> loc("add_b")
  %4 = nn.relu %3 : (tensor<1x12x12x8xf32>) -> tensor<1x12x12x8xf32> loc("relu_b")
  %5 = nn.reduce_mean %4 {axes = array<i64: 1, 2>, keepdims = true} : (tensor<1x12x12x8xf32>) -> tensor<1x1x1x8xf32> loc("pool")
  %6 = nn.reshape %5 {shape = array<i64: 1, 8>} : (tensor<1x1x1x8xf32>) -> tensor<1x8xf32> loc("flatten")
  %7 = nn.matmul %6, %fc : (tensor<1x8xf32>, tensor<8x5xf32>) -> tensor<1x5xf32> loc("fc")
  %8 = nn.softmax %7 {axis = 1 : i64} : (tensor<1x5xf32>) -> tensor<1x5xf32> loc("prob")
  return %8 : tensor<1x5xf32>
}
"""


class DiffModels(Cli):
    def written(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def changed(self, old, new):
        text = network()
        self.assertIn(old, text)
        return self.written("changed.mlir", text.replace(old, new))

    def only(self, report, *lists):
        """Differences are in these lists alone, one in each."""
        for name in ("ports", "only_a", "only_b", "connections", "attributes", "differing_constants"):
            self.assertEqual(len(report[name]), 1 if name in lists else 0, (name, report))
        self.assertEqual(report["differences"], len(lists))

    def test_a_model_does_not_differ_from_itself_in_any_format(self):
        self.lathe("export", self.net, "-o", self.path("net.onnx"))
        for other in (self.net, self.path("net.onnx")):
            report = self.figures("diff-models", self.net, other)
            self.only(report)
            self.assertEqual((report["nodes_a"], report["nodes_b"], report["partners"]), (9, 9, 9))
            self.assertEqual((report["constants"], report["equal_constants"]), (4, 4))
        self.assertIn("no differences", self.lathe("diff-models", self.net, self.path("net.onnx")).stdout)
        for network in ("squeezenet", "googlenet", "mobilenet_v2"):
            self.only(self.figures("diff-models", f"zoo:{network}", f"zoo:{network}"))

    def test_a_changed_constant(self):
        report = self.figures("diff-models", self.net, self.changed("0.3, 0.0", "0.55, 0.0"), code=1)
        self.only(report, "differing_constants")
        constant, = report["differing_constants"]
        self.assertEqual((constant["nodes"]["a"], constant["operand"], constant["position"]), ("conv1", "b", [2]))
        self.assertEqual((constant["differing_elements"], constant["elements"]), (1, 8))
        self.assertAlmostEqual(constant["largest"], 0.25, 6)
        bias = np.array([0.1, -0.2, 0.3, 0.0, 0.5, -0.1, 0.2, 0.4], "f4")
        self.assertAlmostEqual(constant["relative_l2"], 0.25 / np.linalg.norm(bias), 6)
        self.only(self.figures("diff-models", self.net, self.path("changed.mlir"), "--tolerance", "0.9"))
        text = self.lathe("diff-models", self.net, self.path("changed.mlir"), code=1).stdout
        self.assertIn("'conv1' (conv) constant b: largest difference 0.25 at [2] (0.3 against 0.55)", text)

    def test_a_removed_operator(self):
        text = network()
        line, = [line for line in text.splitlines() if "nn.relu %3" in line]
        other = self.written("without.mlir", text.replace(line + "\n", "").replace("nn.reduce_mean %4", "nn.reduce_mean %3"))
        report = self.figures("diff-models", self.net, other, code=1)
        self.only(report, "only_a")
        alone, = report["only_a"]
        self.assertEqual((alone["node"], alone["operator"], alone["behind"], alone["before"]), ("relu2", "relu", "add2", "pool"))
        self.only(self.figures("diff-models", other, self.net, code=1), "only_b")
        self.assertIn("only in A: 'relu2' (relu), behind 'add2', before 'pool'",
                      self.lathe("diff-models", self.net, other, code=1).stdout)

    def test_another_stride(self):
        lines = network().replace("8x12x12", "8x6x6").splitlines()
        other = self.written("strided.mlir", "\n".join(
            line.replace("strides = array<i64: 1, 1>", "strides = array<i64: 2, 2>") if "%0 = nn.conv" in line else line
            for line in lines))
        report = self.figures("diff-models", self.net, other, code=1)
        self.only(report, "attributes")
        attribute, = report["attributes"]
        self.assertEqual((attribute["nodes"]["b"], attribute["attribute"], attribute["a"], attribute["b"]),
                         ("conv1", "strides", "[1, 1]", "[2, 2]"))

    def channels_last(self):
        """LAST with the weights of the fixture's network."""
        rng = np.random.default_rng(1)  # as the fixture draws them

        def weights(*shape):
            return (rng.standard_normal(shape) * (1 / np.sqrt(np.prod(shape[1:])))).astype("<f4")

        text = LAST
        for i, array in enumerate([weights(8, 3, 3, 3), weights(8, 8, 3, 3), weights(5, 8).T], 1):
            text = text.replace(f"WEIGHTS{i}", '"0x' + array.tobytes().hex().upper() + '"')
        return text

    def test_channels_last_are_a_layout_of_the_input(self):
        report = self.figures("diff-models", self.net, self.written("last.mlir", self.channels_last()), code=1)
        self.only(report, "ports")
        self.assertEqual(report["ports"], [{"port": "input 'data'", "what": "layout", "a": "1x3x12x12", "b": "1x12x12x3", "axes": [0, 2, 3, 1]}])
        self.assertEqual(report["content_differences"], 0)
        text = self.lathe("diff-models", self.net, self.path("last.mlir"), code=1).stdout
        self.assertIn("1 difference, of names, positions and layouts alone:\n"
                      "input 'data' layout: 1x3x12x12 against 1x12x12x3, its axes are 0, 2, 3, 1 of A's\n", text)
        self.assertEqual(report["partners"], report["nodes_a"])
        self.assertEqual(report["equal_constants"], 4)

    def test_rows_in_the_place_of_columns_are_a_difference(self):
        first = network().replace("nn.conv %data,", "nn.conv %turned,").replace(
            "%0 = nn.conv", "%turned = nn.transpose %data {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x3x12x12xf32>) -> tensor<1x3x12x12xf32>\n  %0 = nn.conv")
        other = self.written("turned.mlir", first)
        report = self.figures("diff-models", self.net, other, code=1)
        self.only(report, "ports")
        self.assertEqual(report["ports"], [{"port": "input 'data'", "what": "axes", "a": "1x3x12x12", "b": "1x3x12x12", "axes": [0, 1, 3, 2]}])
        self.assertEqual(report["content_differences"], 1)
        self.lathe("diff-models", other, other)

    def test_each_model_takes_the_flags_of_its_format(self):
        scale = self.written("scale.mlir", SCALE)
        custom = ["--custom", f"Scale={scale}"]
        keras, onnx = self.path("scaled.keras"), self.path("scaled.onnx")
        write(keras, Model("net", [input_layer("x", [4]), Layer("Scale", "scale", {}, [[1, 2, 3, 4]], calls=[([Ref("x")], {})])], ["x"], [Ref("scale")]))
        self.lathe("export", keras, *custom, "--shape", "x=1x4", "-o", onnx)
        self.only(self.figures("diff-models", keras, onnx, *custom, "--shape", "x=1x4"))
        self.only(self.figures("diff-models", onnx, keras, *custom, "--other-shape", "x=1x4"))
        self.error("diff-models", onnx, onnx, *custom, says="is no Keras model")

        folder, other = saved_model(self.path("saved"), serving_default="Tanh", second="Relu"), saved_model(self.path("renamed"), another="Relu")
        exported = self.path("second.onnx")
        self.lathe("export", folder, "--signature", "second", "-o", exported)
        self.only(self.figures("diff-models", folder, exported, "--signature", "second"))
        self.only(self.figures("diff-models", exported, folder, "--other-signature", "second"))
        self.only(self.figures("diff-models", exported, folder, "--signature", "second"))
        self.only(self.figures("diff-models", folder, other, "--signature", "second", "--other-signature", "another"))
        report = self.figures("diff-models", folder, folder, "--signature", "second", "--other-signature", "serving_default", code=1)
        self.assertGreater(report["content_differences"], 0)
        self.error("diff-models", folder, other, "--signature", "second", says="renamed.*has no signature 'second'.*another")
        self.error("diff-models", exported, exported, "--signature", "second", says="an ONNX file has no signatures")
        self.error("diff-models", folder, exported, "--other-signature", "second", says="an ONNX file has no signatures")
        self.error("diff-models", folder, "zoo:squeezenet", "--other-signature", "second", says="--other-signature: zoo:squeezenet has no signatures")

    def test_long_names_are_shortened_in_lines_alone(self):
        names = {name: ";".join(f"model/{name}/{i}" for i in range(20)) for name in ("relu2", "add2")}
        text = network()
        for name, long in names.items():
            text = text.replace(f'loc("{name}")', f'loc("{long}")')
        line, = [line for line in text.splitlines() if "nn.relu %3" in line]
        whole = self.written("long.mlir", text)
        less = self.written("less.mlir", text.replace(line + "\n", "").replace("nn.reduce_mean %4", "nn.reduce_mean %3"))
        printed = self.lathe("diff-models", whole, less, code=1).stdout.splitlines()
        self.assertRegex(printed[-1], "^only in A: 'model/relu2/0;.*model/relu2/19' .relu., behind 'model/add2/0;.*', before 'pool'$")
        self.assertLess(len(printed[-1]), 200)
        self.assertEqual(printed[-2], "1 difference:")
        self.assertEqual(self.figures("diff-models", whole, less, code=1)["only_a"][0]["node"], names["relu2"])

    def test_only_the_first_lines_are_printed(self):
        text = self.lathe("diff-models", "zoo:squeezenet", "zoo:shufflenet_v2", code=1).stdout
        self.assertEqual(len(text.splitlines()), 25)
        self.assertRegex(text.splitlines()[-1], r"^\.\.\. and \d+ more \(--all\)$")
        everything = self.lathe("diff-models", "zoo:squeezenet", "zoo:shufflenet_v2", "--all", code=1).stdout
        self.assertGreater(len(everything.splitlines()), 25)
        self.assertNotIn("--all", everything)

    def test_errors(self):
        self.error("diff-models", self.net, self.path("missing.onnx"), says="missing.onnx")
        self.error("diff-models", self.net, self.package, says="is a compiled package, expected a model")
        self.error("diff-models", self.package, self.net, says="is a compiled package, expected a model")
        self.error("diff-models", self.net, "zoo:squeezenet", "--other-shape", "data=1x3x8x8", says="--other-shape")
        self.error("diff-models", self.net, says="OTHER")
        self.lathe("compile", self.net, "--emit", "kernels", "-o", self.path("kernels.mlir"))
        self.error("diff-models", self.net, self.path("kernels.mlir"), says="is text at kernels level")

    def test_values_by_name_and_where_the_error_grows(self):
        """Only the weights of conv2 differ: everything before it is equal, and the error begins there."""
        one, two = network(1), network(2)
        weights = [re.findall(r"%w2 = nn.constant .*", text)[0] for text in (one, two)]
        changed = self.written("changed.mlir", one.replace(*weights))
        report = self.figures("diff-models", self.net, changed, "--values", code=1)
        self.assertEqual((report["by"], report["grows_most_at"]), ("name", "conv2"))
        errors = {value["a"]: value for value in report["values"]}
        self.assertEqual([errors[name]["relative_l2"] for name in ("conv1", "relu1")], [0, 0])
        self.assertGreater(errors["conv2"]["relative_l2"], 0.1)
        self.assertEqual(errors["conv2"]["before"], 0)
        self.assertEqual(errors["add2"]["before"], errors["conv2"]["relative_l2"])
        text = self.lathe("diff-models", self.net, changed, "--values", code=1).stdout
        self.assertIn("the error grows most at conv2: 0.00e+00 before it", text)
        same = self.lathe("diff-models", self.net, self.net, "--values").stdout
        self.assertIn("no error grows beyond 0.0001", same)
        self.error("diff-models", self.net, self.net, "--fill", "ones", says="only --values")

    def test_values_by_the_graph_across_layouts(self):
        last = self.written("last_values.mlir", self.channels_last().replace('loc("', 'loc("other_'))
        report = self.figures("diff-models", self.net, last, "--values")
        self.assertEqual(report["by"], "graph")
        self.assertGreater(len(report["values"]), 5)
        self.assertLess(max(value["relative_l2"] for value in report["values"]), 1e-5)

    def test_values_of_a_quantised_model(self):
        quantised = self.path("values8.onnx")
        self.lathe("quantize", self.net, "-o", quantised, "--quiet", "--min-cosine", "0", "--no-store")
        report = self.figures("diff-models", self.net, quantised, "--values", "--seed", "3", code=1)
        errors = {value["a"]: value["relative_l2"] for value in report["values"]}
        self.assertTrue({"conv1", "conv2"} <= set(errors), errors)
        self.assertTrue(all(0 < error < 0.2 for error in errors.values()), errors)
        loose = self.figures("diff-models", self.net, quantised, "--values", "--seed", "3", "--tolerance", "0.5")
        self.assertEqual({value["a"]: value["relative_l2"] for value in loose["values"]}, errors)


main()
