"""What the tests of the command line share. Usage of each: VERB_test.py PATH/TO/lathe"""
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "tests"))
from onnx_writer import encoded, field, value
from onnx_writer import node as onnx_node  # for tests

LATHE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "lathe"
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lab", "runners", "onnxruntime", "node_modules")

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


# "compile net.mlir: kernels 3/6, about 2 s left", of work that takes seconds (jobs/Progress.h).
PROGRESS = re.compile(r"(?!lathe )\w+ .*: .*\d+/\d+")
# Warnings of a verb that measured a busy machine.
BUSY = re.compile(r"lathe \w+: (measuring again, |)the figures cannot be right: .*\n")


def without_progress(said):
    """Standard error without the lines of progress and the warnings about a busy machine."""
    return "".join(line for line in BUSY.sub("", said).splitlines(keepends=True) if not PROGRESS.match(line) and not re.match(r"machine: |\w+ [^ ]+: reading ", line))


def network(seed=1):
    rng = np.random.default_rng(seed)

    def text(*shape):
        scale = 1 / np.sqrt(np.prod(shape[1:]))
        return '"0x' + (rng.standard_normal(shape) * scale).astype("<f4").tobytes().hex().upper() + '"'

    return (NETWORK.replace("WEIGHTS1", text(8, 3, 3, 3)).replace("WEIGHTS2", text(8, 8, 3, 3))
            .replace("WEIGHTS3", text(5, 8)))


def planned_points(store):
    """How many points each experiment of the file was to have, as `lathe serve` shows."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        return [json.loads(detail)["planned_points"] for detail, in db.execute("SELECT detail FROM experiment ORDER BY started")]


def one_outcome(database):
    """Leaves the summaries of the tuning records of a store, whose columns a test changes."""
    for identity, outcomes in database.execute("SELECT id, outcomes FROM tuning WHERE outcomes <> '[]'").fetchall():
        samples = [sample for outcome in json.loads(outcomes) for sample in outcome.get("samples_ns", [])]
        database.execute("UPDATE tuning SET samples = ?, outcomes = '[]' WHERE id = ?", (json.dumps(samples), identity))


def onnx_model(*nodes, opset=13):
    """From x to y, both 1x4."""
    return encoded(nodes, [value("x", [1, 4])], [value("y", [1, 4])], opset=opset)


class Cli(unittest.TestCase):
    """With a folder, caches and a store of its own, and the network compiled in it."""
    knows_machine = False  # True: begins with the facts of the machine that LATHE_TEST_FACTS has, and measures none

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = lambda self, name: os.path.join(cls.folder.name, name)
        os.environ["XDG_CACHE_HOME"] = os.path.join(cls.folder.name, "cache")
        os.environ["XDG_DATA_HOME"] = os.path.join(cls.folder.name, "data")
        facts = os.environ.get("LATHE_TEST_FACTS", "")
        if cls.knows_machine and os.path.exists(facts):
            os.makedirs(os.path.join(cls.folder.name, "cache", "lathe"), mode=0o700)
            shutil.copy(facts, os.path.join(cls.folder.name, "cache", "lathe", "machine.json"))
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

    def narrow(self, *arguments, columns=80):
        """The output for a terminal of so many columns; no line of its tables is wider."""
        environment = {**os.environ, "COLUMNS": str(columns)}
        done = subprocess.run([LATHE, *arguments], capture_output=True, text=True, timeout=300, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in done.stdout.partition("No figures:")[0].splitlines():  # reasons are sentences, of any length
            if "  " in line.strip():  # of a table: its cells are two spaces apart
                self.assertLessEqual(len(line), columns, done.stdout)
        return done.stdout

    def error(self, *arguments, says=""):
        """A user error: exit code 2 and one line that says what is wrong. A slow machine prints progress before it."""
        done = self.lathe(*arguments, code=2)
        lines = [line for line in done.stderr.strip().splitlines() if not PROGRESS.match(line)]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], says)
        return lines[0] + "\n"

    def figures(self, *arguments, code=0):
        path = self.path("figures.json")
        self.lathe(*arguments, "--json", path, code=code)
        with open(path) as file:
            return json.load(file)

    def outputs(self, *arguments):
        path = self.path("outputs.npz")
        self.lathe("run", *arguments, "-o", path)
        return dict(np.load(path))

    def program_with(self, **programs):
        """The program in a folder of its own. Some of the programs beside it are missing (None), or are scripts in their stead (texts)."""
        bins, place = os.path.dirname(LATHE), tempfile.mkdtemp(dir=self.folder.name)
        os.symlink(os.path.join(os.path.dirname(bins), "lib"), os.path.join(place, "lib"))
        os.mkdir(os.path.join(place, "bin"))
        names = {name.replace("_", "-"): text for name, text in programs.items()}
        for name in os.listdir(bins):
            if name != "lathe" and name not in names:
                os.symlink(os.path.join(bins, name), os.path.join(place, "bin", name))
        for name, text in names.items():
            if text is not None:
                with open(os.path.join(place, "bin", name), "w") as file:
                    file.write(text)
                os.chmod(file.name, 0o755)
        return shutil.copy(LATHE, os.path.join(place, "bin"))  # a link would lead to the folder that it is in

    def pretend(self, cpu):
        """A command for --via: a shell beyond which the machine says that it has another processor."""
        script = self.path(cpu.replace(" ", "-") + ".sh")
        with open(script, "w") as file:
            file.write("#!/bin/sh\n" + r"""exec "$@" | sed -u 's/"cpu":"[^"]*"/"cpu":"%s"/'""" % cpu + "\n")
        os.chmod(script, 0o755)
        return script


def main():
    unittest.main(verbosity=2)
