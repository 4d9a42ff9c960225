"""The command line's contract: help, exit codes, one-line errors, figures with units, packages that can be trusted.

Usage: cli_test.py PATH/TO/lathe
"""
import csv
import io
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

LATHE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "lathe"
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lab", "runners", "onnxruntime", "node_modules")

# A small network with everything that has a road of its own: convolution with bias and relu, a residual, pooling, a view, gemm, softmax.
NETWORK = """
func.func @main(%data: tensor<1x3x12x12xf32> {nn.name = "data"}) -> (tensor<1x5xf32> {nn.name = "prob"}) {
  %w1 = nn.constant {value = dense<WEIGHTS1> : tensor<8x3x3x3xf32>} : tensor<8x3x3x3xf32>
  %b1 = nn.constant {value = dense<[0.1, -0.2, 0.3, 0.0, 0.5, -0.1, 0.2, 0.4]> : tensor<8xf32>} : tensor<8xf32>
  %w2 = nn.constant {value = dense<WEIGHTS2> : tensor<8x8x3x3xf32>} : tensor<8x8x3x3xf32>
  %fc = nn.constant {value = dense<WEIGHTS3> : tensor<5x8xf32>} : tensor<5x8xf32>
  %0 = nn.conv %data, %w1, %b1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x3x12x12xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<1x8x12x12xf32> loc("conv1")
  %1 = nn.relu %0 : (tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32> loc("relu1")
  %2 = nn.conv %1, %w2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x8x12x12xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x12x12xf32> loc("conv2")
  %3 = nn.add %2, %1 : (tensor<1x8x12x12xf32>, tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32> loc("add2")
  %4 = nn.relu %3 : (tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32> loc("relu2")
  %5 = nn.reduce_mean %4 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x8x12x12xf32>) -> tensor<1x8x1x1xf32> loc("pool")
  %6 = nn.reshape %5 {shape = array<i64: 1, 8>} : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32> loc("flatten")
  %7 = nn.gemm %6, %fc {trans_b = true} : (tensor<1x8xf32>, tensor<5x8xf32>) -> tensor<1x5xf32> loc("fc")
  %8 = nn.softmax %7 {axis = -1 : i64} : (tensor<1x5xf32>) -> tensor<1x5xf32> loc("prob")
  return %8 : tensor<1x5xf32>
}
"""


def network(seed=1):
    rng = np.random.default_rng(seed)

    def text(*shape):
        scale = 1 / np.sqrt(np.prod(shape[1:]))
        return '"0x' + (rng.standard_normal(shape) * scale).astype("<f4").tobytes().hex().upper() + '"'

    return (NETWORK.replace("WEIGHTS1", text(8, 3, 3, 3)).replace("WEIGHTS2", text(8, 8, 3, 3))
            .replace("WEIGHTS3", text(5, 8)))


# The least of protobuf needed to write broken ONNX files.
def field(number, value):
    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_model(*nodes, opset=13):
    shape = field(2, field(1, field(1, 1)) + field(1, field(1, 4)))
    tensor = lambda name: field(1, name) + field(2, field(1, field(1, 1) + shape))
    graph = b"".join(field(1, node) for node in nodes) + field(2, "g") + field(11, tensor("x")) + field(12, tensor("y"))
    return field(1, 8) + field(8, field(2, opset)) + field(7, graph)


def onnx_node(op, inputs, outputs, name=""):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name) + field(4, op))


class Cli(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = lambda self, name: os.path.join(cls.folder.name, name)
        os.environ["XDG_CACHE_HOME"] = os.path.join(cls.folder.name, "cache")
        os.environ["XDG_DATA_HOME"] = os.path.join(cls.folder.name, "data")
        with open(os.path.join(cls.folder.name, "net.mlir"), "w") as file:
            file.write(network())
        cls.net = os.path.join(cls.folder.name, "net.mlir")
        cls.package = os.path.join(cls.folder.name, "net.lathe")
        done = subprocess.run([LATHE, "compile", cls.net, "-o", cls.package], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def lathe(self, *arguments, code=0):
        done = subprocess.run([LATHE, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"lathe {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}")
        return done

    def error(self, *arguments, says=""):
        """A user error: exit code 2 and one line that says what is wrong."""
        done = self.lathe(*arguments, code=2)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, says)
        return done.stderr

    def figures(self, *arguments, code=0):
        path = self.path("figures.json")
        self.lathe(*arguments, "--json", path, code=code)
        with open(path) as file:
            return json.load(file)

    def outputs(self, *arguments):
        path = self.path("outputs.npz")
        self.lathe("run", *arguments, "-o", path)
        return dict(np.load(path))

    # ---- Memory and caches

    def test_memory_small_forbids_what_grows_the_weights(self):
        schedule = self.path("winograd.txt")
        with open(schedule, "w") as file:
            file.write("conv2: winograd/1 m=2\n")
        out = self.path("small.lathe")
        self.lathe("compile", self.net, "-o", out, "--schedule", schedule)
        self.error("compile", self.net, "-o", out, "--schedule", schedule, "--memory", "small",
                   says="conv2.*winograd/1 m=2.*--memory small forbids")
        self.lathe("compile", self.net, "-o", out, "--memory", "small")
        self.assertNotIn("winograd", self.lathe("profile", out, "--no-check", "--wide", "--repetitions", "1").stdout)
        report = self.figures("run", out, "--fill", "random")
        memory = report["memory"]
        self.assertGreater(report["peak_rss_bytes"], memory["constant_bytes"] + memory["live_bytes"])
        self.assertLessEqual(memory["live_bytes"], memory["arena_bytes"])

    def test_kernels_are_kept_for_all_models(self):
        other = self.path("other.mlir")
        with open(other, "w") as file:
            file.write(network(seed=2))
        out = self.path("other.lathe")
        self.lathe("compile", self.net, "-o", out)
        report = self.figures("compile", other, "-o", out)  # other weights, the same kernels
        self.assertGreater(report["distinct_kernels"], 2)
        self.assertEqual(report["cached_kernels"], report["distinct_kernels"])
        with open(out, "rb") as file:
            cached = file.read()
        self.assertEqual(self.figures("compile", other, "-o", out, "--no-cache")["cached_kernels"], 0)
        with open(out, "rb") as file:
            self.assertEqual(file.read(), cached)

    # ---- Help and usage

    def test_help_of_every_verb_has_examples(self):
        verbs = re.findall(r"^  ([a-z]+) {2,}", self.lathe("--help").stdout, re.M)
        for verb in ["check", "inspect", "compile", "run", "bench", "profile", "verify", "extract", "segments", "compare", "ops", "store", "machine", "zoo"]:
            self.assertIn(verb, verbs)
            text = self.lathe(verb, "--help").stdout
            self.assertIn("Examples:", text)
            self.assertIn(f"lathe {verb}", text)
            self.assertIn("Exit code", text)

    def test_version(self):
        self.assertRegex(self.lathe("--version").stdout, r"^lathe \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_one_line_and_code_2(self):
        self.error("frobnicate", says="no verb is called 'frobnicate'")
        self.error("run", says="MODEL")
        self.error("inspect", self.net, "--colour", says="--colour")
        self.error("compile", self.net, says="-o")
        self.error("compile", self.net, "-O", "7", "-o", self.path("x.lathe"), says="7")
        self.error("bench", self.package, "--repetitions", "many", says="many")
        self.lathe(code=2)

    # ---- Bad input

    def test_models_that_are_none(self):
        self.error("inspect", self.path("absent.onnx"), says="absent.onnx.*No such file")
        self.error("inspect", self.folder.name, says="directory")
        for name, content in [("empty.onnx", b""), ("noise.onnx", bytes(range(256)) * 8), ("text.mlir", b"func.func @main( {")]:
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.error("inspect", self.path(name), says=name)
            self.error("run", self.path(name), "--fill", "ones", says=name)
        self.error("inspect", "zoo:nonsense", says="nonsense")

    def test_unsupported_nodes_are_listed_all_at_once(self):
        path = self.path("unsupported.onnx")
        with open(path, "wb") as file:
            file.write(onnx_model(onnx_node("Frobnicate", ["x"], ["a"], "first"), onnx_node("Relu", ["a"], ["b"], "good"),
                                  onnx_node("Twiddle", ["b"], ["y"], "second")))
        report = self.figures("check", path, code=1)
        self.assertEqual([issue["node"] for issue in report["unsupported"]], ["first", "second"])
        self.assertEqual(report["unsupported"][0]["op"], "Frobnicate")
        self.error("compile", path, "-o", self.path("u.lathe"), says="first")

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

    def test_outputs_that_cannot_be_written(self):
        self.error("compile", self.net, "-o", self.path("no/such/folder/x.lathe"), says="cannot write")
        self.error("compile", self.net, "-o", self.folder.name, says="cannot write.*directory")
        self.error("inspect", self.net, "--json", self.path("no/such/x.json"), says="cannot write")
        self.error("run", self.package, "--fill", "ones", "-o", self.path("no/such/x.npz"), says="x.npz")

    # ---- What it computes

    def test_run_agrees_with_the_reference(self):
        for level in "01234":
            compiled = self.outputs(self.net, "-O", level, "--fill", "random", "--seed", "5")["prob"]
            reference = self.outputs(self.net, "--reference", "--fill", "random", "--seed", "5")["prob"]
            self.assertEqual(compiled.shape, (1, 5))
            np.testing.assert_allclose(compiled, reference, rtol=1e-4, atol=1e-6)

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
        self.lathe("run", self.package, "--fill", "ones", "-o", self.path("folder"))
        self.assertEqual(np.load(self.path("folder/prob.npy")).shape, (1, 5))

    def test_a_model_is_compiled_once(self):
        packages = os.path.join(os.environ["XDG_CACHE_HOME"], "lathe", "packages")
        self.outputs(self.net, "--fill", "ones")
        before = {name: os.stat(os.path.join(packages, name)).st_mtime_ns for name in os.listdir(packages)}
        self.outputs(self.net, "--fill", "random")
        after = {name: os.stat(os.path.join(packages, name)).st_mtime_ns for name in os.listdir(packages)}
        self.assertEqual(before, after)

    def test_levels_can_be_read_and_compiled_again(self):
        expected = self.outputs(self.net, "--fill", "random")["prob"]
        for level in ["graph", "kernels"]:
            text = self.path(f"{level}.mlir")
            self.lathe("compile", self.net, "--emit", level, "-o", text)
            np.testing.assert_allclose(self.outputs(text, "--fill", "random")["prob"], expected, rtol=1e-6)
        for level, word in [("loops", "scf.for"), ("llvm", "define"), ("asm", "ret")]:
            self.assertIn(word, self.lathe("compile", self.net, "--emit", level).stdout)

    def test_verify_passes_and_remembers(self):
        report = self.figures("verify", self.net)
        self.assertTrue(report["passed"])
        self.assertLess(report["relative_error"], 1e-5)
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

    # ---- extract

    def test_a_part_computes_what_the_whole_computes(self):
        cut = self.path("part.onnx")
        for title, arguments, inputs, outputs in [("segment", ["--from", "conv2", "--to", "relu2"], ["relu1"], ["relu2"]),
                                                  ("operator", ["--node", "add2"], ["conv2", "relu1"], ["add2"]),
                                                  ("head", ["--to", "relu1"], ["data"], ["relu1"]),
                                                  ("tail", ["--from", "pool"], ["relu2"], ["prob"])]:
            with self.subTest(title):
                figures = self.figures("extract", self.net, *arguments, "-o", cut, "--inputs", "--seed", "7")
                self.assertEqual(sorted(port["name"] for port in figures["inputs"]), sorted(inputs))
                self.assertEqual([port["name"] for port in figures["outputs"]], outputs)
                computed = self.outputs(cut, "-i", figures["inputs_folder"])[outputs[0]]
                expected = np.load(os.path.join(figures["expected_folder"], outputs[0] + ".npy"))
                np.testing.assert_allclose(computed, expected, rtol=1e-5, atol=1e-6)
                if os.path.isdir(PEER):
                    self.lathe("compare", cut, "-i", figures["inputs_folder"], "--max-rounds", "1")
                else:
                    print("ONNX RUNTIME IS NOT INSTALLED (make peers): cuts are not loaded by it")

    # ---- segments

    def test_a_network_piece_by_piece(self):
        listed = self.lathe("segments", self.net, "--list").stdout
        self.assertIn("one tensor passes", listed)
        self.assertIn("relu1", listed)
        self.error("segments", self.net, "--with", "reference", says="expected onnxruntime")
        if not os.path.isdir(PEER):
            print("ONNX RUNTIME IS NOT INSTALLED (make peers): segments are not measured")
            return
        figures = self.figures("segments", self.net, "--at", "relu1,relu2", "--repeat", "3")
        self.assertEqual([(part["from"], part["to"]) for part in figures["cumulative"]], [("", "relu1"), ("", "relu2"), ("", "")])
        self.assertEqual([(part["from"], part["to"]) for part in figures["blocks"]], [("", "relu1"), ("relu1", "relu2"), ("relu2", "")])
        for part in figures["cumulative"] + figures["blocks"]:
            self.assertTrue(part["peers"][0]["agrees"], part)
            self.assertEqual(len(part["sides"][0]["rounds_ns"]), 3)
        self.assertEqual([part["operators"] for part in figures["blocks"]],
                         [figures["blocks"][0]["operators"]] + [part["operators"] - before["operators"] for part, before in zip(figures["cumulative"][1:], figures["cumulative"])])
        self.error("segments", self.net, "--at", "relu7", says="relu7")
        experiment = [e for e in self.figures("store", "list", "--kind", "segments")["experiments"] if e["points"]][-1]
        points = self.figures("store", "show", experiment["uuid"])["points"]
        self.assertEqual(len(points), 2 * 5)  # the first block is the first part
        self.assertEqual({point["operator"] for point in points}, {"segment"})
        self.assertTrue(any(point["problem"].endswith("data 1x3x12x12 from relu1 to relu2") for point in points), points)

    # ---- ops

    def test_operators_of_a_model(self):
        csv = self.path("problems.csv")
        figures = self.figures("ops", "problems", self.net, "--csv", csv)
        self.assertEqual(sum(entry["count"] for entry in figures["problems"] if entry["kind"] == "conv"), 2)
        self.assertEqual([entry["text"].split(" +", 1)[1] for entry in figures["problems"] if entry["kind"] == "conv"], ["relu", "add +relu"])
        self.assertEqual([entry["nodes"] for entry in figures["problems"] if entry["kind"] == "conv"], [["conv1"], ["conv2"]])
        self.assertEqual(figures["besides"], {})
        listed = self.lathe("ops", "bench", "conv", "--problems", csv, "--suite", self.net, "--list").stdout
        self.assertIn("conv x=", listed)
        planned = self.lathe("ops", "bench", "--from-model", self.net, "--provider", "lathe", "--threads", "1,2", "--cache", "hot,cold", "--dry-run").stdout
        self.assertIn("x 4 settings", planned)
        figures = self.figures("ops", "bench", "--from-model", self.net, "--provider", "lathe", "--check-only")
        self.assertEqual({point["status"] for row in figures["rows"] for point in row["points"]}, {"passed"})
        self.error("ops", "bench", says="expected an operator")
        self.error("ops", "bench", "softmax", "3xx4", "--list", says="no extents")
        self.error("ops", "bench", "conv2d", "ic8ih8oc8", "--cache", "warm", "--provider", "lathe", says="--cache: no state of caches is called 'warm', expected hot, cold, cold-constants")
        self.error("ops", "bench", "eltwise", "3x4:relu", "--batch", "2", "--provider", "lathe", says="has no batch")

    def test_a_cut_that_cannot_be(self):
        cut = self.path("none.onnx")
        self.error("extract", self.net, "-o", cut, says="nothing to cut")
        self.error("extract", self.net, "-o", cut, "--to", "conv22", says="--to conv22: has no node or tensor of that name; the nearest is 'conv2'")
        self.error("extract", self.net, "-o", cut, "--from", "relu2", "--to", "conv1", says="--to conv1 does not depend on --from relu2")
        self.error("extract", self.net, "-o", cut, "--to", "relu1", "--inputs", "-i", "data=nowhere.npy", says="nowhere.npy")

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

    def test_schedules_from_a_file(self):
        path = self.path("schedule.txt")
        with open(path, "w") as file:
            file.write("nowhere: direct/1 px=3\n")
        self.error("compile", self.net, "-o", self.path("s.lathe"), "--schedule", path, says="schedule.txt: line 1.*nowhere")
        with open(path, "w") as file:
            file.write("this is no schedule\n")
        self.error("compile", self.net, "-o", self.path("s.lathe"), "--schedule", path, says="line 1")

    def test_running_a_package_does_without_the_compiler(self):
        # LLVM alone would be 75 MB.
        self.assertLess(self.figures("bench", self.package, "--repetitions", "3")["peak_rss_bytes"], 40e6)

    def test_a_package_for_another_processor_is_refused(self):
        package = self.path("foreign.lathe")
        self.lathe("compile", self.net, "-o", package, "--target", "aarch64-linux-gnu,cpu=cortex-a76")
        if os.uname().machine == "x86_64":
            self.error("run", package, "--fill", "ones", says="aarch64")

    def test_compiling_with_several_threads_gives_the_same_package(self):
        one, two = self.path("one.lathe"), self.path("two.lathe")
        self.lathe("compile", self.net, "-o", one, "--jobs", "1")
        self.lathe("compile", self.net, "-o", two, "--jobs", "2")
        np.testing.assert_array_equal(self.outputs(one, "--fill", "random")["prob"], self.outputs(two, "--fill", "random")["prob"])

    def test_references_only(self):
        report = self.figures("check", self.net, "--references-only")
        self.assertEqual(report["compiled_flops_share"], 0)
        self.assertGreater(len(report["references"]), 0)
        self.lathe("check", self.net, "--references-only", "--strict", code=1)

    # ---- What it measures

    UNITS = re.compile(r"(_ms|_s|_bytes|flops|_gb_s|ratio|_share|share|count|_error|_tolerance|index|threads|kernels|"
                       r"conversions|parameters|seed|batch|repetitions|opset|not_finite|min|max|mean|cores|shared_by|flops_per_run)$")

    def check_units(self, document, key="", place=""):
        if isinstance(document, dict):
            for name, value in document.items():
                self.check_units(value, name, f"{place}.{name}")
        elif isinstance(document, list):
            for value in document:
                self.check_units(value, key, place)
        elif isinstance(document, (int, float)) and not isinstance(document, bool):
            if key not in ("dims", "count"):
                self.assertRegex(key, self.UNITS, f"{place} has no unit in its key")

    def test_every_figure_has_a_unit(self):
        for arguments in [("inspect", self.net), ("check", self.net), ("compile", self.net, "-o", self.path("j.lathe")),
                          ("run", self.package, "--fill", "random"), ("verify", self.net),
                          ("bench", self.package, "--repetitions", "3")]:
            with self.subTest(arguments[0]):
                self.check_units(self.figures(*arguments))

    def test_json_on_standard_output_stands_alone(self):
        for arguments in [("inspect", self.net), ("bench", self.package, "--repetitions", "3")]:
            json.loads(self.lathe(*arguments, "--json", "-").stdout)

    def test_check_finds_everything_compiled(self):
        report = self.figures("check", self.net)
        self.assertEqual(report["references"], [])
        self.assertEqual(report["compiled_flops_share"], 1)

    def test_inspect_counts(self):
        report = self.figures("inspect", self.net)
        self.assertEqual(report["operators"]["conv"]["count"], 2)
        self.assertEqual(report["parameters"], 8 * 27 + 8 + 8 * 72 + 40)
        self.assertEqual(report["inputs"], [{"name": "data", "type": "f32", "dims": "1x3x12x12"}])

    def test_profile_rows_add_up(self):
        report = self.figures("profile", self.package)
        total = sum(row["time_ms"] for row in report["rows"]) + report["overhead_ms"]
        self.assertAlmostEqual(total, report["whole_ms"], delta=1e-6 * report["whole_ms"] + 1e-9)
        until = self.figures("profile", self.package, "--until", "relu1")
        self.assertLess(len(until["rows"]), len(report["rows"]))
        self.error("profile", self.package, "--until", "nowhere", says="nowhere")

    def test_profile_wants_an_answer_first(self):
        report = self.figures("profile", self.net)
        self.assertTrue(report["verified"], report["verification"])
        self.assertGreater(report["peak_gflops"], 0)
        other, package = self.path("other.mlir"), self.path("other.lathe")
        with open(other, "w") as file:
            file.write(network().replace("nn.relu", "nn.sigmoid"))
        self.lathe("compile", other, "-o", package)
        self.lathe("verify", self.net, "--package", package, "--seeds", "1", code=1)
        self.assertIn("not profiled", self.lathe("profile", package, code=1).stderr)
        self.assertFalse(self.figures("profile", package, "--no-check")["verified"])

    def test_single_operators_go_on_where_they_were(self):
        log = self.path("rows.jsonl")
        small = ["ops", "bench", "conv2d", "ic16ih9oc24kh3ph1", "ic8ih7oc8kh1", "--provider", "lathe,lathe:plain", "--max-seconds", "0.05", "--log", log]
        first = self.figures(*small, "--max-minutes", "0.000001")
        self.assertGreater(first["left"], 0)
        whole = self.figures(*small)
        self.assertEqual((len(whole["rows"]), whole["left"]), (2, 0))
        for row in whole["rows"]:
            self.assertEqual({point["status"] for point in row["points"]}, {"passed"}, row["points"])
            self.assertLess(row["points"][0]["relative_l2"], 2e-5)
            self.assertGreater(row["points"][0]["time"]["median_ms"], 0)
            self.assertIn(row["text"], row["repro"])
        with open(log, "a") as file:
            file.write('{"cut')  # as a kill leaves it
        self.assertEqual(self.figures(*small)["rows"], whole["rows"])
        with open(log, "w") as file:
            file.write('{"somebody": "else"}\n')
        self.error(*small, says="no row of lathe ops bench")
        self.error("ops", "bench", "conv2d", "ic8", says="'ih' is missing")
        self.error("ops", "bench", "conv2d", "ic8ih7oc8kh1", "--provider", "mkl", says="unknown provider 'mkl'")
        self.error("ops", "bench", "conv2d", "ic8ih7oc8kh1", "--provider", "lathe:fast", says="no variant 'fast'")
        self.error("ops", "bench", "conv2d", "ic8ih7oc8kh1", "--threads", "0", says="'0' is no number from 1")
        self.error("ops", "bench", "conv2d", "--suite", "benchdnn/resnet50", "--problems", "/nowhere.csv", says="/nowhere.csv")
        self.error("ops", "bench", "conv2d", says="--suite")
        self.error("ops", "measure", says="lathe ops bench, problems, analyze or diff, got 'measure'")

    def test_killed_again_and_again(self):
        store = self.path("killed.db")
        command = ["ops", "bench", "eltwise", "{1..40}x64:relu", "--provider", "lathe:auto,lathe:plain", "--repetitions", "3", "--starts", "1", "--max-seconds", "0.01", "--store", store]
        delays = random.Random(5)
        for _ in range(20):
            running = subprocess.Popen([LATHE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(delays.uniform(0.05, 1.0))
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        said = self.lathe(*command).stdout
        self.assertRegex(said, "going on with an experiment|40 rows, 40 measured now")
        listed = self.figures("store", "list", "--store", store)
        self.assertEqual({experiment["points"] for experiment in listed["experiments"]}, {80}, "points were lost or doubled")
        before = len(listed["experiments"])
        # It came to its end: the same command is a new experiment.
        self.lathe(*command)
        listed = self.figures("store", "list", "--store", store)
        self.assertEqual([experiment["points"] for experiment in listed["experiments"]], [80] * (before + 1))

    def test_two_live_runs_are_two_experiments(self):
        store = self.path("live.db")
        command = ["ops", "bench", "eltwise", "{1..8}x64:relu", "--provider", "lathe:auto", "--repetitions", "3", "--starts", "1", "--max-seconds", "0.1", "--store", store]
        first = subprocess.Popen([LATHE, *command], stdout=subprocess.PIPE, text=True)
        first.stdout.readline()  # its first row is there
        os.kill(first.pid, signal.SIGSTOP)
        self.assertIn(f"(measured by process {first.pid})", self.lathe("store", "list", "--store", store).stdout)
        second = self.lathe(*command)
        self.assertRegex(second.stdout, f"process {first.pid} on .* is measuring the same: this is an experiment of its own")
        os.kill(first.pid, signal.SIGCONT)
        self.assertIn("8 rows, 8 measured now", first.communicate()[0])
        listed = self.figures("store", "list", "--store", store)["experiments"]
        self.assertEqual([e["points"] for e in listed], [8, 8])
        self.assertTrue(all(e["finished"] for e in listed))
        # Killed, it is gone on with.
        third = subprocess.Popen([LATHE, *command], stdout=subprocess.PIPE, text=True)
        third.stdout.readline()
        os.kill(third.pid, signal.SIGSTOP)
        os.kill(third.pid, signal.SIGKILL)
        third.communicate()
        self.assertIn("going on with an experiment that was interrupted", self.lathe(*command).stdout)
        self.assertEqual([e["points"] for e in self.figures("store", "list", "--store", store)["experiments"]], [8, 8, 8])

    def test_schedules_and_their_records(self):
        at = ["--store", self.path("tuned.db")]
        conv, quick = "ic32ih12oc32kh3ph1", ["--max-seconds", "0.05", "--starts", "1"]
        bench = ["ops", "bench", "conv2d", conv, "--provider", "lathe,lathe:plain,reference", *quick, *at]
        none = self.figures(*bench, "--schedule", "records")["rows"][0]["points"]
        self.assertEqual([p["status"] for p in none], ["unimplemented", "unimplemented", "passed"])
        self.assertIn("no tuning record of the task task/1 | conv ", none[0]["reason"])
        literal = "direct/1 oc=1 px=2"
        measured = self.figures(*bench, "--schedule", "default,direct/1 px=2 oc=1")["rows"][0]
        points = {(p["variant"], p.get("schedule", "")): p for p in measured["points"] if p["provider"] == "lathe"}
        self.assertEqual(set(points), {(v, s) for v in ["auto", "plain"] for s in ["", literal]})
        for (_, schedule), point in points.items():
            self.assertEqual(point["status"], "passed", point)
            self.assertTrue(not schedule or "oc=1" in point["implementation"] and "px=2" in point["implementation"])
        records = self.figures("store", "tuning", *at)["records"]
        self.assertEqual(len(records), 4)
        times = {(r["task"], r["schedule"]): r["seconds"] for r in records}
        for point in points.values():
            self.assertAlmostEqual(times[point["task"], point["schedule_run"]] * 1e3, point["time"]["median_ms"], delta=1e-9)
        best = self.figures("store", "tuning", "--best", *at)["records"]
        fastest = [min(points[v, s]["time"]["median_ms"] for s in ["", literal]) / 1e3 for v in ["auto", "plain"]]
        np.testing.assert_allclose(sorted(r["seconds"] for r in best), sorted(fastest))
        self.assertIn("task/1 | conv ", self.lathe("store", "tuning", "--task", "| conv ", *at).stdout)
        self.assertEqual(self.figures("store", "tuning", "--task", "gemm", *at)["records"], [])
        # Read back, on this machine and where the archive goes.
        other = ["--store", self.path("tuned-elsewhere.db")]
        self.lathe("store", "export", self.path("tuned.jsonl"), *at)
        self.assertEqual(self.figures("store", "import", self.path("tuned.jsonl"), *other)["tuning"]["added"], 4)
        for store in [at, other]:
            row = self.figures("ops", "bench", "conv2d", conv, "--provider", "lathe", "--schedule", "records", *quick, *store)["rows"][0]
            wanted = [r["schedule"] for r in best if r["task"] == row["points"][0]["task"]]
            self.assertEqual([p["schedule_run"] for p in row["points"]], wanted)
            self.assertEqual(row["points"][0]["status"], "passed")
        gains = self.figures("ops", "analyze", "--what", "schedules", *at)["schedules"]
        for gain in gains["points"]:
            if gain["variant"] == "plain":
                self.assertAlmostEqual(gain["default_median_ms"], points["plain", ""]["time"]["median_ms"], delta=1e-6)
                self.assertAlmostEqual(gain["median_ms"], min(points["plain", s]["time"]["median_ms"] for s in ["", literal]), delta=1e-6)
        self.assertEqual({s["column"] for s in gains["summaries"]}, {"lathe:auto", "lathe:plain"})
        self.assertIn("Best schedule over the default", self.lathe("ops", "analyze", "--what", "schedules", *at).stdout)
        illegal = self.lathe("ops", "bench", "conv2d", conv, "--provider", "lathe", "--schedule", "direct/1 kc=5", *quick, *at)
        self.assertIn("lathe:auto:direct/1 kc=5 unimplemented", illegal.stdout)
        self.error(*bench, "--schedule", "direct px=2", says="--schedule: schedule 'direct px=2': expected 'algorithm/version'.*or default, or records")
        self.error("ops", "bench", "conv2d", conv, "--schedule", "records", "--no-store", says="--schedule records reads the store")

    def test_layouts_are_told_apart(self):
        at = ["--store", self.path("layouts.db")]
        command = ["ops", "bench", "conv2d", "ic16ih9oc16kh3ph1", "--provider", "lathe,reference", "--max-seconds", "0.05", "--starts", "1"]
        done = self.figures(*command, "--layout", "any,row,blocked,channels_last", *at)
        status = {(row["layout"], p["provider"]): p["status"] for row in done["rows"] for p in row["points"]}
        self.assertEqual({k for k, v in status.items() if v != "passed"}, {("channels_last", "lathe"), ("blocked", "reference"), ("channels_last", "reference")})
        self.assertEqual({s["layout"] for s in done["summaries"]}, {"any", "row"})
        kept = self.figures("store", "show", *at)["points"]
        self.assertEqual(len(kept), 8)
        self.assertEqual({p["setting"]["layout"] for p in kept}, {"", "row", "blocked", "channels_last"})
        self.assertRegex(self.lathe("store", "show", *at).stdout, "1 thread, blocked +passed")
        # A log and an experiment gone on with know which layouts are missing.
        log = self.path("layouts.jsonl")
        self.lathe(*command, "--layout", "row", "--log", log, "--no-store")
        self.assertIn("2 rows, 1 measured now", self.lathe(*command, "--layout", "row,blocked", "--log", log, "--no-store").stdout)
        begun = subprocess.Popen([LATHE, *command[:4], "ic8ih40oc64kh3", *command[4:], "--layout", "row", *at], stdout=subprocess.PIPE, text=True)
        begun.stdout.readline()
        os.kill(begun.pid, signal.SIGKILL)
        begun.communicate()
        again = self.lathe(*command, "--layout", "blocked", *at).stdout
        self.assertIn("going on with an experiment that was interrupted", again)
        self.assertIn("1 rows, 1 measured now", again)
        self.error(*command, "--layout", "nhwc", "--no-store", says="--layout: no layout is called 'nhwc', expected any, row, blocked, channels_last")

    def pretend(self, cpu):
        """A command for --via: a shell beyond which the machine says that it has another processor."""
        script = self.path(cpu.replace(" ", "-") + ".sh")
        with open(script, "w") as file:
            file.write("#!/bin/sh\n" + r"""exec "$@" | sed -u 's/"cpu":"[^"]*"/"cpu":"%s"/'""" % cpu + "\n")
        os.chmod(script, 0o755)
        return script

    def test_the_platform_is_that_of_the_other_end(self):
        at = ["--store", self.path("far.db")]
        bench = ["ops", "bench", "eltwise", "3x64:relu", "--provider", "lathe", "--check-only", *at]
        platform = lambda: self.figures("store", "show", *at)["platform"]
        self.lathe(*bench)
        here = platform()
        ways = ["sh -c", "env"]
        if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0:
            ways.append("unshare -rn")  # a namespace with no network at all
        else:
            print("without a network namespace: unshare -rn is not permitted")
        for way in ways:
            self.lathe(*bench, "--via", way)
            self.assertEqual(platform(), here, way)
        self.lathe(*bench, "--via", self.pretend("Pretended 9000"))
        self.assertEqual(platform(), {**here, "cpu": "Pretended 9000"})
        listed = self.figures("store", "list", *at)
        self.assertEqual([e["cpu"] for e in listed["experiments"]], [here["cpu"]] * (1 + len(ways)) + ["Pretended 9000"])
        self.assertEqual(listed["counts"]["platforms"], 2)
        # A provider that does not tell.
        silent = self.path("silent.sh")
        with open(silent, "w") as file:
            file.write("#!/bin/sh\n" + r"""exec "$@" | sed -u 's/"platform":/"nothing":/'""" + "\n")
        os.chmod(silent, 0o755)
        self.lathe(*bench, "--via", silent)
        self.assertEqual(platform()["cpu"], "unknown, via " + silent)
        broken = self.path("broken.sh")
        with open(broken, "w") as file:
            file.write("#!/bin/sh\n" + r"""exec "$@" | sed -u 's/"cores":/"kernels":/'""" + "\n")
        os.chmod(broken, 0o755)
        self.error(*bench, "--via", broken, says="the provider's platform: .*cores")

    def test_exports_of_two_machines_add_up(self):
        stores = [self.path("laptop.db"), self.path("server.db")]
        bench = ["ops", "bench", "eltwise", "{2..4}x64:relu", "--provider", "lathe", "--max-seconds", "0.02", "--starts", "1"]
        self.lathe(*bench, "--store", stores[0])
        self.lathe(*bench, "--store", stores[1], "--via", self.pretend("Pretended 7000"))
        self.lathe("bench", self.package, "--repetitions", "4", "--store", stores[1])
        archives = [store + ".jsonl.gz" for store in stores]
        for store, archive in zip(stores, archives):
            self.lathe("store", "export", archive, "--store", store)
        single = [self.figures("store", "list", "--store", store)["counts"] for store in stores]
        self.assertEqual([c["platforms"] for c in single], [1, 2])  # the server's bench was of this machine
        self.assertTrue(all(c["tuning"] == 3 for c in single), single)
        both = self.path("both.db")
        merged = self.figures("store", "merge", both, *archives)
        added = {key: single[0][key] + single[1][key] for key in single[0]}
        added["platforms"] -= 1  # which both know
        self.assertEqual(merged["counts"], added)
        self.assertEqual(merged["samples"], added["samples"])
        again = self.figures("store", "merge", both, *reversed(archives), stores[0])
        self.assertEqual(again["counts"], added)
        self.assertEqual([again[kind][how] for kind in ["platforms", "experiments", "points", "tuning"] for how in ["added", "replaced"]], [0] * 8)
        # The same from the other side, and exported again: to the byte.
        other = self.path("other.db")
        self.lathe("store", "merge", other, *reversed(archives))
        exported = [self.lathe("store", "export", "-", "--store", store).stdout for store in [both, other]]
        self.assertEqual(*exported)

    # ---- store

    def test_a_store_that_is_not_there(self):
        nowhere = self.path("nowhere.db")
        for verb in [["list"], ["show"], ["export", self.path("x.jsonl")]]:
            self.error("store", *verb, "--store", nowhere, says="nowhere.db: does not exist")
        self.assertFalse(os.path.exists(nowhere))
        self.error("store", says="lathe store VERB")
        self.error("store", "frobnicate", says="one of path, list, .*got 'frobnicate'")
        self.assertEqual(self.lathe("store", "path").stdout, os.path.join(os.environ["XDG_DATA_HOME"], "lathe", "lathe.db") + "\n")

    def test_what_is_measured_is_kept(self):
        store = self.path("kept.db")
        at = ["--store", store]
        self.lathe("verify", self.net)
        self.lathe("bench", self.net, "--repetitions", "5", *at)
        self.lathe("profile", self.net, "--repetitions", "3", *at)
        self.lathe("ops", "bench", "conv2d", "ic16ih9oc24kh3ph1", "ic8ih7oc8kh1", "--provider", "lathe,lathe:plain", "--max-seconds", "0.05", *at)
        self.lathe("compare", self.net, "--with", "reference", "--max-rounds", "3", "--max-seconds", "1", *at)
        kept = self.figures("store", "list", *at)
        self.assertEqual([(e["kind"], e["points"] == e["passed"]) for e in kept["experiments"]],
                         [("bench", True), ("profile", True), ("ops", True), ("compare", True)])
        self.assertEqual(kept["counts"]["platforms"], 1)
        self.assertTrue(all(e["finished"] and e["build"] for e in kept["experiments"]))
        bench, profile, ops, compare = (self.figures("store", "show", e["uuid"][:8], *at)["points"] for e in kept["experiments"])
        self.assertEqual([(p["operator"], p["provider"], p["time"]["count"]) for p in bench], [("model", "lathe", 5)])
        self.assertRegex(bench[0]["problem"], r"^net\.mlir@[0-9a-f]{16} data 1x3x12x12$")
        self.assertIn(f"lathe bench {self.net} --repetitions 5", bench[0]["repro"])
        self.assertEqual(profile[0]["problem"], bench[0]["problem"])
        self.assertEqual(compare[0]["problem"], bench[0]["problem"])
        self.assertIn("direct/1", " ".join(p["setting"]["schedule"] for p in profile[1:]))
        self.assertEqual({p["operator"] for p in profile[1:]}, {"kernel"})
        self.assertEqual(sorted((p["problem"], p["variant"]) for p in ops), sorted((p, v) for p in {p["problem"] for p in ops} for v in ["auto", "plain"]))
        self.assertEqual(len(ops), 4)
        for point in ops:
            self.assertLess(point["relative_l2"], 2e-5)
            self.assertIn("ops bench conv2d", point["repro"])
            self.assertGreater(point["time"]["count"], 2)
        self.assertEqual([p["provider"] for p in compare], ["lathe", "reference"])
        # Wrong outputs have no time; outputs nobody judged are mistrusted.
        other, package = self.path("unjudged.mlir"), self.path("unjudged.lathe")
        with open(other, "w") as file:
            file.write(network(seed=9))
        self.lathe("compile", other, "-o", package)
        self.lathe("bench", package, "--repetitions", "3", *at)
        point = self.figures("store", "show", *at)["points"][0]
        self.assertEqual((point["status"], point["time"]["count"]), ("mistrusted", 3))
        self.assertIn("unverified", point["reason"])

    def test_what_is_not_kept(self):
        none = self.path("none.db")
        self.assertNotIn("kept in", self.lathe("bench", self.package, "--repetitions", "3", "--no-store").stdout)
        self.error("bench", self.package, "--store", none, "--no-store", says="no-store.*excludes|excludes.*store")
        self.error("bench", self.path("absent.onnx"), "--store", none, says="absent.onnx")
        self.assertEqual(self.figures("store", "list", "--store", none)["counts"]["experiments"], 0)
        folder = self.path("a-file")
        with open(folder, "w") as file:
            file.write("no folder")
        self.error("bench", self.package, "--store", os.path.join(folder, "x.db"), says="a-file/x.db: .*--no-store measures without keeping")
        with open(self.path("text.db"), "w") as file:
            file.write("no database, but a text that is long enough to be taken for one " * 20)
        self.error("bench", self.package, "--store", self.path("text.db"), says="text.db: file is not a database")
        self.error("store", "list", "--store", self.path("text.db"), says="text.db: file is not a database")

    def test_zoo_networks_are_told_apart_by_content(self):
        at = ["--store", self.path("zoo.db")]
        for seed in ["0", "1", "0"]:
            self.lathe("bench", "zoo:squeezenet", "--zoo-seed", seed, "--repetitions", "2", *at)
        kept = self.figures("store", "list", *at)["experiments"]
        texts = [self.figures("store", "show", e["uuid"], *at)["points"][0]["problem"] for e in kept]
        for text, seed in zip(texts, ["", " seed=1", ""]):
            self.assertRegex(text, "^zoo:squeezenet@[0-9a-f]{16}" + seed + " input 1x3x224x224$")
        hashes = [re.search("@([0-9a-f]+)", text)[1] for text in texts]
        self.assertEqual(hashes[0], hashes[2])
        self.assertNotEqual(hashes[0], hashes[1])
        self.assertEqual(self.figures("ops", "problems", "zoo:squeezenet")["source"], "zoo:squeezenet@" + hashes[0])

    def test_many_programs_measure_at_once(self):
        store = self.path("many.db")
        running = [subprocess.Popen([LATHE, "bench", self.package, "--repetitions", "3", "--store", store], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True) for _ in range(6)]
        for program in running:
            self.assertEqual(program.communicate()[1], "")
            self.assertEqual(program.returncode, 0)
        self.assertEqual(self.figures("store", "list", "--store", store)["counts"],
                         {"platforms": 1, "experiments": 6, "points": 6, "samples": 18, "tuning": 0})

    def test_archives_go_from_machine_to_machine(self):
        one, two, all_, archive = (self.path(name) for name in ["one.db", "two.db", "all.db", "one.jsonl.gz"])
        self.lathe("bench", self.package, "--repetitions", "4", "--store", one)
        self.lathe("bench", self.package, "--repetitions", "4", "--store", two)
        self.assertIn("1 experiments, 1 points, 4 samples", self.lathe("store", "export", archive, "--store", one).stdout)
        merged = self.figures("store", "merge", all_, archive, two)
        self.assertEqual((merged["points"]["added"], merged["samples"]), (2, 8))
        self.assertEqual(merged["counts"], {"platforms": 1, "experiments": 2, "points": 2, "samples": 8, "tuning": 0})
        again = self.figures("store", "import", archive, two, all_, "--store", all_)
        self.assertEqual((again["points"]["added"], again["points"]["known"], again["samples"]), (0, 4, 0))
        self.assertEqual(again["counts"], merged["counts"])
        with open(archive, "rb") as file:
            packed = file.read()
        with open(self.path("cut.jsonl.gz"), "wb") as file:
            file.write(packed[:len(packed) // 2])
        self.error("store", "merge", self.path("fresh.db"), two, self.path("cut.jsonl.gz"), says="cut.jsonl.gz: the compressed file is cut")
        self.assertEqual(self.figures("store", "list", "--store", self.path("fresh.db"))["counts"]["points"], 0)
        self.error("store", "merge", all_, self.net, says="net.mlir: is no archive")
        with open(self.path("plain.jsonl"), "w") as file:
            file.write(self.lathe("store", "export", "-", "--store", all_).stdout)
        self.assertEqual(self.figures("store", "import", self.path("plain.jsonl"), "--store", all_)["points"]["known"], 2)

    def test_other_programs_read_the_figures(self):
        store = ["--store", self.path("read.db")]
        self.lathe("ops", "bench", "conv2d", "ic16ih9oc24kh3ph1", "--provider", "lathe,lathe:plain", "--max-seconds", "0.05", *store)
        self.lathe("verify", self.net, "--seeds", "1")
        self.lathe("bench", self.net, "--repetitions", "5", *store)
        rows = list(csv.DictReader(io.StringIO(self.lathe("store", "export", "-", "--format", "csv", *store).stdout)))
        self.assertEqual([row["operator"] for row in rows], ["conv", "conv", "model"])
        samples = list(csv.DictReader(io.StringIO(self.lathe("store", "export", "-", "--format", "csv", "--samples", *store).stdout)))
        for row in rows:
            own = sorted(int(s["wall_ns"]) for s in samples if all(s[key] == row[key] for key in ["experiment", "problem", "provider", "variant"]))
            self.assertEqual(len(own), int(row["samples"]))
            self.assertAlmostEqual(float(row["median_ns"]), float(np.median(own)), delta=1e-3)
            self.assertEqual(float(row["min_ns"]), own[0])
        self.assertTrue(all(sample["cpu_ns"] for sample in samples))
        for row in rows:
            self.assertEqual(row["cycles"] != "", row["frequency_khz"] != "")
        self.lathe("store", "export", self.path("gb.json"), "--format", "benchmark-json", *store)
        with open(self.path("gb.json")) as file:
            document = json.load(file)
        self.assertGreaterEqual(document["context"]["num_cpus"], 1)
        for entry in document["benchmarks"]:
            self.assertEqual((entry["run_type"], entry["time_unit"]), ("iteration", "ns"))
            self.assertGreater(entry["real_time"], 0)
            self.assertGreater(entry["cpu_time"], 0)
            if not any(row["cycles"] for row in rows):
                self.assertNotIn("CYCLES", entry)
        counted = self.figures("ops", "analyze", "--what", "counters", *store)["counters"]
        self.assertEqual(len(counted), sum(1 for row in rows if row["status"] == "passed"))
        self.assertTrue(all(figures["processors"] > 0 for figures in counted))
        self.assertEqual(sum(entry["iterations"] for entry in document["benchmarks"]), len(samples))
        only = list(csv.DictReader(io.StringIO(self.lathe("store", "export", "-", "--format", "csv", "--kind", "bench", *store).stdout)))
        self.assertEqual([row["operator"] for row in only], ["model"])
        self.error("store", "export", "-", "--format", "xml", *store, says="xml")
        self.error("store", "export", "-", "--samples", *store, says="--samples: only --format csv")
        self.error("store", "export", "-", "--kind", "nonsense", *store, says="no kind of experiment is called 'nonsense', expected ops, bench")
        self.error("store", "export", "-", "--experiment", "zz", *store, says="begins with 'zz'")

    def test_measurements_are_analysed(self):
        at = ["--store", self.path("analysed.db")]
        self.error("ops", "analyze", *at, says="analysed.db: does not exist")
        sizes = ["ic8ih7oc8kh1", "ic8ih7oc16kh1", "ic8ih7oc32kh1"]
        results = [self.path("first.json"), self.path("second.json")]
        for result in results:
            self.lathe("ops", "bench", "conv2d", *sizes, "--provider", "lathe,lathe:plain", "--max-seconds", "0.05", "--json", result, *at)
        self.lathe("verify", self.net)
        self.lathe("bench", self.net, "--repetitions", "5", *at)
        self.lathe("ops", "bench", "--from-model", self.net, "--provider", "lathe", "--max-seconds", "0.05", *at)
        kept = self.figures("store", "list", *at)["experiments"]
        points = [self.figures("store", "show", e["uuid"], *at)["points"] for e in kept]

        found = self.figures("ops", "analyze", "--baseline", "lathe:plain", "--from-model", self.net, *at)
        self.assertEqual(set(found["not_applicable"]), {"failed", "schedules", "account"})  # nothing failed, no profile yet
        last = {(p["problem"], p["variant"]): p for p in points[1]}  # of the same points twice the last ones count
        speedups = {p["problem"]: p for p in found["speedup"]["points"]}
        self.assertEqual(len(speedups), 3)
        for problem, speedup in speedups.items():
            self.assertAlmostEqual(speedup["median_ms"], last[problem, "auto"]["time"]["median_ms"], delta=1e-6)
            self.assertAlmostEqual(speedup["baseline_median_ms"], last[problem, "plain"]["time"]["median_ms"], delta=1e-6)
        mean = np.exp(np.mean([np.log(s["ratio"]) for s in speedups.values()]))
        self.assertAlmostEqual([s for s in found["speedup"]["summaries"] if s["column"] == "lathe:auto"][0]["geometric_mean"], mean, delta=1e-6)
        for share in found["roofline"]:
            self.assertGreater(share["gflops"], 0)
        own = points[3]
        counts = {p["text"]: p["count"] for p in self.figures("ops", "problems", self.net)["problems"]}
        estimate = [e for e in found["estimate"] if e["provider"] == "lathe"][0]
        self.assertEqual(estimate["missing"], [])
        self.assertEqual(estimate["operators"], sum(counts.values()))
        self.assertAlmostEqual(estimate["measured_ms"], points[2][0]["time"]["median_ms"], delta=1e-6)
        self.assertAlmostEqual(estimate["estimate_ms"], sum(p["time"]["median_ms"] for p in own if p["variant"] == "auto"), delta=1e-4)
        self.assertEqual({line["count"] for line in found["table"][0]["lines"]}, {1})
        self.lathe("profile", self.net, "--repetitions", "8", *at)
        account, = self.figures("ops", "analyze", "--what", "account", "--from-model", self.net, *at)["account"]
        self.assertEqual(account["state"], "hot")  # a few kilobytes of constants
        by_problem = {line["problem"]: line for line in account["lines"] if "problem" in line}
        self.assertEqual({text: line["count"] for text, line in by_problem.items()}, counts)
        for line in by_problem.values():
            self.assertGreaterEqual(line["kernels"], line["count"])
        self.assertAlmostEqual(account["estimate_ms"], estimate["estimate_ms"], delta=1e-4)
        self.assertAlmostEqual(account["measured_ms"], estimate["measured_ms"], delta=1e-6)
        self.assertAlmostEqual(sum(line["in_network_ms"] for line in account["lines"]) + account["overhead_ms"], account["profiled_ms"], delta=1e-6)
        self.assertIn("in the network ms", self.lathe("ops", "analyze", "--what", "account", "--from-model", self.net, *at).stdout)
        self.assertIn([8, 16, 32], [[int(x) for x in t["x"]] for t in found["turning"] if t["resource"].startswith("w[0]")])
        text = self.lathe("ops", "analyze", "--what", "best,speedup,estimate", "--operator", "conv2d", *at).stdout
        self.assertIn("Fastest of each problem", text)
        self.assertIn("speedup: give --baseline", text)
        self.assertIn("estimate: give --from-model", text)
        self.error("ops", "analyze", "--what", "roof", *at, says="--what: roof")
        self.error("ops", "analyze", "--threads", "63", *at, says="no points are kept there that the flags choose")
        self.error("ops", "analyze", "--baseline", ":x", *at, says="expected PROVIDER")

        first, second = kept[0]["uuid"], kept[1]["uuid"]
        diff = self.figures("ops", "diff", first[:12], second[:12], *at)
        self.assertEqual(len(diff["points"]), len(points[0]))
        self.assertEqual(diff["only_before"] + diff["only_after"], 0)
        by_file = self.figures("ops", "diff", *results)
        ratios = lambda d: {(p["problem"], p["variant"]): round(p["ratio"], 4) for p in d["points"] if "ratio" in p}
        self.assertEqual(ratios(by_file), ratios(diff))
        archive = self.path("first.jsonl.gz")
        self.lathe("store", "export", archive, "--experiment", first, *at)
        self.assertEqual(ratios(self.figures("ops", "diff", archive, second, *at)), ratios(diff))
        # Times written by hand: doubled is slower beyond doubt, a failure broken, a row taken out missing.
        with open(results[0]) as file:
            document = json.load(file)
        doubled = self.path("doubled.json")
        for factor, path in [(1, results[0]), (2, doubled)]:
            for row in document["rows"]:
                for point in row["points"]:
                    point["rounds_ns"] = [[1000 * factor, 1001 * factor, 1002 * factor]] * 8
            with open(path, "w") as file:
                json.dump(document, file)
        slower = self.figures("ops", "diff", results[0], doubled, "--fail-on", "slower:3%", code=1)
        self.assertEqual(slower["slower"], len(points[0]))
        self.assertAlmostEqual(slower["geometric_mean"], 0.5, delta=1e-9)
        self.lathe("ops", "diff", results[0], doubled, "--fail-on", "slower:150%,failed,missing")
        document["rows"][0]["points"][0].update(status="failed", rounds_ns=[])
        document["rows"].pop()
        with open(doubled, "w") as file:
            json.dump(document, file)
        self.lathe("ops", "diff", results[0], doubled, "--fail-on", "failed", code=1)
        self.lathe("ops", "diff", results[0], doubled, "--fail-on", "missing", code=1)
        self.lathe("ops", "diff", doubled, results[0], "--fail-on", "failed,missing")
        self.assertIn("broken", self.lathe("ops", "diff", results[0], doubled).stdout)
        self.error("ops", "diff", results[0], doubled, "--fail-on", "worse", says="--fail-on 'worse': expected slower")
        self.error("ops", "diff", self.net, doubled, says="net.mlir: is no archive")
        self.error("ops", "diff", "zz", doubled, *at, says="begins with 'zz'")

    def test_zoo_lists(self):
        names = [network["name"] for network in self.figures("zoo", "--list")["networks"]]
        for name in ["resnet50", "mobilenet_v2", "densenet121", "inception_v3", "vgg16"]:
            self.assertIn(name, names)
        self.error("zoo", "resnet51", says="resnet51")


if __name__ == "__main__":
    unittest.main(verbosity=2)
