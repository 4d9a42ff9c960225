"""`lathe.tune` of python/lathe."""
import os
import sys

import numpy as np

from fixture import LATHE, Cli, main

os.environ.setdefault("LATHE_LIBRARY_DIR", os.path.join(os.path.dirname(os.path.dirname(LATHE)), "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "python"))
import lathe

# In the place of the program: says its arguments and writes a report.
FAKE = """#!/usr/bin/env python3
import json, sys
arguments = sys.argv[1:]
print("tune net: first", file=sys.stderr)
if any(argument.startswith("--trials") for argument in arguments):
    print("lathe tune: --trials: no", file=sys.stderr)
    sys.exit(2)
print("tune net: last", file=sys.stderr, flush=True)
json.dump({"arguments": arguments}, open(arguments[-1], "w"))
"""


class TunePython(Cli):
    knows_machine = True

    def records(self, store):
        return self.figures("records", "list", "--store", store)["records"]

    def pretend_program(self):
        os.makedirs(self.path("bin"), exist_ok=True)
        with open(self.path("bin/lathe"), "w") as file:
            file.write(FAKE)
        os.chmod(self.path("bin/lathe"), 0o755)
        self.addCleanup(os.environ.__setitem__, "LATHE_LIBRARY_DIR", os.environ["LATHE_LIBRARY_DIR"])
        os.environ["LATHE_LIBRARY_DIR"] = self.path("lib")

    def test_a_model(self):
        store, package = self.path("model.db"), self.path("tuned.lathe")
        report = lathe.tune(self.net, tasks="conv2", trials=4, margin=0, store=store, output=package, searcher="random", seed=2)
        task, = report["tasks"]
        self.assertEqual((task["trials"], report["searcher"], report["ended"]), (4, "random", "every task is at its limit"))
        self.assertEqual(len(self.records(store)), 4)
        data = np.random.default_rng(0).standard_normal((1, 3, 12, 12)).astype("f4")
        np.testing.assert_allclose(lathe.load(package).run([data])["prob"], lathe.load(self.package).run([data])["prob"], rtol=1e-3)

    def test_problems(self):
        report = lathe.tune(problem=["conv2d:ic16ih14oc16kh3ph1", "softmax:8x10:axis1"], list_tasks=True, threads=2)
        self.assertEqual((len(report["tasks"]), report["threads"]), (2, 2))

    def test_errors(self):
        with self.assertRaisesRegex(lathe.Error, "^unknown searcher 'annealing', expected "):
            lathe.tune(self.net, searcher="annealing")
        for unknown in ({"epochs": 3}, {"json": "x.json"}):
            with self.assertRaisesRegex(TypeError, "unexpected keyword argument"):
                lathe.tune(self.net, **unknown)
        with self.assertRaisesRegex(lathe.Error, "expected one of MODEL, --problem, --suite and --all"):
            lathe.tune()

    def test_arguments_become_flags(self):
        self.pretend_program()
        lines = []
        said = lathe.tune("net.onnx", shape={"x": (1, 3), "y": (2,)}, progress=lines.append, early_stopping=3, level=4, compare=True, exact_math=False,
                          target=None, budget="5m")["arguments"]
        self.assertEqual(said[:-2], ["tune", "net.onnx", "--shape=x=1x3", "--shape=y=2", "-O4", "--budget=5m", "--early-stopping=3", "--compare"])
        self.assertEqual(said[-2], "--json")
        self.assertFalse(os.path.exists(said[-1]))
        self.assertEqual(lines, ["tune net: first", "tune net: last"])
        with self.assertRaisesRegex(lathe.Error, "^--trials: no$"):
            lathe.tune("net.onnx", trials=1)

    def test_progress_may_end_the_run(self):
        class Enough(Exception):
            pass

        def stop(line):
            raise Enough(line)

        self.pretend_program()
        with self.assertRaisesRegex(Enough, "first"):
            lathe.tune("net.onnx", progress=stop)

    def test_the_places_of_a_missing_program_are_named(self):
        self.addCleanup(os.environ.__setitem__, "LATHE_LIBRARY_DIR", os.environ["LATHE_LIBRARY_DIR"])
        self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
        os.environ["LATHE_LIBRARY_DIR"], os.environ["PATH"] = self.path("nowhere/lib"), self.path("nowhere")
        with self.assertRaisesRegex(lathe.Error, "the program lathe is not in .*nowhere/bin nor in PATH"):
            lathe.tune("net.onnx")


if __name__ == "__main__":
    main()
