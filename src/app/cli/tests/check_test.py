"""`lathe check` and `inspect`: what a model is and what of it is compiled."""
import io
import zipfile

from fixture import Cli, main, onnx_model, onnx_node


class Check(Cli):
    def test_files_that_are_no_models_say_what_they_are(self):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("net/data.pkl", b"\x80\x02}.")
        for name, content, says in [
            ("net.pt", archive.getvalue(), "PyTorch archive.*torch.onnx.export"),
            ("net.py", b"import torch\n", "Python program"),
            ("labels.txt", b"airplane\nbird\n", "text without a function"),
            ("picture.png", b"\x89PNG\r\n\x1a\n", "picture"),
            ("unknown.bin", b"\x08\x09\xff\xff", "is not an ONNX model or is damaged"),
        ]:
            with self.subTest(name=name):
                with open(self.path(name), "wb") as file:
                    file.write(content)
                self.error("check", self.path(name), says=name + ": .*" + says + ".*Lathe reads ONNX, TFLite")

    def test_unsupported_nodes_are_listed_all_at_once(self):
        path = self.path("unsupported.onnx")
        with open(path, "wb") as file:
            file.write(onnx_model(onnx_node("Frobnicate", ["x"], ["a"], "first"), onnx_node("Relu", ["a"], ["b"], "good"),
                                  onnx_node("Twiddle", ["b"], ["y"], "second")))
        report = self.figures("check", path, code=1)
        self.assertEqual([issue["node"] for issue in report["unsupported"]], ["first", "second"])
        first = report["unsupported"][0]
        self.assertEqual(first["op"], "Frobnicate")
        self.assertEqual(set(first), {"node", "op", "opset", "type", "reason"})
        self.assertIsInstance(first["opset"], int)
        self.assertEqual([(entry["op"], entry["nodes"]) for entry in report["unsupported_operators"]], [("Frobnicate", 1), ("Twiddle", 1)])
        self.error("compile", path, "-o", self.path("u.lathe"), says="first")

    def test_references_only(self):
        report = self.figures("check", self.net, "--references-only")
        self.assertEqual(report["compiled_flops_share"], 0)
        self.assertGreater(len(report["references"]), 0)
        self.lathe("check", self.net, "--references-only", "--strict", code=1)

    def test_check_finds_everything_compiled(self):
        report = self.figures("check", self.net)
        self.assertEqual(report["references"], [])
        self.assertEqual(report["compiled_flops_share"], 1)

    def test_inspect_tells_the_producer(self):
        path = self.path("named.mlir")
        with open(path, "w") as file:
            file.write('module attributes {nn.producer = "TensorFlow 2.15 (1 asset is not read)"} {\n'
                       'func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"}) {\n'
                       '  %0 = nn.relu %x : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n}\n')
        self.assertEqual(self.figures("inspect", path)["producer"], "TensorFlow 2.15 (1 asset is not read)")
        self.assertIn("producer: TensorFlow 2.15 (1 asset is not read)\n", self.lathe("inspect", path).stdout)

    def test_inspect_counts(self):
        report = self.figures("inspect", self.net)
        self.assertEqual(report["operators"]["conv"]["count"], 2)
        self.assertEqual(report["parameters"], 8 * 27 + 8 + 8 * 72 + 40)
        self.assertEqual(report["inputs"], [{"name": "data", "type": "f32", "dims": "1x3x12x12"}])


if __name__ == "__main__":
    main()
