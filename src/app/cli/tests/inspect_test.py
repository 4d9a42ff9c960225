"""What `inspect` and `verify` say of a package."""
import os
import subprocess

from fixture import LATHE, Cli, field, main, network, onnx_model, onnx_node


class Packages(Cli):
    def test_a_package_is_inspected(self):
        report = self.figures("inspect", self.package)
        self.assertEqual([(p["name"], p["dims"]) for p in report["inputs"] + report["outputs"]], [("data", "1x3x12x12"), ("prob", "1x5")])
        self.assertIn("--precision fp32", report["compile_options"])
        self.assertRegex(report["hash"], "^[0-9a-f]{16}$")
        self.assertEqual([s["section"] for s in report["sections"]], ["plan", "constants", "code"])
        self.assertTrue(report["sections"][2]["target"])
        self.assertTrue(report["sections"][2]["features"])
        plan, = report["plans"]
        kernels = plan["kernels"]
        self.assertTrue(all(k["schedule"] and k["family"] for k in kernels if k["flops"]))
        self.assertTrue(all(k["predicted_cycles"] > 0 for k in kernels if k["family"] == "contraction"))
        self.assertLessEqual({k["origin"] for k in kernels}, {"the prior's rule", "the prior's model"})
        self.assertEqual(plan["flops"], sum(k["flops"] for k in kernels))
        levels = plan["image_costs"]["levels"]
        self.assertEqual([level["bytes"] is None for level in levels], [False] * (len(levels) - 1) + [True])
        self.assertEqual(levels, sorted(levels, key=lambda level: level["cycles_per_byte"]))
        self.assertGreater(plan["image_costs"]["call_cycles"], 0)
        text = self.lathe("inspect", self.package).stdout
        self.assertIn("batches pass image by image where that costs fewer cycles", text)
        for word in ["data: f32 1x3x12x12", "from a model without a name", report["hash"], kernels[0]["name"]]:
            self.assertIn(word, text)

    def test_quantised_weights_are_parameters(self):
        with open(self.path("bytes.mlir"), "w") as file:
            file.write('''func.func @main(%x: tensor<2x3xi8>, %y: tensor<3xi32>) -> (tensor<2x3xi8>, tensor<3xi32>) {
              %w = nn.constant {value = dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>} : tensor<2x3xi8>
              %b = nn.constant {value = dense<[7, 8, 9]> : tensor<3xi32>} : tensor<3xi32>
              %0 = nn.add %x, %w : (tensor<2x3xi8>, tensor<2x3xi8>) -> tensor<2x3xi8>
              %1 = nn.add %y, %b : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
              return %0, %1 : tensor<2x3xi8>, tensor<3xi32> }''')
        figures = self.figures("inspect", self.path("bytes.mlir"))
        self.assertEqual((figures["parameters"], figures["parameter_bytes"]), (9, 18))

    def test_the_size_is_that_of_all_files(self):
        dims = field(2, field(1, field(1, 4)))
        value = lambda name: field(1, name) + field(2, field(1, field(1, 1) + dims))
        weights = (field(1, 4) + field(2, 1) + field(8, "w") + field(13, field(1, "location") + field(2, "weights.bin")) + field(14, 1))
        graph = field(1, onnx_node("Add", ["x", "w"], ["y"])) + field(2, "g") + field(5, weights) + field(11, value("x")) + field(12, value("y"))
        model = self.path("outside.onnx")
        with open(model, "wb") as file:
            file.write(field(1, 8) + field(8, field(2, 13)) + field(7, graph))
        with open(self.path("weights.bin"), "wb") as file:
            file.write(bytes(16))
        self.assertEqual(self.figures("inspect", model)["file_bytes"], os.path.getsize(model) + 16)

    def test_the_repeated_blocks_of_a_model_are_listed(self):
        report = self.figures("inspect", "zoo:squeezenet", "--blocks")
        block, = report["blocks"]
        self.assertEqual((block["block"], block["count"], block["operations"], block["differ"]), ("fire", 8, 7, "extents"))
        self.assertEqual(block["operators"], ["conv", "relu", "conv", "relu", "conv", "relu", "concat"])
        self.assertEqual([o["scope"] for o in block["occurrences"]], [f"fire{i}" for i in range(2, 10)])
        self.assertEqual({(o["inputs"], o["weights"], o["outputs"]) for o in block["occurrences"]}, {(1, 6, 1)})
        self.assertAlmostEqual(sum(o["flops"] for o in block["occurrences"]), block["flops"])
        self.assertLess(block["flops"], report["flops"])
        self.assertTrue(block["differing_extents"])
        text = self.lathe("inspect", "zoo:squeezenet", "--blocks").stdout
        self.assertIn("1 repeated block with 56 of 65 operations", text)
        self.assertNotIn("blocks", self.figures("inspect", "zoo:squeezenet"))
        self.error("inspect", self.package, "--blocks", says="--blocks: has no effect on .*, a package")

    def test_references_in_a_package_are_listed(self):
        path = self.path("references.lathe")
        self.lathe("compile", self.net, "--references-only", "-o", path)
        plan, = self.figures("inspect", path)["plans"]
        self.assertEqual(plan["kernels"], [])
        self.assertEqual(plan["reference_calls"]["conv"], 2)

    def test_a_package_for_another_processor_is_inspected(self):
        path = self.path("arm.lathe")
        self.lathe("compile", self.net, "-o", path, "--target", "aarch64-linux-gnu,cpu=cortex-a76")
        self.assertIn("aarch64", self.figures("inspect", path)["sections"][-1]["features"])

    def test_a_damaged_package_is_refused(self):
        with open(self.package, "rb") as file:
            content = bytearray(file.read())
        content[len(content) - 1] ^= 1
        path = self.path("damaged.lathe")
        with open(path, "wb") as file:
            file.write(content[:-100])
        self.error("inspect", path, says="damaged.lathe: truncated")

    def test_a_package_is_verified_by_its_model(self):
        report = self.figures("verify", self.package, "--model", self.net)
        self.assertTrue(report["passed"])
        self.assertEqual((report["model"], report["package"]), (self.net, self.package))
        self.assertTrue(self.figures("bench", self.package, "--repetitions", "2", "--no-store")["verified"])
        self.error("verify", self.package, says="net.lathe: a package holds no references.*--model MODEL")
        with open(self.path("relu.onnx"), "wb") as file:
            file.write(onnx_model(onnx_node("Relu", ["x"], ["y"], "relu")))
        self.lathe("compile", self.path("relu.onnx"), "-o", self.path("relu.lathe"))
        self.assertRegex(self.lathe("inspect", self.path("relu.lathe")).stdout, "from .*relu.onnx")
        self.error("verify", self.path("relu.lathe"), says="--model .*relu.onnx")
        other = self.path("other.mlir")
        with open(other, "w") as file:
            file.write(network(seed=2))
        self.lathe("verify", self.package, "--model", other, code=1)

    def test_a_package_of_a_zoo_network_knows_its_model(self):
        package = self.path("zoo.lathe")
        self.lathe("compile", "zoo:squeezenet", "--references-only", "--zoo-seed", "4", "-o", package)
        self.lathe("verify", package, "--zoo-seed", "4", "--seeds", "1")
        self.error("verify", package, says="was compiled from zoo:squeezenet@.*--zoo-seed")

    def test_the_printed_command_repeats_the_divergence(self):
        package = self.path("wrong.lathe")
        other = self.path("wrong.mlir")
        with open(self.net) as file:
            text = file.read()
        with open(other, "w") as file:
            file.write(text.replace("nn.relu %3", "nn.neg %3"))
        self.lathe("compile", other, "-o", package)
        command = self.figures("verify", package, "--model", self.net, "--seed", "9", "--seeds", "1", code=1)["extract_command"]
        self.assertIn("--seed 9", command)
        done = subprocess.run(command.replace("lathe ", LATHE + " ", 1), shell=True, cwd=self.folder.name, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    main()
