"""`lathe run`: inputs, outputs, and packages that can be trusted."""
import numpy as np

from fixture import Cli, main

LSTM = """
func.func @main(%x: tensor<3x2x4xf32> {nn.name = "x"}, %lens: tensor<2xi32> {nn.name = "lens"}) -> (tensor<3x1x2x4xf32> {nn.name = "y"}) {
  %w = nn.constant {value = dense<0.1> : tensor<1x16x4xf32>} : tensor<1x16x4xf32>
  %y, %h, %c = nn.lstm %x, %w, %w, %lens {direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0>} :
    (tensor<3x2x4xf32>, tensor<1x16x4xf32>, tensor<1x16x4xf32>, tensor<2xi32>) -> (tensor<3x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) loc("sequence")
  return %y : tensor<3x1x2x4xf32>
}
"""

VALUES = """
func.func @main(%list: tensor<!nn.sequence<tensor<?x2xf32>>> {nn.name = "list"}, %maybe: tensor<!nn.optional<tensor<2xf32>>> {nn.name = "maybe"},
                %words: tensor<2x!nn.string> {nn.name = "words"})
    -> (tensor<!nn.sequence<tensor<?x2xf32>>> {nn.name = "longer"}, tensor<!nn.optional<tensor<2xf32>>> {nn.name = "same"},
        tensor<2x!nn.string> {nn.name = "doubled"}, tensor<i1> {nn.name = "has"}) {
  %last = nn.constant {value = dense<-1> : tensor<i64>} : tensor<i64>
  %item = nn.sequence_at %list, %last : (tensor<!nn.sequence<tensor<?x2xf32>>>, tensor<i64>) -> tensor<?x2xf32>
  %negative = nn.neg %item : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %longer = nn.sequence_insert %list, %negative : (tensor<!nn.sequence<tensor<?x2xf32>>>, tensor<?x2xf32>) -> tensor<!nn.sequence<tensor<?x2xf32>>>
  %doubled = nn.string_concat %words, %words : (tensor<2x!nn.string>, tensor<2x!nn.string>) -> tensor<2x!nn.string>
  %has = nn.optional_has_element %maybe : (tensor<!nn.optional<tensor<2xf32>>>) -> tensor<i1>
  return %longer, %maybe, %doubled, %has : tensor<!nn.sequence<tensor<?x2xf32>>>, tensor<!nn.optional<tensor<2xf32>>>, tensor<2x!nn.string>, tensor<i1>
}
"""


QUANTISED = """
func.func @main(%a: tensor<2xi8> {nn.name = "a", nn.quantization = "0.5 * (q - 3)"}, %b: tensor<2xi8> {nn.name = "b"})
    -> (tensor<2xi8> {nn.name = "y", nn.quantization = "0.25 * (q - -1)"}, tensor<2xi8> {nn.name = "z"}) {
  %y = nn.max %a, %b : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %z = nn.min %a, %b : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  return %y, %z : tensor<2xi8>, tensor<2xi8>
}
"""


# Eight bits inside, floats outside.
INSIDE = """
func.func @main(%x: tensor<3xf32> {nn.name = "x"}) -> (tensor<3xf32> {nn.name = "y"}) {
  %q = nn.cast %x {to = i8} : (tensor<3xf32>) -> tensor<3xi8>
  %y = nn.cast %q {to = f32} : (tensor<3xi8>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
"""


class Run(Cli):
    def test_the_greatest_elements(self):
        model, x = self.path("relu.mlir"), self.path("scores.npy")
        with open(model, "w") as file:
            file.write('func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}) -> (tensor<2x4xf32> {nn.name = "y"}) {\n'
                       "  %y = nn.abs %x : (tensor<2x4xf32>) -> tensor<2x4xf32>\n  return %y : tensor<2x4xf32>\n}\n")
        np.save(x, np.array([[1, 5, 5, 2], [np.nan, 0, 3, np.inf]], np.float32))
        for flags in ([], ["--reference"]):
            text = self.lathe("run", model, "-i", x, "--print-top", "3", *flags).stdout
            self.assertIn("y row 0 top 3: 1: 5, 2: 5, 3: 2\n", text)
            self.assertIn("y row 1 top 3: 3: inf, 2: 3, 1: 0\n", text)
            top = self.figures("run", model, "-i", x, "--print-top", "9", *flags)["outputs"][0]["top"]
            self.assertEqual([entry["index"] for entry in top[1]], [3, 2, 1, 0])
            self.assertEqual(top[0][0], {"index": 1, "value": 5})
            self.assertIsNone(top[1][3]["value"])
        self.error("run", model, "-i", x, "--print-top", "0", says="--print-top")

    def test_nan_in_integers_is_a_warning(self):
        quantised, inside, real, x, plain = (self.path(name) for name in ("nan8.mlir", "inside.mlir", "nan2.npy", "nan3.npy", "plain2.npy"))
        for path, text in (quantised, QUANTISED), (inside, INSIDE):
            with open(path, "w") as file:
                file.write(text)
        np.save(real, np.array([np.nan, 1], np.float32))
        np.save(x, np.array([np.nan, 1, 2], np.float32))
        np.save(plain, np.array([1, 7], np.int8))
        said = self.lathe("run", quantised, "-i", f"a={real}", "-i", f"b={plain}").stderr
        self.assertRegex(said, "^warning: .*nan2.npy: 1 of 2 elements are NaN.*input 'a'")
        self.assertRegex(self.lathe("run", inside, "-i", x).stderr, "^warning: input 'x' holds NaN, and no output does")
        np.save(x, np.array([0, 1, 2], np.float32))
        self.assertEqual(self.lathe("run", inside, "-i", x).stderr, "")

    def test_quantised_inputs_and_outputs(self):
        model, real, plain, out = (self.path(name) for name in ("quantised.mlir", "real.npy", "plain.npy", "out.npz"))
        with open(model, "w") as file:
            file.write(QUANTISED)
        np.save(real, np.array([0.75, -1], np.float64))  # 4.5 and 1
        np.save(plain, np.array([-20, 7], np.int8))
        for given in (["-i", f"a={real}", "-i", f"b={plain}"], ["-i", f"0={real}", "-i", f"1={plain}"]):
            self.lathe("run", model, *given, "-o", out)
            with np.load(out) as arrays:
                self.assertEqual((arrays["y"].tolist(), arrays["z"].tolist()), ([5, 7], [-20, 1]))
            self.lathe("run", model, *given, "-o", out, "--dequantize")
            with np.load(out) as arrays:
                self.assertEqual((arrays["y"].tolist(), arrays["z"].tolist()), ([1.5, 2], [-20, 1]))
                self.assertEqual(arrays["y"].dtype, np.float32)
        self.error("run", model, "-i", f"a={real}", "-i", f"1={real}", says="input 'b'")
        np.save(self.path("three.npy"), np.zeros(3, np.float32))
        self.error("run", model, "-i", f"a={self.path('three.npy')}", "-i", f"b={plain}", says=r"three.npy: input 'a': expected i8 2, or real numbers of these extents, got f32 3$")
        self.error("run", model, "-i", f"2={real}", says="no input '2'")
        self.error("run", self.net, "--fill", "ones", "--dequantize", says="--dequantize: no output of .*net.mlir has a scale")
        package = self.path("quantised.lathe")
        self.lathe("compile", model, "-o", package)
        self.assertRegex(self.lathe("inspect", package).stdout, r"a: i8 2, real numbers 0.5 \* \(q - 3\)")

    def test_sequences_optionals_and_strings(self):
        model, given, out = self.path("values.mlir"), self.path("given.npz"), self.path("out.npz")
        with open(model, "w") as file:
            file.write(VALUES)
        first, second = np.ones((1, 2), np.float32), np.array([[2, 3], [4, 5]], np.float32)
        inputs = {"list/0": first, "list/1": second, "maybe": np.array([7, 8], np.float32), "words": np.array(["a", "b\u00e9"])}
        for flags in [], ["--reference"]:
            np.savez(given, **inputs)
            self.lathe("run", model, "-i", given, "-o", out, *flags)
            with np.load(out) as arrays:
                np.testing.assert_array_equal(arrays["longer/1"], second)
                np.testing.assert_array_equal(arrays["longer/2"], -second)
                np.testing.assert_array_equal(arrays["same"], [7, 8])
                self.assertEqual(arrays["doubled"].tolist(), ["aa", "b\u00e9b\u00e9"])
            np.savez(given, **{name: array for name, array in inputs.items() if name != "maybe"}, **{"maybe/none": []})
            self.lathe("run", model, "-i", given, "-o", out, *flags)
            with np.load(out) as arrays:
                self.assertIn("same/none", arrays.files)
                self.assertFalse(arrays["has"])
        for name, array, says in [("list/1", np.ones((1, 2)), "input 'list': expected tensors of f32, got f64"),
                                  ("list/3", first, "'list/2' is missing"), ("list/empty", first, "as tensors and as nothing"),
                                  ("list/one", first, "'list/one' is no part of one"),
                                  ("words", np.zeros(2, np.float32), "'words': expected string 2, got f32 2")]:
            np.savez(given, **{**inputs, name: array})
            self.error("run", model, "-i", given, says=says)
        np.savez(given, **{name: array for name, array in inputs.items() if not name.startswith("list")}, **{"list/empty": []})
        self.error("run", model, "-i", given, says="the sequence is empty")

    def test_packages_that_are_damaged(self):
        with open(self.package, "rb") as file:
            good = file.read()
        damaged = self.path("damaged.lathe")
        for title, content in [("truncated", good[:len(good) // 2]), ("header only", good[:64]),
                               ("another plan", good[:16400] + bytes([good[16400] ^ 1]) + good[16401:])]:
            with open(damaged, "wb") as file:
                file.write(content)
            with self.subTest(title):
                self.error("run", damaged, "--fill", "ones", says="damaged.lathe")

    def test_inputs_that_do_not_fit(self):
        for name, array in [("shape", np.zeros((1, 3, 9, 9), np.float32)), ("type", np.zeros((1, 3, 12, 12), np.float64))]:
            path = self.path(f"{name}.npy")
            np.save(path, array)
            self.error("run", self.package, "-i", f"data={path}", says="data.*expected")
        np.save(self.path("good.npy"), np.zeros((1, 3, 12, 12), np.float32))
        self.error("run", self.package, "-i", f"picture={self.path('good.npy')}", says="no input 'picture'")
        self.error("run", self.package, says="'data' is missing")
        self.error("run", self.package, "-i", self.path("absent.npy"), says="absent.npy")

    def test_lengths_beyond_the_sequence(self):
        path, lens = self.path("lstm.mlir"), self.path("lens.npy")
        with open(path, "w") as file:
            file.write(LSTM)
        for lengths, wrong in [((3, 4), r"sequence_lens\[1\] is 4"), ((-1, 0), r"sequence_lens\[0\] is -1")]:
            np.save(lens, np.array(lengths, np.int32))
            for flags in [], ["--reference"]:
                self.error("run", path, "--fill", "random", "-i", f"lens={lens}", *flags, says="'sequence'.*" + wrong + ", expected a number from 0 to 3")
        np.save(lens, np.array([3, 0], np.int32))
        self.lathe("run", path, "--fill", "random", "-i", f"lens={lens}")

    def test_run_agrees_with_the_reference(self):
        for level in "01234":
            compiled = self.outputs(self.net, "-O", level, "--fill", "random", "--seed", "5")["prob"]
            reference = self.outputs(self.net, "--reference", "--fill", "random", "--seed", "5")["prob"]
            self.assertEqual(compiled.shape, (1, 5))
            np.testing.assert_allclose(compiled, reference, rtol=2e-3 if level == "4" else 1e-4, atol=1e-6)  # relaxed math

    def test_more_threads_than_processors_are_said(self):
        said = lambda *flags: self.lathe("run", self.package, "--fill", "ones", *flags).stderr
        self.assertRegex(said("--threads", "1024"), "^lathe run: --threads 1024: this process may use [0-9]+ processors?, so that threads wait for each other\n$")
        self.assertEqual(said("--threads", "1024", "--quiet"), "")
        self.assertEqual(said("--threads", "1"), "")

    def test_threads_do_not_change_a_bit(self):
        one = self.outputs(self.package, "--fill", "random", "--threads", "1")["prob"]
        two = self.outputs(self.package, "--fill", "random", "--threads", "2")["prob"]
        np.testing.assert_array_equal(one, two)

    def test_shapes_that_depend_on_data(self):
        path = self.path("reshape.mlir")
        with open(path, "w") as file:
            file.write("""func.func @main(%x: tensor<2x6xf32> {nn.name = "x"}, %s: tensor<2xi64> {nn.name = "s"})
                -> (tensor<?x?xf32> {nn.name = "y"}) {
              %0 = nn.reshape %x, %s : (tensor<2x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
              %1 = nn.neg %0 : (tensor<?x?xf32>) -> tensor<?x?xf32>
              return %1 : tensor<?x?xf32> }""")
        x = np.arange(12, dtype=np.float32).reshape(2, 6)
        np.savez(self.path("reshape.npz"), x=x, s=np.array([3, 4], np.int64))
        np.testing.assert_array_equal(self.outputs(path, "-i", self.path("reshape.npz"))["y"], -x.reshape(3, 4))

    def test_inputs_from_files(self):
        array = np.random.default_rng(3).standard_normal((1, 3, 12, 12)).astype(np.float32)
        np.save(self.path("x.npy"), array)
        np.savez(self.path("x.npz"), data=array)
        first = self.outputs(self.package, "-i", f"data={self.path('x.npy')}")["prob"]
        np.testing.assert_array_equal(first, self.outputs(self.package, "-i", self.path("x.npy"))["prob"])
        np.testing.assert_array_equal(first, self.outputs(self.package, "-i", self.path("x.npz"))["prob"])
        self.lathe("run", self.package, "--fill", "ones", "-o", self.path("folder/"))
        self.assertEqual(np.load(self.path("folder/prob.npy")).shape, (1, 5))
        self.lathe("run", self.package, "--fill", "ones", "-o", self.path("folder"))  # it is one now

    def test_names_and_paths_with_equal_signs(self):
        model = self.path("equal.mlir")
        with open(model, "w") as file:
            file.write("""func.func @main(%a: tensor<2xf32> {nn.name = "a"}, %b: tensor<2xf32> {nn.name = "a=b"}) -> (tensor<2xf32> {nn.name = "y"}) {
              %0 = nn.sub %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
              return %0 : tensor<2xf32> }""")
        np.save(self.path("a.npy"), np.array([5, 7], np.float32))
        np.save(self.path("b=c.npy"), np.array([1, 2], np.float32))
        for b in ("a=b=", "1="):
            np.testing.assert_array_equal(self.outputs(model, "-i", f"a={self.path('a.npy')}", "-i", b + self.path("b=c.npy"))["y"], [4, 5])
        self.error("run", model, "-i", f"c={self.path('a.npy')}", says="no input 'c', expected 'a', 'a=b'")

    def test_archives_are_refused_by_their_headers(self):
        # 64 MB of zeros in 64 kB: the array's extents tell before it is unpacked.
        huge = self.path("huge.npz")
        for name, array, says in [("data", np.zeros((1, 3, 12, 12 << 16), np.float16), "input 'data' is 1x3x12x786432, expected 1x3x12x12"),
                                  ("other", np.zeros(1 << 24, np.float32), "has no input 'other', expected 'data'")]:
            np.savez_compressed(huge, **{name: array})
            with open(huge, "rb") as file:
                content = bytearray(file.read())
            content[len(content) // 2] ^= 255  # unpacked, it would be damaged
            with open(huge, "wb") as file:
                file.write(content)
            self.error("run", self.package, "-i", huge, says=says)


if __name__ == "__main__":
    main()
