#!/usr/bin/env python3
"""Tests of packages and runs in Python:  lathe_test.py PACKAGE_WRITER  (LATHE_LIBRARY_DIR names the libraries)"""
import os
import shutil
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

    def test_contexts_share_a_pool(self):
        package, pool = lathe.load(self.plain), lathe.Pool(4)
        contexts = [package.context(threads, pool, first) for threads, first in ((2, 0), (2, 2), (0, 1), (1, 3))]  # some in common
        del pool
        wrong = []

        def work(number, context):
            for repeat in range(200):
                x = np.full((1 + repeat % 5, 4), number + repeat, np.float32)
                if not np.array_equal(context.run({"x": x})["out"], x * 1.5):
                    wrong.append((number, repeat))

        threads = [threading.Thread(target=work, args=pair) for pair in enumerate(contexts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        for slots, cpus, says in ((2, [0], "1 CPUs for 2 slots"), (2, [0, 1 << 20], "cannot be bound to CPU"), (-1, None, "-1 slots"),
                                  (2000, None, "expected 0 to 1024")):
            with self.assertRaisesRegex(lathe.Error, says):
                lathe.Pool(slots, cpus)
        with self.assertRaisesRegex(lathe.Error, "2 threads from slot 1 on, expected slots of the pool, which has 2"):
            package.context(2, lathe.Pool(2), 1)
        bound = lathe.Pool(1, [min(os.sched_getaffinity(0))])
        np.testing.assert_array_equal(package.context(1, bound).run({"x": np.ones((1, 4), np.float32)})["out"], [[1.5] * 4])

    def test_a_forked_child_makes_contexts_of_its_own(self):
        context = lathe.load(self.plain).context(threads=2)
        x = np.ones((2, 4), np.float32)
        context.run({"x": x})
        child = os.fork()
        if child == 0:
            try:
                context.run({"x": x})
                os._exit(1)
            except lathe.Error as error:
                os._exit(0 if "after fork()" in str(error) else 2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

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

    def test_states(self):
        self.compiled("test_relu")
        path, package = (os.path.join(self.folder.name, "decoder" + suffix) for suffix in (".mlir", ".lathe"))
        with open(path, "w") as file:
            file.write("""func.func @main(%q: tensor<1x2x1x4xf32> {nn.name = "q"}, %p: tensor<1x2x?x4xf32> {nn.name = "past", nn.dims = ["1", "2", "P", "4"]})
                -> (tensor<1x2x1x4xf32> {nn.name = "y"}, tensor<1x2x?x4xf32> {nn.name = "present"}) {
              %k = nn.concat %p, %q {axis = 2 : i64} : (tensor<1x2x?x4xf32>, tensor<1x2x1x4xf32>) -> tensor<1x2x?x4xf32>
              %y = nn.attention %q, %k, %k {scale = 0.5 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} :
                (tensor<1x2x1x4xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>) -> tensor<1x2x1x4xf32>
              return %y, %k : tensor<1x2x1x4xf32>, tensor<1x2x?x4xf32>
            }""")
        model = lathe.compile(path, package)
        queries = np.random.default_rng(0).standard_normal((9, 1, 2, 1, 4)).astype(np.float32)
        kept, plain = model.context(), model.context()
        kept.keep_state("past", "present", max_extent=8)
        past = np.zeros((1, 2, 0, 4), np.float32)
        for q in queries[:8]:
            expected = plain.run({"q": q, "past": past})
            past = expected["present"]
            got = kept.run({"q": q}, outputs=["y"])
            self.assertEqual(list(got), ["y"])
            np.testing.assert_array_equal(got["y"], expected["y"])
        with self.assertRaisesRegex(lathe.Error, "9 positions after this run, expected at most its maximum of 8"):
            kept.run({"q": queries[8]})
        np.testing.assert_array_equal(past, np.concatenate(queries[:8], axis=2))
        kept.reset_states()
        np.testing.assert_array_equal(kept.run({"q": queries[0]})["present"], queries[0])
        with self.assertRaisesRegex(lathe.Error, "no output is called 'absent'"):
            kept.keep_state("q", "absent")
        with self.assertRaises(lathe.Error):
            plain.keep_state("q", "y", max_extent=8)  # which does not continue q
        with self.assertRaisesRegex(lathe.Error, "input 'q' is missing"):
            plain.run({"past": past})

    def test_outputs_whose_extents_depend_on_data(self):
        context = self.compiled("test_nonzero_example").context()
        port, = context.model.inputs
        random, results = np.random.default_rng(0), []
        for _ in range(6):
            values = random.integers(0, 2, [d or 1 for d in port.dims]).astype(port.dtype)
            results.append((values, context.run([values])[context.model.outputs[0].name]))
        for values, result in results:
            np.testing.assert_array_equal(result, np.array(np.nonzero(values)))

    def test_outputs_whose_extents_follow_a_state(self):
        self.compiled("test_relu")
        path, package = (os.path.join(self.folder.name, "growing" + suffix) for suffix in (".mlir", ".lathe"))
        with open(path, "w") as file:
            file.write("""func.func @main(%q: tensor<1x4xf32> {nn.name = "q"}, %p: tensor<?x4xf32> {nn.name = "past", nn.dims = ["P", "4"]})
                -> (tensor<?x4xf32> {nn.name = "present"}, tensor<?x4xf32> {nn.name = "twice"}) {
              %k = nn.concat %p, %q {axis = 0 : i64} : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
              %y = nn.add %k, %k : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
              return %k, %y : tensor<?x4xf32>, tensor<?x4xf32>
            }""")
        context = lathe.compile(path, package).context()
        q = np.arange(4, dtype=np.float32)[None]
        context.run({"q": q, "past": np.zeros((0, 4), np.float32)})  # before it is a state
        context.keep_state("past", "present")
        context.set_input("past", np.zeros((0, 4), np.float32))
        for length in range(1, 6):
            np.testing.assert_array_equal(context.run({"q": q + length})["twice"],
                                          2 * np.concatenate([q + i for i in range(1, length + 1)]))

    def test_sequences_optionals_and_strings(self):
        model = self.compiled("test_sequence_insert_at_back")
        sequence, item = [np.arange(3, dtype=np.float32) + i for i in range(2)], np.full(3, 9, np.float32)
        self.assertEqual(model.inputs[0].kind, "sequence")
        result = model.run([[array.astype(model.inputs[0].dtype) for array in sequence], item.astype(model.inputs[1].dtype)])
        longer = result[model.outputs[0].name]
        self.assertEqual([array.tolist() for array in longer], [[0, 1, 2], [1, 2, 3], [9] * 3])
        with self.assertRaisesRegex(lathe.Error, "expected a list of arrays"):
            model.run([sequence[0], item])
        with self.assertRaisesRegex(lathe.Error, "expected tensors of"):
            model.run([[np.zeros(2, np.bool_)], item.astype(model.inputs[1].dtype)])
        model = self.compiled("test_optional_has_element_tensor_input")
        name = model.outputs[0].name
        self.assertTrue(model.run([np.zeros(4, np.float32)])[name])
        model = self.compiled("test_string_concat")
        words = np.array(["abc", "d\0\u00e9f"])
        result = model.run([words, np.array([".com", ""], object)] if len(model.inputs) == 2 else [words])
        self.assertEqual(result[model.outputs[0].name].tolist()[0][:3], "abc")
        with self.assertRaisesRegex(lathe.Error, "expected strings"):
            model.run([np.zeros(2)] * len(model.inputs))

    def test_compiles_for_bf16(self):
        self.compiled("test_relu")
        path, package = (os.path.join(self.folder.name, "product" + suffix) for suffix in (".mlir", ".lathe"))
        with open(path, "w") as file:
            file.write("""func.func @main(%a: tensor<64x64xf32> {nn.name = "a"}) -> (tensor<64x64xf32> {nn.name = "c"}) {
  %b = nn.constant {value = dense<1.0> : tensor<64x64xf32>} : tensor<64x64xf32>
  %0 = nn.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
""")
        near = np.float32(1 + 2**-10)  # rounds to 1
        inputs = [np.full((64, 64), near)]
        np.testing.assert_array_equal(lathe.compile(path, package).run(inputs)["c"], np.full((64, 64), 64 * near))
        with self.assertRaisesRegex(lathe.Error, "--precision: fp8 not in {fp32,bf16}"):
            lathe.compile(path, package, precision="fp8")
        with self.assertRaisesRegex(lathe.Error, "avx512bf16"):
            lathe.compile(path, package, target="x86-64-v3", precision="bf16")
        try:
            model = lathe.compile(path, package, precision="bf16")
        except lathe.Error as error:
            self.assertIn("avx512bf16", str(error))
            self.skipTest(str(error))
        np.testing.assert_array_equal(model.run(inputs)["c"], np.full((64, 64), 64, np.float32))


    def test_quantised_ports(self):
        self.compiled("test_relu")
        path, package = (os.path.join(self.folder.name, "quantised" + suffix) for suffix in (".mlir", ".lathe"))
        with open(path, "w") as file:
            file.write("""func.func @main(%x: tensor<2x2xi8> {nn.name = "x", nn.quantization = "0.5 * (q - 3)"})
                -> (tensor<2x2xi8> {nn.name = "y", nn.quantization = "0.5 * (q - 3), 0.25 * (q - -4) along axis 1"}, tensor<2x2xi8> {nn.name = "z"}) {
              %y = nn.max %x, %x : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
              %z = nn.min %x, %x : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
              return %y, %z : tensor<2x2xi8>, tensor<2x2xi8>
            }""")
        model = lathe.compile(path, package)
        self.assertEqual(repr(model.inputs[0].quantization), "Quantization(scales=[0.5], zero_points=[3])")
        self.assertEqual(repr(model.outputs[0].quantization), "Quantization(scales=[0.5, 0.25], zero_points=[3, -4], axis=1)")
        self.assertIsNone(model.outputs[1].quantization)
        real = np.array([[0.25, -0.25], [1e9, np.nan]], np.float32)
        integers = np.array([[4, 2], [127, 3]], np.int8)  # halves away from zero; saturated; NaN is zero
        np.testing.assert_array_equal(model.inputs[0].quantization.quantize(real), integers)
        np.testing.assert_array_equal(model.inputs[0].quantization.dequantize(integers), [[0.5, -0.5], [62, 0]])
        with self.assertRaisesRegex(lathe.Error, "expected int8, got int64"):
            model.inputs[0].quantization.dequantize([1])
        for inputs in ({"x": real}, {0: real}, [real.astype(np.float64)], {"x": integers}):  # by name, by number, in order
            got = model.run(inputs)
            np.testing.assert_array_equal(got["y"], integers)
            self.assertEqual(got["y"].dtype, np.int8)
        got = model.run({0: real}, dequantize=True)
        np.testing.assert_array_equal(got["y"], [[0.5, 1.5], [62, 1.75]])
        np.testing.assert_array_equal(got["z"], integers)
        context = model.context()
        context.set_input(0, real)
        self.assertEqual(list(context.run(outputs=[1])), ["z"])
        np.testing.assert_array_equal(context.output("y"), integers)
        for use in (lambda: context.set_input(1, real), lambda: model.run({2: real})):
            with self.assertRaisesRegex(lathe.Error, "input [12] of 1"):
                use()

    def test_compile_errors(self):
        self.compiled("test_relu")
        path = os.path.join(os.environ["LATHE_TEST_DATA"], "conformance", "onnx", "node", "test_relu", "model.onnx")
        for options in ({"threads": 2**40}, {"threads": 1025}, {"threads": -1}, {"level": 5}, {"level": 2**32},
                        {"shape": {"x": (3, 10**30)}}, {"shape": {"x": (-2,)}}):
            with self.assertRaisesRegex(lathe.Error, "threads|-O|shape"):
                lathe.compile(path, os.path.join(self.folder.name, "x.lathe"), **options)
        with self.assertRaisesRegex(lathe.Error, "--requantize-rounding: twice not in {reference,optimised}"):
            lathe.compile(path, os.path.join(self.folder.name, "x.lathe"), requantize_rounding="twice")
        with self.assertRaisesRegex(lathe.Error, "--layout: nhcw not in {auto,nchw,nhwc,blocked}"):
            lathe.compile(path, os.path.join(self.folder.name, "x.lathe"), layout="nhcw")
        with self.assertRaisesRegex(lathe.Error, "is no TFLite file"):
            lathe.compile(path, os.path.join(self.folder.name, "x.lathe"), requantize_rounding="optimised")
        with self.assertRaisesRegex(lathe.Error, "an ONNX file has no signatures, got 'encode'"):
            lathe.compile(path, os.path.join(self.folder.name, "x.lathe"), signature="encode")
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

    def test_all_inputs_and_no_others(self):
        model, x = lathe.load(self.plain), np.ones((2, 4), np.float32)
        model.run({"x": x})
        for inputs in ({}, None):  # nothing of the run before is used again
            with self.assertRaisesRegex(lathe.Error, "input 'x' is missing"):
                model.run(inputs)
        with self.assertRaisesRegex(lathe.Error, r"expected 1 arrays \('x'\), got 2"):
            model.run([x, x])
        with self.assertRaisesRegex(lathe.Error, r"expected 1 arrays \('x'\), got 0"):
            model.run([])
        for inputs in (x, "x", 7):
            with self.assertRaisesRegex(lathe.Error, "inputs: expected {name: array} or a list of arrays for 'x', got"):
                model.run(inputs)
        context = model.context()
        with self.assertRaisesRegex(lathe.Error, "input 'x' is missing"):
            context.run({})
        context.set_input("x", x)
        np.testing.assert_array_equal(context.run()["out"], x * 1.5)

    def test_arrays_of_any_kind(self):
        model = lathe.load(self.plain)
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        unaligned = np.frombuffer(b"x" + x.tobytes(), np.float32, offset=1).reshape(2, 4)
        self.assertFalse(unaligned.flags.aligned)
        for same in (x.astype(">f4"), np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1][::-1], unaligned,
                     np.ma.masked_array(x), x[None][0]):
            np.testing.assert_array_equal(model.run({"x": same})["out"], x * 1.5)
        for wrong in (x.astype(np.int32), x.astype(complex), x.astype(object), x.astype(str), np.float32(1), 1.0, [], None,
                      np.zeros((0, 4), np.float64), np.zeros((2, 4, 1), np.float32), np.zeros((1,) * 32, np.float32)):
            with self.assertRaisesRegex(lathe.Error, "input 'x': expected f"):
                model.run({"x": wrong})
        self.assertEqual(model.run({"x": np.zeros((0, 4), np.float32)})["out"].shape, (0, 4))

    def test_contexts_that_are_closed(self):
        x = np.ones((2, 4), np.float32)
        with lathe.load(self.plain).context() as context:
            context.run({"x": x}, profile=True)
        for use in (context.run, context.profile, lambda: context.output(0), lambda: context.set_input("x", x)):
            with self.assertRaisesRegex(lathe.Error, "the context is closed"):
                use()
        context.close()
        other = lathe.load(self.plain).context()
        for index in (-1, 1):
            with self.assertRaisesRegex(lathe.Error, f"output {index} of 1"):
                other.output(index)
        with self.assertRaises(lathe.Error):
            lathe.load("a\0b.lathe")
        for threads in (-1, 1025, 2**40):
            with self.assertRaisesRegex(lathe.Error, "threads"):
                lathe.load(self.plain).context(threads=threads)

    def test_one_model_from_many_threads(self):
        model, failures = lathe.load(self.plain), []

        def work(value):
            x = np.full((50, 4), value, np.float32)
            for _ in range(100):
                if not (model.run({"x": x})["out"] == value * 1.5).all():
                    failures.append(value)

        threads = [threading.Thread(target=work, args=(value,)) for value in (1, 2, 3)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual(failures, [])

    def test_libraries_are_found_or_the_places_named(self):
        def imported(folder, **environment):
            """What `import lathe` and a call say with lathe.py in `folder`."""
            os.makedirs(folder)
            shutil.copytree(os.path.dirname(lathe.__file__), os.path.join(folder, "lathe"))
            done = subprocess.run([sys.executable, "-c", "import lathe; print(lathe.runtime_version())"], capture_output=True, text=True,
                                  env={"PATH": os.environ["PATH"], "PYTHONPATH": folder, **environment})
            return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]

        libraries, version = os.environ["LATHE_LIBRARY_DIR"], lathe.runtime_version()
        clone, prefix = os.path.join(self.folder.name, "clone"), os.path.join(self.folder.name, "prefix")
        os.makedirs(os.path.join(clone, "build", "release"))
        os.symlink(libraries, os.path.join(clone, "build", "release", "lib"))
        self.assertEqual(imported(os.path.join(clone, "python")), version)
        os.makedirs(os.path.join(prefix, "lib"))
        os.symlink(libraries, os.path.join(prefix, "lib", "x86_64-linux-gnu"))
        self.assertEqual(imported(os.path.join(prefix, "share", "lathe", "python")), version)
        alone = os.path.join(self.folder.name, "alone", "python")
        self.assertRegex(imported(alone), "lathe._libraries.Error: liblathe_runtime.so is not in .*alone/build/release/lib, .*"
                                          "nor where the system looks: build it .* or set LATHE_LIBRARY_DIR")
        wrong = os.path.join(self.folder.name, "wrong")
        os.makedirs(wrong)
        with open(os.path.join(wrong, "liblathe_runtime.so"), "w") as file:
            file.write("no library")
        self.assertRegex(imported(os.path.join(self.folder.name, "other"), LATHE_LIBRARY_DIR=wrong),
                         "lathe._libraries.Error: .*wrong/liblathe_runtime.so: cannot be loaded")

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
