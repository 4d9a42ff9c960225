"""`lathe segments`: a network piece by piece against ONNX Runtime."""
import os
import struct

from fixture import PEER, Cli, field, main

TENSORFLOW_JS = os.path.join(PEER, "..", "..", "tensorflowjs", "node_modules")


def tensorflow_graph():
    """softmax(relu(x w) v) for x of 1x3, as a frozen graph of TensorFlow."""
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
    return (placeholder + constant("w", 3, 6) + constant("v", 6, 4) + node("first", "MatMul", "x", "w") + node("relu", "Relu", "first")
            + node("second", "MatMul", "relu", "v") + node("prob", "Softmax", "second") + field(4, field(1, 1000)))


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
        self.error("segments", self.net, "--with", "tensorflowjs", says="expected a graph of TensorFlow, got .*net.mlir")

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
        self.error("segments", self.net, "--at", "relu7", says="relu7")
        experiment = [e for e in self.figures("store", "list", "--kind", "segments")["experiments"] if e["points"]][-1]
        points = self.figures("store", "show", experiment["uuid"])["points"]
        self.assertEqual(len(points), 2 * 5)  # the first block is the first part
        self.assertEqual({point["operator"] for point in points}, {"segment"})
        self.assertTrue(any(point["problem"].endswith("data 1x3x12x12 from relu1 to relu2") for point in points), points)


if __name__ == "__main__":
    main()
