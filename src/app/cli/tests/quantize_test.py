"""`lathe quantize`: reports, files and errors; ONNX Runtime runs what is written."""
import os

import numpy as np

from fixture import PEER, Cli, main, network


def product(steps, columns):
    """A product of three rows by seeded weights, with a relu behind."""
    rng = np.random.default_rng(5)
    values = ", ".join("[" + ", ".join("%.5f" % x for x in row) + "]" for row in rng.standard_normal((steps, columns)))
    x, w, y = f"tensor<3x{steps}xf32>", f"tensor<{steps}x{columns}xf32>", f"tensor<3x{columns}xf32>"
    return (f"func.func @main(%x: {x} {{nn.name = \"data\"}}) -> ({y} {{nn.name = \"scores\"}}) {{\n"
            f"  %w = nn.constant {{value = dense<[{values}]> : {w}}} : {w}\n"
            f"  %0 = nn.matmul %x, %w : ({x}, {w}) -> {y} loc(\"fc\")\n"
            f"  %1 = nn.relu %0 : ({y}) -> {y}\n  return %1 : {y}\n}}\n")


class Quantize(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = os.path.join(cls.folder.name, "float.mlir")
        with open(cls.model, "w") as file:
            file.write(network())
        rng = np.random.default_rng(3)
        np.savez(os.path.join(cls.folder.name, "inputs.npz"), data=rng.standard_normal((6, 3, 12, 12)).astype("<f4"))

    def quantized(self, *flags):
        output = self.path("q%d.onnx" % abs(hash(flags)))
        return output, self.figures("quantize", self.model, "-o", output, *flags)

    def test_outputs_stay_near(self):
        for method in ["minmax", "percentile", "entropy"]:
            _, report = self.quantized("--calibration", self.path("inputs.npz"), "--calibrate-method", method)
            self.assertEqual(report["quantized_layers"], 3)
            self.assertEqual(report["inputs"], 6)
            self.assertGreater(report["cosine"], 0.99)

    def test_calibration_takes_labelled_data(self):
        """Classes beside the samples, folders of classes (the first sample of each comes first), and lists of files."""
        inputs = np.load(self.path("inputs.npz"))["data"]
        np.savez(self.path("labelled.npz"), images=inputs, labels=np.arange(6))
        for folder, rows in ("a", range(4)), ("b", range(4, 6)):
            os.makedirs(self.path(f"classes/{folder}"), exist_ok=True)
            for row in rows:
                np.save(self.path(f"classes/{folder}/{row}.npy"), inputs[row:row + 1])
        with open(self.path("list.csv"), "w") as file:
            file.write("file,class\n" + "".join(f"classes/{'a' if row < 4 else 'b'}/{row}.npy,any\n" for row in range(6)))
        same = [self.quantized("--calibration", self.path(name))[1] for name in ("inputs.npz", "labelled.npz", "classes", "list.csv")]
        for report in same[1:]:
            self.assertEqual(report["inputs"], 6)
            self.assertAlmostEqual(report["cosine"], same[0]["cosine"], places=5)
        with open(self.path("two.csv"), "w") as file:
            file.write("classes/a/0.npy\nclasses/b/4.npy\n")
        two = self.quantized("--calibration", self.path("two.csv"))[1]
        first = self.quantized("--calibration", self.path("classes"), "--samples", "2")[1]
        self.assertEqual(two["inputs"], 2)
        self.assertAlmostEqual(two["cosine"], first["cosine"], places=5)

    def test_profiles_hold_products_of_bytes_against_their_own_peak(self):
        output, _ = self.quantized("--min-cosine", "0")
        report = self.figures("profile", output, "--repetitions", "3", "--no-store")
        types = {row["type"] for row in report["rows"] if row["kind"] == "kernel" and row["family"] == "contraction"}
        self.assertIn("i8", types)
        self.assertEqual(set(report["peaks_gflops"]), set(report["kept_peaks_gflops"]))
        self.assertGreater(report["peaks_gflops"]["i8"], report["peaks_gflops"]["f32"])
        text = self.lathe("profile", output, "--repetitions", "3", "--no-store").stdout
        self.assertRegex(text, r"GFLOPS f32, [0-9.]+ i8 beside these runs")

    def test_weights_are_stored_once(self):
        network = self.path("squeezenet.onnx")
        self.lathe("zoo", "squeezenet", "-o", network)
        output = self.path("small.onnx")
        self.figures("quantize", network, "-o", output, "--samples", "1", "--min-cosine", "0", "--bias-correction", "none")
        self.assertLess(os.path.getsize(output), 0.3 * os.path.getsize(network))

    def test_what_was_measured_is_kept(self):
        at = ["--store", self.path("kept.db")]
        report = self.figures("quantize", self.model, "-o", self.path("kept.onnx"), "--only-faster", *at)
        kept = self.figures("store", "show", *at)
        self.assertEqual((kept["kind"], kept["settings"]["method"]), ("quantize", "minmax"))
        figures = kept["points"][0]["figures"]
        self.assertEqual(figures["quantized_layers"], report["quantized_layers"])
        self.assertEqual(figures["cosine"], report["cosine"])
        self.assertAlmostEqual(figures["speedup"], report["float_seconds"] / report["int8_seconds"])

    def test_excluded_nodes(self):
        _, report = self.quantized("--nodes-to-exclude", "conv1,fc", "--min-cosine", "0")
        self.assertEqual([layer["node"] for layer in report["layers"] if not layer["quantized"]], ["conv1", "fc"])
        self.error("quantize", self.model, "-o", self.path("q.onnx"), "--nodes-to-exclude", "conv9", says="conv9")

    def test_an_unreachable_bound_keeps_layers_in_float(self):
        _, report = self.quantized("--min-cosine", "0.99999999")
        self.assertLess(report["quantized_layers"], 3)
        self.assertIn("sensitive", [layer["reason"] for layer in report["layers"]])

    def test_only_faster_measures_every_layer(self):
        _, report = self.quantized("--only-faster")
        self.assertGreater(report["float_seconds"], 0)
        self.assertLessEqual(report["int8_seconds"], report["float_seconds"])
        for layer in report["layers"]:
            self.assertGreater(layer["float_seconds"], 0)

    def test_onnx_runtime_agrees(self):
        if not os.path.isdir(PEER):
            self.skipTest("ONNX Runtime is not installed: make peers")
        output, _ = self.quantized("--calibration", self.path("inputs.npz"))
        self.figures("compare", output, "--check-only", "--no-store")
        self.figures("verify", output)

    def test_dynamic(self):
        output, report = self.quantized("--dynamic", "--samples", "4")
        self.assertEqual([layer["node"] for layer in report["layers"]], ["fc"])
        self.assertGreater(report["cosine"], 0.999)
        self.figures("verify", output)
        self.error("quantize", self.model, "-o", self.path("q.onnx"), "--dynamic", "--equalize", says="--dynamic")

    def test_weights_alone(self):
        model = self.path("product.mlir")
        with open(model, "w") as file:
            file.write(product(96, 80))
        for flags in [["int8"], ["int4"], ["int4", "--block", "24", "--zero-points"], ["int8", "--block", "0", "--zero-points"],
                      ["int4", "--block", "0"]]:
            with self.subTest(flags=flags):
                output = self.path("weights.onnx")
                report = self.figures("quantize", model, "-o", output, "--samples", "3", "--weights", *flags)
                self.assertEqual([layer["node"] for layer in report["layers"]], ["fc"])
                least = 0.9999 if flags[0] == "int8" else 0.99
                self.assertGreater(report["layers"][0]["weights_cosine"], least)
                self.assertGreater(report["cosine"], least - 0.005)
                self.figures("verify", output)
                if os.path.isdir(PEER):
                    self.figures("compare", output, "--check-only", "--no-store")
        self.error("quantize", model, "-o", self.path("q.onnx"), "--weights", "int4", "--equalize", says="--weights")
        self.error("quantize", model, "-o", self.path("q.onnx"), "--block", "32", says="--weights")

    def test_empty_and_absurd_ranges_are_reported(self):
        for name, value, says in [("zero", 0, "range is empty"), ("huge", 1e12, "in magnitude")]:
            np.savez(self.path(name + ".npz"), data=np.full((2, 3, 12, 12), value, "<f4"))
            _, report = self.quantized("--calibration", self.path(name + ".npz"), "--bias-correction", "none")
            self.assertTrue([w for w in report["warnings"] if says in w and "input 'data'" in w], report["warnings"])

    def test_recurrences_are_written_as_they_came(self):
        output = self.path("lstm.onnx")
        self.figures("quantize", "zoo:lstm", "-o", output, "--samples", "1", "--bias-correction", "none")
        self.lathe("check", output)

    def test_errors(self):
        q = self.path("q.onnx")
        self.error("quantize", self.model, "-o", q, "--calibration", self.path("nowhere"), says="nowhere")
        np.savez(self.path("wrong.npz"), other=np.zeros((1, 3), "<f4"))
        self.error("quantize", self.model, "-o", q, "--calibration", self.path("wrong.npz"), says="data")
        for name, value in [("shape", np.zeros((1, 3, 11, 12), "<f4")), ("nan", np.full((1, 3, 12, 12), np.nan, "<f4"))]:
            os.mkdir(self.path(name))
            np.save(self.path(name + "/one.npy"), value)
            text = self.error("quantize", self.model, "-o", q, "--calibration", self.path(name), says=name + "/one.npy")
            self.assertIn("data", text)
        np.savez(self.path("narrow.npz"), data=np.zeros((6, 3, 12, 2), "<f4"))
        self.error("quantize", self.model, "-o", q, "--calibration", self.path("narrow.npz"), says="data.*6x3x12x2")
        self.error("quantize", self.model, "-o", self.path("q.tflite"), says="expected .onnx")
        self.error("quantize", self.model, "-o", q, "--percentile", "99", says="--calibrate-method percentile")
        self.error("quantize", self.model, "-o", q, "--random-crops", "9", says="--calibration")


if __name__ == "__main__":
    main()
