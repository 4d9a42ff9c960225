"""`lathe verify`: verdicts, where a network diverges first, outputs nobody should trust."""
import shlex

import numpy as np

from fixture import Cli, main, network
from onnx_writer import model, node, tensor, value


class Verify(Cli):
    def test_verify_passes_and_remembers(self):
        report = self.figures("verify", self.net)
        self.assertTrue(report["passed"])
        self.assertLess(report["relative_error"], 1e-5)
        self.assertEqual((report["relative_tolerance"], report["maximum_tolerance"]), (2e-5, 1e-4))
        self.assertTrue(self.figures("bench", self.net, "--repetitions", "3")["verified"])

    def test_verify_names_the_first_diverging_node(self):
        # One weight, one pad, one stride: each must be found, and where.
        text = network()
        for title, old, new in [("weight", "dense<[0.1, -0.2", "dense<[0.9, -0.2"),
                                ("relu", "nn.relu %3", "nn.abs %3")]:
            mutant = self.path("mutant.mlir")
            with open(mutant, "w") as file:
                file.write(text.replace(old, new))
            package = self.path("mutant.lathe")
            self.lathe("compile", mutant, "-o", package)
            with self.subTest(title):
                report = self.figures("verify", self.net, "--package", package, code=1)
                self.assertFalse(report["passed"])
                self.assertIn(report["first_diverging_node"], {"weight": ["conv1", "relu1"], "relu": ["relu2", "add2"]}[title])
                # The command it prints cuts that kernel out, and the cut alone is right.
                command = shlex.split(report["extract_command"])
                self.assertEqual(command[:3], ["lathe", "extract", self.net])
                cut = self.path("diverging.onnx")
                command[command.index("-o") + 1] = cut
                self.lathe(*command[1:])
                self.lathe("verify", cut, "-i", self.path("diverging.inputs"), "--seeds", "0")

    def test_a_verdict_belongs_to_model_and_bounds(self):
        other, package = self.path("other.mlir"), self.path("other.lathe")
        with open(other, "w") as file:
            file.write(network().replace("dense<[0.1, -0.2", "dense<[0.9, -0.2"))
        self.lathe("compile", other, "-o", package)
        at = ("--repetitions", "3", "--no-store")
        # Bounds that let anything pass say nothing to those who ask for the usual ones.
        self.lathe("verify", self.net, "--package", package, "--relative", "10", "--maximum", "10")
        self.assertFalse(self.figures("bench", package, *at)["verified"])
        self.lathe("verify", self.net, "--package", package, code=1)
        self.assertIn("FAILED", self.figures("bench", package, *at)["verification"])
        # The package is right by the model that it was compiled from, and stays wrong by the other one.
        self.assertTrue(self.figures("profile", other, *at)["verified"])
        self.assertTrue(self.figures("bench", other, *at)["verified"])
        self.assertTrue(self.figures("bench", package, *at)["verified"])
        self.lathe("verify", self.net, "--package", package, code=1)
        self.assertTrue(self.figures("profile", other, *at)["verified"])

    def test_all_compares_every_kernel(self):
        for flags in ["-O", "0"], ["-O", "3"], ["--layout", "nhwc"], ["--layout", "blocked"]:
            report = self.figures("verify", self.net, "--all", "--seeds", "1", *flags)
            self.assertEqual((report["compared_kernels"], report["left_out"]), (report["kernels"], []))
        said = self.lathe("verify", self.net, "--all", "--seeds", "1", *flags).stdout
        self.assertRegex(said, rf"compared {report['kernels']} of {report['kernels']} kernels \(random, seed 0\)\n")
        # What the model does not have is counted by its reason.
        report = self.figures("verify", "zoo:lstm", "--all", "--seeds", "1", "--zoo-sequence", "4")
        left = report["kernels"] - report["compared_kernels"]
        self.assertGreater(left, 0)
        self.assertEqual((len(report["left_out"]), sum(report["left_out_reasons"].values())), (left, left))
        said = self.lathe("verify", "zoo:lstm", "--all", "--seeds", "1", "--zoo-sequence", "4").stdout
        for reason, count in report["left_out_reasons"].items():
            self.assertIn(f"{count} ({reason})", said)
        # A node inside of a kernel: the result of the kernel.
        values = [run["value"] for run in self.figures("verify", self.net, "--seeds", "1", "--output", "conv1")["runs"]]
        self.assertEqual(values, ["prob", "relu1"])
        self.error("verify", self.net, "--output", "nowhere", says="--output nowhere: no kernel computes it")

    def test_a_step_of_a_node_that_ends_in_the_next_kernel_is_not_its_result(self):
        """The extents of all channels are open, too: random sets have those of the given input."""
        given, half, dims = self.path("steps.npy"), np.float16, ["N", "C", "H", "W"]
        constants = [tensor(name, np.linspace(0.5, 1.5, 5).astype(half)) for name in "sbmv"]
        path = model(self.path("steps.onnx"), [node("BatchNormalization", ["x", *"sbmv"], ["y"], "bn"), node("Neg", ["y"], ["z"], "neg")],
                     [value("x", dims, "float16")], [value("z", dims, "float16")], constants, opset=17)
        np.save(given, np.linspace(-2, 2, 120).astype(half).reshape(2, 5, 3, 4))
        for level in "0", "1", "2", "3":
            report = self.figures("verify", path, "--all", "-i", f"x={given}", "-O", level)
            self.assertTrue(report["passed"])
            self.assertEqual({run["inputs"] for run in report["runs"]}, {"given inputs", "random, seed 1", "random, seed 2"})

    def quantised(self, name, scale=0.3, zero=100):
        """A convolution between dequantise and quantise. Every thirtieth sum lies between two results."""
        weights = ", ".join(f"[[[{37 * i % 15 * 2 - 15}]]]" for i in range(8))
        image, result = "tensor<1x1x24x24xTYPE>", "tensor<1x8x24x24xTYPE>"
        real, ours = image.replace("TYPE", "f32"), result.replace("TYPE", "f32")
        return self.module(name, f'%x: {image.replace("TYPE", "ui8")} {{nn.name = "x"}}', f'{result.replace("TYPE", "ui8")} {{nn.name = "y"}}', f"""
          %w = nn.constant {{value = dense<[{weights}]> : tensor<8x1x1x1xi8>}} : tensor<8x1x1x1xi8>
          %s = nn.constant {{value = dense<0.1> : tensor<f32>}} : tensor<f32>
          %t = nn.constant {{value = dense<{scale}> : tensor<f32>}} : tensor<f32>
          %z = nn.constant {{value = dense<{zero}.0> : tensor<f32>}} : tensor<f32>
          %0 = nn.cast %x {{to = f32}} : ({image.replace("TYPE", "ui8")}) -> {real}
          %1 = nn.mul %0, %s : ({real}, tensor<f32>) -> {real}
          %2 = nn.cast %w {{to = f32}} : (tensor<8x1x1x1xi8>) -> tensor<8x1x1x1xf32>
          %3 = nn.mul %2, %s : (tensor<8x1x1x1xf32>, tensor<f32>) -> tensor<8x1x1x1xf32>
          %4 = nn.conv %1, %3 {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}} : ({real}, tensor<8x1x1x1xf32>) -> {ours}
          %5 = nn.div %4, %t : ({ours}, tensor<f32>) -> {ours}
          %6 = nn.round %5 : ({ours}) -> {ours}
          %7 = nn.add %6, %z : ({ours}, tensor<f32>) -> {ours}
          %8 = nn.clip %7 {{min = 0.0 : f64, max = 255.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>}} : ({ours}) -> {ours}
          %9 = nn.cast %8 {{to = ui8}} : ({ours}) -> {result.replace("TYPE", "ui8")}
          return %9 : {result.replace("TYPE", "ui8")}""")

    def test_a_quantiser_may_round_a_tie_either_way(self):
        model, package = self.quantised("ties"), self.path("ties.lathe")
        said = self.lathe("verify", model, "--seeds", "1").stdout
        self.assertRegex(said, r"ok +y .*: \d+ of 4608 elements differ, by 1 at most")
        # All elements off by a step, and some by more.
        for wrong in self.quantised("zero", zero=101), self.quantised("scale", scale=0.2):
            self.lathe("compile", wrong, "-o", package)
            self.assertFalse(self.figures("verify", model, "--package", package, "--seeds", "1", code=1)["passed"])

    def test_outputs_nobody_should_trust(self):
        path = self.path("zero.mlir")
        with open(path, "w") as file:
            file.write("""func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
              %0 = nn.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              return %0 : tensor<4xf32> }""")
        said = self.lathe("verify", path, code=1).stdout
        self.assertIn("mistrusted", said)
        self.assertRegex(said, r"output 'y' .* is all zero: first all zero in node '.*' \(sub\)")
        self.assertIn("mistrusted", self.lathe("bench", path, code=1).stderr)

    def test_what_no_machine_holds_is_refused_at_once(self):
        million = 1 << 20
        path = self.module("huge", f'%x: tensor<{million}x{million}xf32> {{nn.name = "x"}}', f'tensor<{million}x{million}xf32> {{nn.name = "y"}}',
                           f"""%0 = nn.relu %x : (tensor<{million}x{million}xf32>) -> tensor<{million}x{million}xf32>
                              return %0 : tensor<{million}x{million}xf32>""")
        for verb in (["verify", path], ["run", path, "--fill", "ones"], ["run", path, "--reference", "--fill", "ones"]):
            self.error(*verb, says=f"filling input 'x' f32 {million}x{million} needs 4.0 TiB, this machine has .*iB of memory")
        # Small inputs and outputs, and a product in between.
        path = self.module("outer", f'%a: tensor<{million}x1xf32> {{nn.name = "a"}}, %b: tensor<1x{million}xf32> {{nn.name = "b"}}',
                           f'tensor<{million}x1xf32> {{nn.name = "y"}}',
                           f"""%0 = nn.matmul %a, %b : (tensor<{million}x1xf32>, tensor<1x{million}xf32>) -> tensor<{million}x{million}xf32>
                              %1 = nn.softmax %0 {{axis = 0 : i64}} : (tensor<{million}x{million}xf32>) -> tensor<{million}x{million}xf32>
                              %2 = nn.reduce_max %1 {{axes = array<i64: 1>, keepdims = true}} : (tensor<{million}x{million}xf32>) -> tensor<{million}x1xf32>
                              return %2 : tensor<{million}x1xf32>""")
        self.error("verify", path, says="outer.mlir: the reference in float64 needs 16.0 TiB, this machine has")
        self.error("run", path, "--fill", "ones", says=r"outer.mlir: a run with 'a' f32 1048576x1, 'b' f32 1x1048576 needs [48].0 TiB, this machine has")

    def module(self, name, arguments, results, body):
        """A textual model: its path."""
        path = self.path(name + ".mlir")
        with open(path, "w") as file:
            file.write(f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}")
        return path

    def test_nan_in_the_same_places_agrees(self):
        path = self.module("partly", '%x: tensor<512xf32> {nn.name = "x"}', 'tensor<512xf32> {nn.name = "y"}',
                           """%0 = nn.sqrt %x : (tensor<512xf32>) -> tensor<512xf32>
                              return %0 : tensor<512xf32>""")
        self.assertRegex(self.lathe("verify", path).stdout, r"ok +y .*; NaN in \d+ of 512 elements, in both\n")
        self.assertRegex(self.lathe("run", path, "--fill", "random").stdout, r"y: .* min 0\.\d+, .*; NaN in \d+ of 512 elements")
        self.assertEqual(self.lathe("bench", path, "--repetitions", "3").stderr.count("mistrusted"), 0)

    def test_nan_everywhere_is_mistrusted(self):
        path = self.module("nan", '%x: tensor<512xf32> {nn.name = "x"}', 'tensor<512xf32> {nn.name = "y"}',
                           """%c = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
                              %0 = nn.sub %x, %c : (tensor<512xf32>, tensor<f32>) -> tensor<512xf32>
                              %1 = nn.sqrt %0 : (tensor<512xf32>) -> tensor<512xf32>
                              return %1 : tensor<512xf32>""")
        said = self.lathe("verify", path, code=1).stdout
        self.assertIn("NaN in 512 of 512 elements, in both", said)
        self.assertRegex(said, r"mistrusted: output 'y' .* is NaN everywhere: first NaN in node '.*' \(sqrt\)")
        run = self.lathe("run", path, "--fill", "random").stdout
        self.assertIn("no finite element; NaN in 512 of 512 elements", run)
        self.assertNotIn("min", run)

    def test_halves_are_judged_as_halves(self):
        weights = ", ".join(f"[[[{(7 * i % 13 - 6) / 10}]], [[{(5 * i % 11 - 5) / 10}]]]" for i in range(64))
        path = self.module("half", '%x: tensor<1x2x8x8xf16> {nn.name = "x"}', 'tensor<1x64x8x8xf16> {nn.name = "y"}',
                           f"""%w = nn.constant {{value = dense<[{weights}]> : tensor<64x2x1x1xf16>}} : tensor<64x2x1x1xf16>
                              %0 = nn.conv %x, %w {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}} : (tensor<1x2x8x8xf16>, tensor<64x2x1x1xf16>) -> tensor<1x64x8x8xf16>
                              %1 = nn.relu %0 : (tensor<1x64x8x8xf16>) -> tensor<1x64x8x8xf16>
                              %2 = nn.softplus %1 : (tensor<1x64x8x8xf16>) -> tensor<1x64x8x8xf16>
                              return %2 : tensor<1x64x8x8xf16>""")
        report = self.figures("verify", path)
        self.assertLess(report["relative_error"], report["relative_tolerance"])
        self.assertGreater(report["relative_tolerance"], 2e-5)
        self.assertLess(report["relative_tolerance"], 3e-3)
        self.assertTrue(self.figures("profile", path, "--repetitions", "3")["verified"])
        self.assertTrue(self.figures("compare", path, "--with", "reference", "--check-only")["agrees"])
        # A wrong weight is still seen.
        mutant, package = self.path("half-mutant.mlir"), self.path("half-mutant.lathe")
        with open(path) as file, open(mutant, "w") as other:
            other.write(file.read().replace("[[[0.1]]", "[[[0.15]]", 1))
        self.lathe("compile", mutant, "-o", package)
        self.assertFalse(self.figures("verify", path, "--package", package, code=1)["passed"])

    def test_conversions_to_narrow_floats_round_in_the_judge_too(self):
        for kind in ("f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f16", "bf16"):
            with self.subTest(kind):
                path = self.module("cast", '%x: tensor<64xf32> {nn.name = "x"}', f'tensor<64x{kind}> {{nn.name = "y"}}',
                                   f"""%0 = nn.cast %x {{to = {kind}}} : (tensor<64xf32>) -> tensor<64x{kind}>
                                       return %0 : tensor<64x{kind}>""")
                self.assertEqual(self.figures("verify", path)["relative_error"], 0)

    def test_what_integers_and_casts_do_at_the_edges(self):
        for op, result in (("div", "i32"), ("mod", "i32")):
            path = self.module(op, '%x: tensor<333xi32> {nn.name = "x"}, %z: tensor<333xi32> {nn.name = "z"}',
                               'tensor<333xi32> {nn.name = "y"}',
                               f"""%0 = nn.{op} %x, %z : (tensor<333xi32>, tensor<333xi32>) -> tensor<333xi32>
                                   return %0 : tensor<333xi32>""")
            self.assertTrue(self.figures("verify", path)["passed"])
        path = self.module("overflow", '%x: tensor<333xf32> {nn.name = "x"}', 'tensor<333xi32> {nn.name = "y"}',
                           """%c = nn.constant {value = dense<1099511627776.0> : tensor<f32>} : tensor<f32>
                              %0 = nn.mul %x, %c : (tensor<333xf32>, tensor<f32>) -> tensor<333xf32>
                              %1 = nn.cast %0 {to = i32} : (tensor<333xf32>) -> tensor<333xi32>
                              return %1 : tensor<333xi32>""")
        self.assertTrue(self.figures("verify", path)["passed"])

    def test_results_are_judged_in_the_range_of_their_type(self):
        path = self.module("product", '%x: tensor<4x500xf32> {nn.name = "x"}', 'tensor<4xf32> {nn.name = "y"}, tensor<4x500xf32> {nn.name = "z"}',
                           """%0 = nn.reduce_prod %x {axes = array<i64: 1>, keepdims = false} : (tensor<4x500xf32>) -> tensor<4xf32>
                              %1 = nn.relu %x : (tensor<4x500xf32>) -> tensor<4x500xf32>
                              return %0, %1 : tensor<4xf32>, tensor<4x500xf32>""")
        said = self.lathe("verify", path, code=1).stdout # all zero, which is what float32 holds of 1e-217
        self.assertNotIn("MISMATCH", said)
        self.assertIn("output 'y' (random, seed 0) is all zero", said)
    def test_an_input_that_is_an_output_keeps_its_name(self):
        path = self.path("passed_on.mlir")
        with open(path, "w") as file:
            file.write("""func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"},
                tensor<4xf32> {nn.name = "x"}) {
              %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
              return %0, %x : tensor<4xf32>, tensor<4xf32> }""")
        report = self.figures("verify", path)
        self.assertTrue(report["passed"])
        self.assertEqual({run["value"] for run in report["runs"]}, {"x", "y"})

    def test_extents_of_zero(self):
        # An empty result, a sum over nothing, and a batch that is empty when the program runs.
        for title, shapes, operation in [
                ("transpose", ("0x3", "3x0"), "nn.transpose %x {perm = array<i64: 1, 0>}"),
                ("softmax", ("1099511627776x0", "1099511627776x0"), "nn.softmax %x {axis = 1 : i64}"),
                ("sum", ("3x0", "3x1"), "nn.reduce_sum %x {axes = array<i64: 1>}")]:
            path = self.path(f"{title}.mlir")
            x, y = (f"tensor<{shape}xf32>" for shape in shapes)
            with open(path, "w") as file:
                file.write(f"""func.func @main(%x: {x} {{nn.name = "x"}}) -> ({y} {{nn.name = "y"}}) {{
                  %0 = {operation} : ({x}) -> {y}
                  return %0 : {y} }}""")
            with self.subTest(title):
                said = self.lathe("run", path, "--fill", "random").stdout
                self.assertIn(shapes[1], said)


if __name__ == "__main__":
    main()
