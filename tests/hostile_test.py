#!/usr/bin/env python3
"""Small models and files that once crashed, hung or misled Lathe (LATHE_TEST_DATA/hostile):  hostile_test.py LATHE FILES

Each model is verified at -O 0 and -O 3 and with --exact-math, with the memory of the process limited, and must give its line of the table
below. A file that the table does not name fails the test. Exit code 77 without the files.
"""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

LATHE, FILES = sys.argv[1:3]
del sys.argv[1:3]
LIMIT = 8 << 30  # bytes of address space, which tables of the compiler and shared libraries share

VERIFIED = r"^verified: "
ALL_ZERO = r"^not verified: mistrusted: output '\w+' \(random, seed \d\) is all zero"
ALL_NAN = r"^not verified: mistrusted: output '\w+' \(random, seed \d\) is NaN everywhere: first NaN in node "
EXPECTED = {
    # an extent of 0: an empty result, or the value that a reduction over nothing has (0 / 0 for a mean)
    "attention_4d_diff_heads_sizes_softc.onnx": VERIFIED,
    "gemm_m0.onnx": VERIFIED,
    "gemm_default_matrix_bias.onnx": VERIFIED,
    "transpose_0x3.onnx": VERIFIED,
    "resize_to_zero_extent.onnx": VERIFIED,
    "sce_mean_weight_ii_3d_expanded.onnx": ALL_NAN,
    # divisors of zero, results that overflow, values that are saturated or not
    "div_int32_trunc.onnx": VERIFIED,
    "mod_broadcast.onnx": VERIFIED,
    "mod_uint32.onnx": VERIFIED,
    "pow_types_int32_float32.onnx": VERIFIED,
    "pow_types_int64_float32.onnx": VERIFIED,
    "castlike_no_saturate_FLOAT_to_FLOAT8E5M2FNUZ.onnx": VERIFIED,
    "reduce_prod_default_axes_keepdims_e.onnx": VERIFIED + "|" + ALL_ZERO,  # a product of many random numbers underflows
    "causal_conv_with_state_fp16_expanded.onnx": VERIFIED,
    "wideadd.onnx": VERIFIED,
    "attention_nan.onnx": ALL_NAN + r"'\w+' \(matmul\), which has a constant operand with NaN",
    # outputs that are inputs; one of them is the relu of random numbers, which may all be below 0
    "inout.onnx": VERIFIED,
    "passthru.onnx": VERIFIED + "|" + ALL_ZERO,
    "wideconcat.onnx": VERIFIED,
    "lstm_batch_2e31.onnx": r"input 'x' f32 5x2147483647x4 needs 160.0 GiB, this machine has .* of memory$",
    "dynamic_concat_negative_cycles.onnx": r"node 0 'conv' \(Conv, opset 17\).*kernel extent 5 exceeds padded input extent 1",  # at the extent 1
    "resize_cubic_pytorch_half_pixel.onnx": VERIFIED,
    "conv_transpose_nan.onnx": VERIFIED,
    "pool_ceil_window_exceeds.onnx": VERIFIED,
    "dynamic_broadcast.onnx": VERIFIED,
    "result_number.mlir": r"result_number.mlir: line 2: '400000000' results of one operation, expected at most 99",
    "external_nul.onnx": r"external data location 'w.bin\\x00x' holds a NUL, expected a path",
}
LEVELS = [["-O", "0"], ["-O", "3"], ["-O", "3", "--exact-math"]]
# The class of a picture is its brightest row.
PICTURE = """func.func @main(%x: tensor<1x3x40x50xf32> {nn.name = "x"}) -> (tensor<1x40xf32> {nn.name = "y"}) {
  %y = nn.reduce_mean %x {axes = array<i64: 1, 3>, keepdims = false} : (tensor<1x3x40x50xf32>) -> tensor<1x40xf32>
  return %y : tensor<1x40xf32>
}
"""


class Hostile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def last_line(self, *arguments):
        done = subprocess.run([LATHE, *arguments], capture_output=True, text=True, timeout=300,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)))
        progress = re.compile(r"( \d+/\d+|, (about|at most) .* left)$")  # of a slow machine
        lines = [line for line in (done.stdout + done.stderr).strip().splitlines() if not progress.search(line)]
        self.assertIn(done.returncode, (0, 1, 2), lines[-3:])  # no signal
        self.assertTrue(lines, arguments)
        self.assertEqual(done.returncode == 0, bool(re.search(VERIFIED, lines[-1])) or arguments[0] != "verify", lines[-3:])
        return lines[-1]

    def run_model(self, name, *arguments):
        out = self.path("out.npz")
        self.last_line("run", os.path.join(FILES, name), *arguments, "-o", out)
        with np.load(out) as file:
            return [file[each] for each in file.files]

    def test_every_model_gives_its_line(self):
        models = sorted(name for name in os.listdir(FILES) if name.endswith((".onnx", ".mlir")))
        self.assertEqual(models, sorted(EXPECTED))
        for name in models:
            for level in LEVELS:
                with self.subTest(model=name, level=level):
                    self.assertRegex(self.last_line("verify", os.path.join(FILES, name), *level, "--no-cache"), EXPECTED[name])

    def test_runs(self):
        for level in LEVELS + [["--reference"]]:
            with self.subTest(level=level):
                y, = self.run_model("dynamic_concat_negative_cycles.onnx", "-i", os.path.join(FILES, "dynamic_concat_x4.npy"), *level)
                self.assertTrue(np.isfinite(y).all())
                # Position 0 of a result of length 1, as the text of the standard and ONNX Runtime have it.
                y, = self.run_model("resize_cubic_pytorch_half_pixel.onnx", "-i", os.path.join(FILES, "resize_cubic_in.npz"), *level)
                np.testing.assert_array_equal(y.ravel(), 1.0)
                # NaN and infinity do not reach gaps between the taps of a transposed convolution.
                y, = self.run_model("conv_transpose_nan.onnx", "-i", os.path.join(FILES, "conv_transpose_nan.npz"), *level)
                self.assertTrue((y == 0).any() and not np.isfinite(y).all(), y)
        for a, b in ((3, 1), (1, 3)):
            np.savez(self.path("in.npz"), a=np.arange(a, dtype=np.float32), b=np.arange(10, 10 + b, dtype=np.float32))
            y, = self.run_model("dynamic_broadcast.onnx", "-i", self.path("in.npz"))
            self.assertEqual(y.shape[-1], 3)

    def test_a_picture_with_rows_from_the_top(self):
        with open(os.path.join(FILES, "topdown.bmp"), "rb") as file:
            data = file.read()
        head, line = 54, (50 * 3 + 3) // 4 * 4
        self.assertEqual(int.from_bytes(data[22:26], "little", signed=True), -40)
        rows = [data[head + line * y:head + line * (y + 1)] for y in range(40)]
        brightest = max(range(40), key=lambda y: sum(rows[y][:150]))
        self.assertNotEqual(brightest, 39 - brightest)
        folder = self.path(f"pictures/{brightest}")
        os.makedirs(folder)
        shutil.copy(os.path.join(FILES, "topdown.bmp"), folder)
        with open(os.path.join(folder, "bottomup.bmp"), "wb") as file:
            file.write(data[:22] + (40).to_bytes(4, "little") + data[26:head] + b"".join(reversed(rows)))
        with open(self.path("picture.mlir"), "w") as file:
            file.write(PICTURE)
        self.last_line("evaluate", self.path("picture.mlir"), "--data", self.path("pictures"), "--json", self.path("found.json"))
        with open(self.path("found.json")) as file:
            found = json.load(file)
        self.assertEqual([decided["decision"] for decided in found["decisions"]], [brightest, brightest])


if __name__ == "__main__":
    if not os.path.isdir(FILES):
        print(f"skipped: no test data: {FILES} is not there")
        sys.exit(77)
    unittest.main()
