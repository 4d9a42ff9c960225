"""`lathe export`: a model of any format as ONNX."""
import os

import numpy as np

from fixture import PEER, Cli, main


class Export(Cli):
    def test_the_file_computes_what_the_model_computes(self):
        file = self.path("whole.onnx")
        figures = self.figures("export", self.net, "-o", file)
        self.assertEqual([port["name"] for port in figures["inputs"]], ["data"])
        self.assertEqual([port["name"] for port in figures["outputs"]], ["prob"])
        given, want = (self.outputs(model, "--fill", "random", "--seed", "5")["prob"] for model in (self.net, file))
        np.testing.assert_array_equal(given, want)
        if os.path.isdir(PEER):
            self.lathe("compare", file, "--check-only", "--no-store")
        else:
            print("ONNX RUNTIME IS NOT INSTALLED (make peers): the file is not loaded by it")

    def test_quantised_models_keep_their_bits(self):
        data = os.environ.get("LATHE_TEST_DATA", os.path.join(os.path.dirname(__file__), "../../../../../shared"))
        model, file = os.path.join(data, "models/tflite/resnet8_cifar10_int8.tflite"), self.path("int8.onnx")
        if not os.path.exists(model):
            self.skipTest("NO TEST DATA: " + model)
        for rounding in ["reference", "optimised"]:
            flags = ["--requantize-rounding", rounding]
            self.lathe("export", model, "-o", file, *flags)
            given, want = (self.outputs(*run, "--fill", "random", "--seed", "5") for run in ([file], [model, *flags]))
            self.assertEqual(set(given), set(want))
            for name, values in want.items():
                np.testing.assert_array_equal(given[name], values)
            if os.path.isdir(PEER):
                self.lathe("compare", file, "--check-only", "--no-store")

    def test_what_cannot_be_written(self):
        kernels = self.path("kernels.mlir")
        self.lathe("compile", self.net, "--emit", "kernels", "-o", kernels)
        self.error("export", kernels, "-o", self.path("none.onnx"), says="kernels.mlir")
        self.error("export", self.net, says="--output is required")
        self.error("export", self.path("nowhere.onnx"), "-o", self.path("none.onnx"), says="nowhere.onnx")
        self.assertFalse(os.path.exists(self.path("none.onnx")))


if __name__ == "__main__":
    main()
