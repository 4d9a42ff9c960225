"""`--layout`: right outputs in every layout, what the report says, and what is recorded of it."""
from fixture import Cli, main

ALL = ["nchw", "nhwc", "blocked", "auto"]
# A softmax over channels, which has no kernel for blocks, between two convolutions.
BETWEEN = """
func.func @main(%x: tensor<1x3x12x12xf32> {nn.name = "x"}) -> (tensor<1x8x12x12xf32> {nn.name = "y"}) {
  %v = nn.constant {value = dense<0.25> : tensor<32x3x3x3xf32>} : tensor<32x3x3x3xf32>
  %w = nn.constant {value = dense<0.5> : tensor<8x32x3x3xf32>} : tensor<8x32x3x3xf32>
  %0 = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x3x12x12xf32>, tensor<32x3x3x3xf32>) -> tensor<1x32x12x12xf32> loc("first")
  %1 = nn.softmax %0 {axis = 1 : i64} : (tensor<1x32x12x12xf32>) -> tensor<1x32x12x12xf32> loc("shares")
  %2 = nn.conv %1, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x32x12x12xf32>, tensor<8x32x3x3xf32>) -> tensor<1x8x12x12xf32> loc("second")
  return %2 : tensor<1x8x12x12xf32>
}
"""


class Layout(Cli):
    def layouts(self, *arguments):
        return self.figures("check", *arguments, "--layouts")["layouts"]

    def test_every_layout_gives_right_outputs(self):
        for model in [self.net, "zoo:squeezenet"]:
            for layout in ALL[:3]:
                self.assertIn("verified", self.lathe("verify", model, "--layout", layout).stdout)

    def test_planes_stay_and_every_operator_says_so(self):
        report = self.layouts(self.net, "--layout", "nchw")
        self.assertEqual((report["choice"], report["conversions"], report["conversions_share"]), ("nchw", [], 0))
        self.assertGreater(len(report["unconverted"]), 5)
        reasons = {one["reason"] for one in report["unconverted"] if one["op"] == "conv"}
        self.assertEqual(reasons, {"--layout nchw keeps planes"})

    def test_a_conversion_has_its_cost_and_an_operator_its_reason(self):
        model = self.path("between.mlir")
        with open(model, "w") as file:
            file.write(BETWEEN)
        report = self.layouts(model, "--layout", "nhwc")
        self.assertGreaterEqual(len(report["conversions"]), 2)
        for one in report["conversions"]:
            self.assertEqual(one["bytes"] % 8, 0)
            self.assertGreater(one["predicted_cycles"], 0)
            self.assertGreater(one["predicted_us"], 0)
            self.assertNotEqual(one["from"], one["to"])
        self.assertIn("first", report["conversions"][0]["node"])
        self.assertIn("shares' (softmax)", report["conversions"][0]["reader"])
        self.assertEqual(report["conversions"][-1]["reader"], "")
        self.assertTrue(0 < report["conversions_share"] < 1)
        self.assertEqual([(one["op"], one["reason"]) for one in report["unconverted"]], [("softmax", "the operator works on row-major values")])
        text = self.lathe("check", model, "--layout", "nhwc", "--layouts").stdout
        self.assertIn(f"--layout nhwc: {len(report['conversions'])} conversions kept", text)
        self.assertRegex(text, r"us predicted \([0-9.]+ %\), at [0-9.]+ GHz")
        self.assertIn("the operator works on row-major values", text)
        self.assertIn("verified", self.lathe("verify", model, "--layout", "nhwc").stdout)

    def test_a_conversion_in_a_kernel_with_others_counts(self):
        model = self.path("last.mlir")
        with open(model, "w") as file:
            file.write(BETWEEN.replace('%x: tensor<1x3x12x12xf32>', '%last: tensor<1x12x12x3xf32>').replace(
                "  %v =", "  %x = nn.transpose %last {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x12x12x3xf32>) -> tensor<1x3x12x12xf32>\n  %v ="))
        figures = self.figures("check", model, "--layouts")
        self.assertEqual(figures["layout_conversions"], len(figures["layouts"]["conversions"]))
        self.assertGreater(figures["layout_conversions"], 0)

    def test_inspect_has_the_report_of_check(self):
        flags = ["--layout", "nhwc", "--target", "x86-64-v3", "--layouts"]
        figures, report = self.figures("inspect", self.net, *flags), self.layouts(self.net, *flags[:-1])
        self.assertEqual(figures["layouts"], report)
        self.assertGreater(figures["flops"], 0)
        text = self.lathe("inspect", self.net, *flags).stdout
        self.assertIn("distinct convolution", text)
        self.assertIn(f"--layout nhwc: {len(report['conversions'])} conversion", text)
        self.assertNotIn("layouts", self.figures("inspect", self.net))

    def test_low_levels_choose_none_unless_asked(self):
        self.assertIn("-O 2 chooses no layouts", self.lathe("check", self.net, "-O", "2", "--layouts").stdout)
        self.assertFalse([one for one in self.layouts(self.net, "-O", "2", "--layout", "blocked")["unconverted"] if one["op"] == "conv"])

    def test_a_package_says_its_layout(self):
        package = self.path("last.lathe")
        report = self.figures("compile", self.net, "-o", package, "--layout", "nhwc")
        self.assertEqual(report["layouts"]["choice"], "nhwc")
        self.assertIn("--layout nhwc", self.figures("inspect", package)["compile_options"])
        self.assertIn("in the model's layout", self.lathe("compile", self.net, "-o", package, "--layouts").stdout)

    def test_text_of_one_layout_is_compiled_as_it_stands(self):
        text = self.path("last.mlir")
        self.lathe("compile", self.net, "--emit", "graph", "--layout", "nhwc", "--target", "x86-64-v3", "-o", text)
        with open(text) as file:
            before = file.read()
        self.assertIn("#nn.blocked<1, 8>", before)
        again = self.lathe("compile", text, "--emit", "graph", "--layout", "nhwc", "--target", "x86-64-v3").stdout
        self.assertEqual(before.count("nn.blocked"), again.count("nn.blocked"))
        self.assertNotIn("nn.blocked", self.lathe("compile", text, "--emit", "graph", "--layout", "nchw").stdout)
        kernels = self.path("kernels.mlir")
        self.lathe("compile", self.net, "--emit", "kernels", "-o", kernels)
        self.error("compile", kernels, "-o", self.path("x.lathe"), "--layout", "nhwc",
                   says=f"--layout nhwc: has no effect on {kernels}, which is text at kernels level")

    def test_a_sweep_over_layouts(self):
        arguments = ["sweep", self.net, "--levels", "0,3", "--layouts", ",".join(ALL), "--starts", "1", "--max-seconds", "0.2", "--no-store"]
        rows = self.figures(*arguments)["rows"]
        self.assertEqual([(row["level"], row["layout"]) for row in rows], [(level, layout) for level in [0, 3] for layout in ALL])
        for row in rows:
            self.assertEqual(row["reason"], "")
            self.assertEqual(row["compiled"]["layouts"]["choice"], row["layout"])
        text = self.lathe(*arguments).stdout
        for title in ["layout", "conversions"]:
            self.assertIn(title, text.splitlines()[0])
        self.error("sweep", self.net, "--layouts", "nhcw", "--no-store", says="--layouts nhcw: expected nchw, nhwc, blocked or auto, got 'nhcw'")


if __name__ == "__main__":
    main()
