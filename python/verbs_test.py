#!/usr/bin/env python3
"""The verbs as functions of Python:  verbs_test.py PATH/TO/lathe"""
import contextlib
import io
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
import typing
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "src", "app", "cli", "tests")]
from fixture import LATHE, Cli, main, onnx_model, onnx_node

os.environ["LATHE_LIBRARY_DIR"] = os.path.join(os.path.dirname(os.path.dirname(LATHE)), "lib")
import numpy as np

import lathe

SIMPLE = {int: int, float: (int, float), str: str, bool: bool}


class Verbs(Cli):
    def fields(self, result, *absent):
        """Every field that the class declares is there and has the declared type."""
        for name, hint in typing.get_type_hints(type(result)).items():
            if not name.startswith("_") and name not in absent:
                value = getattr(result, name)
                self.assertIsInstance(value, SIMPLE.get(hint, object), f"{type(result).__name__}.{name}")
                if isinstance(value, list) and value and isinstance(value[0], lathe.results.Row):
                    self.assertIs(type(value[0]), typing.get_args(hint)[0], name)
                    for inner in typing.get_type_hints(type(value[0])):
                        self.assertIn(inner, value[0], f"{type(result).__name__}.{name}")
        self.assertEqual(str(result), repr(result))
        self.assertIn("<pre>", result._repr_html_())

    def same_text(self, result, *arguments):
        """str() is what the command line prints."""
        self.assertEqual(str(result) + "\n", self.lathe(*arguments).stdout)

    def test_check_and_inspect(self):
        result = lathe.check(self.net)
        self.same_text(result, "check", self.net)
        self.fields(result)
        self.assertTrue(result.ok and result.supported)
        self.assertEqual((len(result.frame()), list(result.frame())), (0, ["node", "op", "type", "reason"]))
        result = lathe.inspect(self.net)
        self.same_text(result, "inspect", self.net)
        self.fields(result)
        self.assertEqual(sorted(result.frame()["name"]), ["add", "conv", "gemm", "reduce_mean", "relu", "reshape", "softmax"])
        result = lathe.inspect(self.package)
        self.same_text(result, "inspect", self.package)
        self.assertEqual(len(result.frame()), len(result.data["plans"][0]["kernels"]))
        with self.assertRaisesRegex(AttributeError, "lathe inspect.* has no field 'nothing'; it has: "):
            result.nothing

    def test_paths_that_look_like_flags(self):
        shutil.copy(self.net, self.path("-net.mlir"))
        with contextlib.chdir(self.folder.name):
            self.assertEqual(lathe.load("-net.mlir").inspect().inputs, lathe.inspect(self.net).inputs)

    def test_version(self):
        self.assertEqual(f"lathe {lathe.__version__}\n", self.lathe("--version").stdout)

    def test_a_negative_verdict_is_a_result(self):
        with open(self.path("strange.onnx"), "wb") as file:
            file.write(onnx_model(onnx_node("Strange", ["x"], ["y"], "odd")))
        result = lathe.check(self.path("strange.onnx"))
        self.assertFalse(result.ok or result.supported)
        self.assertEqual(len(result.unsupported), 1)

    def test_errors(self):
        for use in (lambda: lathe.verify("/nowhere.onnx"), lambda: lathe.load("/nowhere.onnx"), lambda: lathe.load("/nowhere.lathe"),
                    lambda: lathe.bench(self.net, threads=0), lambda: lathe.run(self.net, input=np.zeros((1, 3, 12, 12), np.float32)),
                    lambda: lathe.compile(self.net), lambda: lathe.load(self.net).run([])):
            with self.assertRaises(lathe.Error) as caught:
                use()
            self.assertEqual(len(str(caught.exception).splitlines()), 1)
        with mock.patch.dict(sys.modules, pandas=None), self.assertRaisesRegex(lathe.Error, "needs pandas"):
            lathe.zoo(list=True).frame()
        with self.assertRaisesRegex(lathe.Error, "has no field 'rows'; it has: networks"):
            lathe.zoo(list=True).frame("rows")

    def test_compile(self):
        made = lathe.compile(self.net, self.path("made.lathe"), threads=2)
        self.fields(made)
        self.assertEqual(made.package.threads, 2)
        self.assertEqual([repr(port) for port in made.inputs + made.outputs], ["data: float32 1x3x12x12", "prob: float32 1x5"])
        text = lathe.compile(self.net, emit="schedule")
        self.same_text(text, "compile", self.net, "--emit", "schedule")
        with self.assertRaisesRegex(lathe.Error, "no package was written"):
            text.package
        made = lathe.compile(self.net, self.path("one_thread.lathe"))
        again = lathe.compile(self.net, self.path("again.lathe"), schedule=str(text))
        x = np.random.default_rng(0).standard_normal((1, 3, 12, 12)).astype(np.float32)
        np.testing.assert_array_equal(again.run([x])["prob"], made.run([x])["prob"])

    def test_models_have_the_verbs_as_methods(self):
        model = lathe.load(self.net, threads=2)
        x = np.random.default_rng(0).standard_normal((1, 3, 12, 12)).astype(np.float32)
        expected = lathe.load(self.package).run([x])["prob"]  # compiled for one thread, with other schedules
        np.testing.assert_allclose(model.run({"data": x})["prob"], expected, rtol=1e-5)
        self.assertEqual(repr(model.inputs[0]), "data: float32 1x3x12x12")
        self.assertTrue(model.verify(seeds=1).ok)
        self.assertIsInstance(lathe.load(self.package), lathe.Package)
        self.assertTrue(lathe.load(self.package).inspect().ok)
        self.assertEqual(lathe.load("zoo:squeezenet", zoo_batch=3).inspect().inputs[0].dims, "3x3x224x224")
        self.assertEqual(lathe.load("zoo:squeezenet", zoo_batch=3).inspect(zoo_batch=2).inputs[0].dims, "2x3x224x224")

    def test_run_takes_and_gives_arrays(self):
        x = np.random.default_rng(0).standard_normal((1, 3, 12, 12)).astype(np.float32)
        expected = lathe.load(self.package).run([x])["prob"]
        for given in ({"data": x}, [x], {0: x}):
            result = lathe.run(self.net, input=given)
            np.testing.assert_array_equal(result.arrays["prob"], expected)
        self.fields(result)
        self.assertEqual(list(result.frame()["name"]), ["prob"])
        result.save(self.path("saved.npz"))
        np.testing.assert_array_equal(lathe.run(self.net, input=self.save(x), output=self.path("out.npy")).arrays["prob"], expected)
        self.assertEqual(list(np.load(self.path("saved.npz"))), ["prob"])

    def save(self, array):
        np.save(self.path("x.npy"), array)
        return self.path("x.npy")

    def test_measurements_and_the_store(self):
        store = self.path("own.db")
        result = lathe.verify(self.net, seeds=1)
        self.fields(result)
        bench = lathe.bench(self.net, repetitions=5, store=store)
        self.fields(bench, "instances")
        self.assertEqual(bench.wall.count, 5)
        self.assertEqual(list(bench.frame()["time"]), ["wall", "cpu"])
        several = lathe.bench(self.net, instances="2", threads=1, max_seconds=0.5, no_store=True)
        self.fields(several, "wall", "cpu", "gflops", "flops_per_run", "peak_rss_bytes")
        self.assertEqual(list(several.frame()["count"]), [1, 2])
        profile = lathe.profile(self.net, repetitions=2, store=store)
        self.fields(profile)
        self.assertIn("conv1+relu1", str(profile))
        self.assertEqual(len(profile.frame()), len(profile.rows))
        kept = lathe.Store(store)
        self.assertEqual(list(kept.experiments()["kind"]), ["bench", "profile"])
        self.assertEqual(len(kept.samples(kind="bench")), 5)
        self.assertGreater(len(kept.points()), 1)
        self.assertEqual(len(kept.records()), 0)
        with contextlib.closing(sqlite3.connect(store)) as database, database:
            database.execute("UPDATE problem SET text = 'NaN' WHERE operator = 'model'")
        samples, points = kept.samples(kind="bench"), kept.points()
        self.assertEqual((set(samples["problem"]), set(samples["variant"]), set(samples["type"])), ({"NaN"}, {""}, {""}))
        self.assertEqual((str(samples["wall_ns"].dtype), str(samples["cycles"].dtype)), ("int64", "Int64"))
        self.assertEqual((set(points["problem"]) - {"NaN"} != set(), points["reason"].isna().sum(), str(points["median_ns"].dtype)), (True, 0, "float64"))
        self.assertEqual(lathe.Store().path, os.path.join(os.environ["XDG_DATA_HOME"], "lathe", "lathe.db"))
        server = lathe.Store("postgresql://ann:secret@nowhere/team")
        self.assertEqual((server.path, repr(server)), ("postgresql://ann@nowhere/team", "Store('postgresql://ann@nowhere/team')"))

    def test_compare_sweep_and_segments(self):
        result = lathe.compare(self.net, with_="reference", max_seconds=0.2, no_store=True)
        self.fields(result)
        self.assertEqual([side.name for side in result.sides], ["lathe", "reference"])
        result = lathe.sweep(self.net, levels="3", max_seconds=0.2, no_store=True)
        self.fields(result)
        self.assertEqual(len(result.frame()), 1)
        result = lathe.segments(self.net, list=True)
        self.assertIn("relu1", str(result))

    def test_tune_and_records(self):
        store = self.path("tuned.db")
        result = lathe.tune(self.net, tasks="conv2", trials=3, searcher="random", store=store)
        self.fields(result)
        self.assertEqual((len(result.tasks), result["trials"]), (1, 3))
        self.assertEqual(len(lathe.Store(store).records()), 3)
        records = lathe.records.list(store=store)
        self.fields(records)
        self.same_text(records, "records", "list", "--store", store)
        lathe.records.export(self.path("all.jsonl"), store=store)
        lathe.records.import_([self.path("all.jsonl")], store=self.path("other.db"))
        self.assertEqual(len(lathe.records.list(store=self.path("other.db")).records), 3)

    def test_quantize_stage_and_zoo(self):
        result = lathe.quantize(self.net, self.path("q.onnx"))
        self.fields(result)
        self.assertTrue(os.path.exists(result.file))
        result = lathe.stage(self.net, self.path("net.py"))
        self.fields(result)
        self.assertTrue(os.path.exists(self.path("net.safetensors")))
        self.assertIn("resnet50", list(lathe.zoo(list=True).frame()["name"]))
        self.assertFalse(lathe.diff_models(self.net, "zoo:squeezenet").ok)

    def test_evaluate(self):
        os.makedirs(self.path("pictures"), exist_ok=True)
        for i in range(3):  # of 12x12 pixels, in one colour
            with open(self.path(f"pictures/{i}.bmp"), "wb") as file:
                file.write(struct.pack("<2sIIIIiiHHIIiiII", b"BM", 54 + 432, 0, 54, 40, 12, 12, 1, 24, 0, 432, 2835, 2835, 0, 0) + bytes([80 * i, 30, 200]) * 144)
        result = lathe.evaluate(self.net, data=self.path("pictures"), no_store=True)
        self.fields(result)
        self.assertEqual((result.pictures, len(result.frame())), (3, 3))

    def test_progress_goes_to_standard_error_or_to_a_function(self):
        pretended = self.path("pretended")
        os.makedirs(os.path.join(pretended, "bin"))
        with open(os.path.join(pretended, "bin", "lathe"), "w") as file:
            file.write("#!/bin/sh\necho first >&2\necho 'lathe bench: a warning' >&2\necho text\n[ \"$2\" != fail ] || exit 3\n")
        os.chmod(file.name, 0o755)
        with mock.patch.dict(os.environ, LATHE_LIBRARY_DIR=os.path.join(pretended, "lib")):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                result = lathe.bench("net.onnx")
            self.assertEqual((said.getvalue(), str(result)), ("first\nlathe bench: a warning\n", "text"))
            lines = []
            lathe.bench("net.onnx", progress=lines.append)
            self.assertEqual(lines, ["first", "lathe bench: a warning"])
            with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaisesRegex(lathe.Error, "^a warning$"):
                lathe.bench("fail")
            self.assertEqual(said.getvalue(), "first\n")

    def test_flags(self):
        from lathe.verbs._process import flags_of
        self.assertEqual(flags_of({"shape": {"a": (1, 3), "b": 2}, "range": {"N": (1, 64)}, "specialize": {"N": [1, 8]}, "optimize_for": {"N": 8, "T": 2},
                                   "custom": {"C": "c.mlir"}, "state": {"p": "q"}, "with_": "x", "exact_math": True, "quiet": False, "level": 2,
                                   "seed": None, "at": ["a", "b"], "max_seconds": 0.5}),
                         ["--shape=a=1x3", "--shape=b=2", "--range=N=1..64", "--specialize=N=1,8", "--optimize-for=N=8 T=2", "--custom=C=c.mlir",
                          "--state=p=q", "--with=x", "--exact-math", "-O2", "--at=a", "--at=b", "--max-seconds=0.5"])

    def test_ctrl_c_ends_the_program(self):
        code = "import lathe, sys\nprint('ready', flush=True)\nlathe.bench(sys.argv[1], repetitions=1000000000, no_store=True)\n"
        process = subprocess.Popen([sys.executable, "-c", code, self.net], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "PYTHONPATH": HERE}, start_new_session=True)
        process.stdout.readline()
        children, end = [], time.monotonic() + 60
        while not children and time.monotonic() < end:
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                children = file.read().split()
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)  # to Python alone, as a notebook's server does
        self.assertIn("KeyboardInterrupt", process.communicate(timeout=60)[1])
        self.assertTrue(children)
        self.assertFalse([child for child in children if os.path.exists(f"/proc/{child}")])


if __name__ == "__main__":
    main()
