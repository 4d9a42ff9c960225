#!/usr/bin/env python3
"""Tests of the Python wrapper:  lathe_test.py PACKAGE_WRITER  (LATHE_LIBRARY_DIR names the libraries)"""
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import lathe

writer = sys.argv.pop(1)


class WrapperTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.plain = os.path.join(cls.folder.name, "plain.lathe")
        cls.reference = os.path.join(cls.folder.name, "reference.lathe")
        subprocess.run([writer, cls.plain], check=True)
        subprocess.run([writer, cls.reference, "reference"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_runs(self):
        model = lathe.load(self.plain, check_constants=True)
        self.assertEqual(repr(model.inputs[0]), "x: float32 Nx4")
        self.assertEqual(model.inputs[0].dims, (None, 4))
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_array_equal(model.run({"x": x})["out"], x * 1.5)
        np.testing.assert_array_equal(model.run([x.T.copy().T])["out"], x * 1.5)  # not contiguous: copied
        y = np.ones((5, 4), np.float32)
        np.testing.assert_array_equal(model.run({"x": y})["out"], y * 1.5)

    def test_references(self):
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        np.testing.assert_array_equal(lathe.load(self.reference).run({"x": x})["out"], x * -0.5)

    def test_bound_in_place(self):
        context = lathe.load(self.plain).context(threads=2)
        x = np.ones((2, 4), np.float32)
        context.run({"x": x})
        x[:] = 4
        np.testing.assert_array_equal(context.run()["out"], np.full((2, 4), 6, np.float32))

    def test_profile(self):
        context = lathe.load(self.plain).context()
        context.run({"x": np.ones((2, 4), np.float32)}, profile=True)
        rows = context.profile()
        self.assertEqual([row["name"] for row in rows], ["half", "add", ""])
        self.assertEqual(rows[-1]["kind"], "overhead")

    def compiled(self, case):
        """A conformance case's model, compiled."""
        if not os.path.exists(os.path.join(os.environ["LATHE_LIBRARY_DIR"], "liblathe_compiler.so")):
            self.skipTest("liblathe_compiler.so is not built")
        path = os.path.join(os.environ["LATHE_TEST_DATA"], "conformance", "onnx", "node", case, "model.onnx")
        if not os.path.exists(path):
            self.skipTest(f"{path} is missing")
        return lathe.compile(path, os.path.join(self.folder.name, case + ".lathe"))

    def test_compiles(self):
        model = self.compiled("test_relu")
        x = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
        np.testing.assert_array_equal(model.run({"x": x})["y"], np.maximum(x, 0))
        model = self.compiled("test_matmul_2d")
        a, b = np.ones((3, 4), np.float32), np.arange(12, dtype=np.float32).reshape(4, 3)
        np.testing.assert_allclose(model.run([a, b])["c"], a @ b, rtol=1e-5)

    def test_compiles_for_bf16(self):
        self.compiled("test_relu")
        path, package = (os.path.join(self.folder.name, "product" + suffix) for suffix in (".mlir", ".lathe"))
        with open(path, "w") as file:
            file.write("""func.func @main(%a: tensor<16x4xf32> {nn.name = "a"}, %b: tensor<4x16xf32> {nn.name = "b"}) -> (tensor<16x16xf32> {nn.name = "c"}) {
  %0 = nn.matmul %a, %b : (tensor<16x4xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
""")
        near = np.float32(1 + 2**-10)  # rounds to 1
        inputs = [np.full((16, 4), near), np.ones((4, 16), np.float32)]
        np.testing.assert_array_equal(lathe.compile(path, package).run(inputs)["c"], np.full((16, 16), 4 * near))
        with self.assertRaisesRegex(lathe.Error, "precision 'fp8': expected one of fp32, bf16"):
            lathe.compile(path, package, precision="fp8")
        with self.assertRaisesRegex(lathe.Error, "avx512bf16"):
            lathe.compile(path, package, target="x86-64-v3", precision="bf16")
        try:
            model = lathe.compile(path, package, precision="bf16")
        except lathe.Error as error:
            self.assertIn("avx512bf16", str(error))
            self.skipTest(str(error))
        np.testing.assert_array_equal(model.run(inputs)["c"], np.full((16, 16), 4, np.float32))

    def test_compile_errors(self):
        self.compiled("test_relu")
        with self.assertRaisesRegex(lathe.Error, "/nowhere.onnx"):
            lathe.compile("/nowhere.onnx", os.path.join(self.folder.name, "x.lathe"))

    def test_errors(self):
        model = lathe.load(self.plain)
        with self.assertRaisesRegex(lathe.Error, r"input 'x': expected f32 Nx4, got f64 2x4"):
            model.run({"x": np.ones((2, 4))})
        with self.assertRaisesRegex(lathe.Error, r"expected f32 Nx4, got f32 2x5"):
            model.run({"x": np.ones((2, 5), np.float32)})
        with self.assertRaisesRegex(lathe.Error, "no input is called 'y'; there are: x"):
            model.run({"y": np.ones((2, 4), np.float32)})
        with self.assertRaisesRegex(lathe.Error, "input 'x' is not set"):
            model.context().run()
        with self.assertRaisesRegex(lathe.Error, "cannot open"):
            lathe.load("/nowhere.lathe")

    def test_threads(self):
        model, failures = lathe.load(self.plain), []

        def work(value):
            context, x = model.context(), np.full((7, 4), value, np.float32)
            for _ in range(100):
                if not (context.run({"x": x})["out"] == value * 1.5).all():
                    failures.append(value)

        threads = [threading.Thread(target=work, args=(value,)) for value in (1, 2, 3)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual(failures, [])


unittest.main()
