"""`lathe tune`: tasks, records, what is kept, and going on."""
import glob
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import numpy as np

from fixture import LATHE, Cli, main, one_outcome


# In the place of lathe-runner: what it computes is wrong.
WRONG_RUNNER = '''#!/usr/bin/python3
import json, subprocess, sys
import numpy as np
runner = subprocess.Popen([%r, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in sys.stdin:
    runner.stdin.write(line)
    runner.stdin.flush()
    answer = runner.stdout.readline()
    if json.loads(line)["do"] == "run":
        for file in json.loads(answer)["outputs"].values():
            np.save(file, np.load(file) + np.float32(0.125))
    sys.stdout.write(answer)
    sys.stdout.flush()
''' % os.path.join(os.path.dirname(LATHE), "lathe-runner")


class Tune(Cli):
    knows_machine = True

    @classmethod
    def setUpClass(cls):
        os.environ.pop("LATHE_NO_RECORDS", None)
        super().setUpClass()

    def records(self, store):
        return self.figures("records", "list", "--store", store)["records"]

    def test_tasks_are_listed(self):
        report = self.figures("tune", self.net, "--list-tasks")
        tasks = report["tasks"]
        self.assertEqual({task["family"] for task in tasks}, {"contraction", "reduction", "softmax"})
        self.assertAlmostEqual(sum(task["share_percent"] for task in tasks), 100, delta=0.5)
        conv = next(task for task in tasks if task["first_node"] == "conv2")
        self.assertIn("conv", conv["task"])
        self.assertTrue(conv["key"].startswith("task/"))
        self.assertAlmostEqual(conv["work_MFLOP"], 2 * 8 * 8 * 9 * 144 / 1e6, delta=0.1)
        self.assertGreater(conv["points"], 10)
        self.narrow("tune", self.net, "--list-tasks")
        only = self.figures("tune", self.net, "--list-tasks", "--tasks", "conv2")["tasks"]
        self.assertEqual([task["key"] for task in only], [conv["key"]])

    def test_a_search_keeps_records_and_goes_on_from_them(self):
        store = self.path("store.db")
        command = ["tune", self.net, "--trials", "6", "--margin", "0", "--store", store]
        report = self.figures(*command, "--compare")
        self.assertEqual(report["ended"], "every task is at its limit")
        records = self.records(store)
        trials = {task["key"]: task["trials"] for task in report["tasks"]}
        for key, count in trials.items():
            own = [record for record in records if record["task"] == key]
            self.assertEqual(len(own), count, key)
            self.assertEqual(len({record["schedule"] for record in own}), count, key)
            self.assertTrue(any(record["status"] == "passed" and record["samples_ns"] for record in own), own)
        self.assertIn(6, trials.values())
        for task in report["tasks"]:
            if task["gain"] is not None:
                self.assertGreater(task["gain"], 1.02)
                self.assertLess(task["after_us"], task["before_us"])
        self.assertIn("comparison", report)
        curve = report["history"]
        self.assertLessEqual(curve[-1]["trials"], report["trials"])  # the search alone
        for earlier, later in zip(curve, curve[1:]):
            self.assertLess(earlier["trials"], later["trials"])
            self.assertLessEqual(earlier["seconds"], later["seconds"])
            self.assertGreaterEqual(earlier["expected_ms"] * (1 + 1e-9), later["expected_ms"])

        again = self.figures(*command)
        self.assertEqual({task["key"]: task["trials"] for task in again["tasks"]}, trials)
        self.assertEqual(len(self.records(store)), len(records))

        # A compilation has the schedules that the search kept, and no others.
        kept = {task["key"]: task["schedule"] for task in again["tasks"] if task["gain"] is not None and not again["undone"]}
        package = self.path("tuned.lathe")
        self.lathe("compile", self.net, "-o", package, "--store", store)
        origins = [kernel["origin"] for kernel in self.figures("inspect", package)["plans"][0]["kernels"]]
        self.assertEqual(sum("record" in origin for origin in origins) > 0, bool(kept), origins)
        # A record of an algorithm that has another version now is left alone.
        with sqlite3.connect(store) as database:
            database.execute("UPDATE tuning SET schedule = 'direct/99 px=1', verdict = 'faster' WHERE id = (SELECT max(id) FROM tuning WHERE seconds IS NOT NULL)")
        database.close()
        self.assertEqual(self.figures(*command)["ended"], "every task is at its limit")

    def test_an_open_batch_is_tuned_with_extent_1(self):
        """Records of the kernel with an open batch serve the one with batch 1, and the reverse."""
        store, package, w = self.path("batch.db"), self.path("batch.lathe"), "tensor<64x32xf32>"
        weights = np.random.default_rng(3).standard_normal((64, 32)).astype("<f4").tobytes().hex().upper()

        def product(rows):
            path, x, y = self.path(f"product{rows}.mlir".replace("?", "-open")), f"tensor<{rows}x64xf32>", f"tensor<{rows}x32xf32>"
            dims = ', nn.dims = ["N", "64"]' if rows == "?" else ""
            with open(path, "w") as file:
                file.write(f'func.func @main(%x: {x} {{nn.name = "x"{dims}}}) -> ({y} {{nn.name = "y"}}) {{\n'
                           f'  %w = nn.constant {{value = dense<"0x{weights}"> : {w}}} : {w}\n'
                           f'  %0 = nn.matmul %x, %w : ({x}, {w}) -> {y} loc("product")\n  return %0 : {y}\n}}\n')
            return path

        net = product("?")
        report = self.figures("tune", net, "--trials", "6", "--margin", "0", "--store", store)
        self.assertGreater(report["trials"], 1)
        task, = report["tasks"]
        self.assertEqual(task["trials"], 6)
        self.assertIn(" | f32 ?x64; ", task["key"])
        self.assertGreater(task["GFLOPS"], 0)
        # One of the others was faster, as a made-up verdict says.
        records = [record for record in self.records(store) if record["task"] == task["key"] and record["status"] == "passed"]
        prior = self.kernel(net, package, "--no-records")[0]
        chosen = next(record["schedule"] for record in records if record["schedule"] != prior)
        closed = task["key"].replace("?x", "1x")
        for keys, is_open in [(task["key"], True), (closed, False)]:
            with sqlite3.connect(store) as database:
                one_outcome(database)
                database.execute("UPDATE tuning SET verdict = CASE WHEN schedule = ? THEN 'faster' ELSE 'open' END WHERE seconds IS NOT NULL", (chosen,))
                database.execute("UPDATE task SET text = ? WHERE text IN (?, ?)", (keys, task["key"], closed))
            database.close()
            for model in (net, product(1)):
                schedule, origin = self.kernel(model, package, "--store", store)
                self.assertEqual((schedule, "record" in origin), (chosen, True), (is_open, model))
            self.assertNotIn("record", self.kernel(product(2), package, "--store", store)[1])

    def kernel(self, net, package, *flags):
        """Schedule and origin of the only kernel."""
        self.lathe("compile", net, "-o", package, *flags)
        kernel, = self.figures("inspect", package)["plans"][0]["kernels"]
        return kernel["schedule"], kernel["origin"]

    def convolutions(self, name, batch, layers):
        """A network of convolutions of 32 channels, each (name, window, groups)."""
        path, last, body, tensor = self.path(name), "x", "", f"tensor<{batch}x32x28x28xf32>"
        for name, kernel, group in layers:
            weights = f"tensor<32x{32 // group}x{kernel}x{kernel}xf32>"
            body += (f"  %w{name} = nn.constant {{value = dense<0.{kernel}> : {weights}}} : {weights}\n  %{name} = nn.conv %{last}, %w{name} {{strides = array<i64: 1, 1>, "
                     f"dilations = array<i64: 1, 1>, pads = array<i64: {', '.join([str(kernel // 2)] * 4)}>, group = {group} : i64}} : "
                     f"({tensor}, {weights}) -> {tensor} loc(\"{name}\")\n")
            last = name
        with open(path, "w") as file:
            file.write(f"func.func @main(%x: {tensor}) -> {tensor} {{\n{body}  return %{last} : {tensor}\n}}\n")
        return path

    def pair(self):
        """A depthwise convolution and the pointwise one behind it, between others: one kernel or two."""
        return self.convolutions("pair.mlir", 1, [("first", 1, 1), ("depthwise", 3, 32), ("pointwise", 1, 1), ("last", 3, 1)])

    def set_times(self, store, verdict, special, pattern, column="schedule"):
        """Changes all times that decide graphs: 10 us, but `special` seconds where the schedule or the task is like `pattern`."""
        with sqlite3.connect(store) as database:
            database.execute("UPDATE tuning SET outcomes = '[]', verdict = ?, seconds = CASE WHEN "
                             + ("schedule" if column == "schedule" else "(SELECT text FROM task WHERE id = tuning.task)")
                             + " LIKE ? THEN ? ELSE 1e-5 END WHERE seconds IS NOT NULL AND task IN (SELECT id FROM task WHERE text LIKE 'graph/1 | %')",
                             (verdict, pattern, special))
        database.close()

    def setting(self, net, store, *flags):
        """What tells measurements of the network apart, as the store keeps it."""
        self.lathe("bench", net, "--repetitions", "2", "--store", store, *flags)
        last = self.figures("store", "list", "--store", store)["experiments"][-1]
        return self.figures("store", "show", last["uuid"], "--store", store)["points"][0]["setting"]["extra"]

    def test_times_choose_the_graph(self):
        net, store = self.pair(), self.path("graph.db")
        command = ["tune", net, "--trials", "1", "--margin", "0.9", "--store", store]
        graph = self.figures(*command)["graph"]
        times = [record for record in self.records(store) if record["task"].startswith("graph/1 | task/")]
        self.assertEqual((graph["measured"], len(times)), (graph["kernels"], graph["kernels"]))
        self.assertEqual({record["verdict"] for record in times}, {"faster" if graph["kept"] else "no_gain"})
        algorithms = [record["schedule"].split("/")[0] for record in times]
        self.assertIn("separable", algorithms)
        again = self.figures(*command)["graph"]
        self.assertEqual((again["kernels"], again["measured"], again["kept"]), (graph["kernels"], 0, graph["kept"]))

        # Made-up times choose the other form than predictions do, if their graph is not slower.
        package, default = self.path("pair.lathe"), os.path.join(os.environ["XDG_DATA_HOME"], "lathe", "lathe.db")
        kernels = lambda *flags: self.figures("compile", net, "-o", package, *flags)
        whole = lambda: any(k["schedule"].startswith("separable/") for k in self.figures("inspect", package)["plans"][0]["kernels"])
        self.assertEqual(kernels("--no-records")["measured_choice_count"], 0)
        predicted = whole()

        set_times = lambda verdict, fused: self.set_times(store, verdict, fused, "separable/%")

        set_times("no_gain", 9e-5 if predicted else 1e-6)
        self.assertEqual(kernels("--store", store)["measured_choice_count"], 0)
        set_times("faster", 2e-5)  # no difference
        self.assertEqual((kernels("--store", store)["measured_choice_count"], whole()), (0, predicted))
        set_times("faster", 9e-5 if predicted else 1e-6)
        self.assertEqual((kernels("--store", store)["measured_choice_count"], whole()), (1, not predicted))
        self.assertIn("measured times of records choose layouts or kernels of 1 operator\n", self.lathe("compile", net, "-o", package, "--store", store).stdout)
        self.assertIn("measured times chose layouts or kernels of 1 operator\n", self.lathe("inspect", package).stdout)
        self.assertEqual([sorted(self.setting(net, store, *flags)) for flags in ([], ["--no-records"])], [["compile", "records"], ["compile"]])
        self.lathe("verify", net, "--package", package)
        # The cache of packages tells the times apart.
        os.makedirs(os.path.dirname(default), exist_ok=True)
        self.addCleanup(os.remove, default)
        packages = lambda: len(glob.glob(os.path.join(os.environ["XDG_CACHE_HOME"], "lathe", "packages", "*.lathe")))
        before = packages()
        for count, fused in [(1, 2e-6), (1, 2e-6), (2, 8e-5)]:
            set_times("faster", fused)
            shutil.copy(store, default)
            self.lathe("run", net, "--fill", "ones", "-o", self.path("out.npz"))
            self.assertEqual(packages() - before, count)

    def check_trace_of_images(self, package, batch):
        """A traced run has the kernels that a batch passes image by image in a slice, and shares of the slot for every image."""
        trace = self.path("images.json")
        self.lathe("profile", package, "--no-check", "--no-store", "--repetitions", "2", "--trace", trace)
        with open(trace) as file:
            slices = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        inside = lambda image: [event for event in slices if image["ts"] <= event["ts"] and event["ts"] + event["dur"] <= image["ts"] + image["dur"] + 1e-6]
        images = [event for event in slices if event["cat"] == "images"]
        self.assertIn(len(images), (2, 4, 6))  # as many in both runs
        for image in images:
            kernels = [event["args"]["instruction"] for event in inside(image) if event["args"].get("image_by_image")]
            self.assertEqual(kernels, list(range(image["args"]["first"], image["args"]["last"] + 1)))
            shares = [event["args"]["instruction"] for event in inside(image) if event["tid"] == 2]
            self.assertEqual(shares, kernels * batch)

    def test_times_choose_the_order_of_images(self):
        net, store, package = self.convolutions("batch.mlir", 4, [(f"depthwise{i}", 3, 32) for i in range(4)]), self.path("orders.db"), self.path("batch.lathe")
        command = ["tune", net, "--trials", "1", "--margin", "0.9", "--store", store]
        graph = self.figures(*command)["graph"]
        orders = [record for record in self.records(store) if record["task"].endswith(" | image by image")]
        self.assertGreater(graph["measured"], len(orders))
        self.assertGreater(sum(record["status"] == "passed" for record in orders), 0)
        self.assertEqual(self.figures(*command)["graph"]["measured"], 0)

        def by_image(verdict, seconds):
            self.set_times(store, verdict, seconds, "%image by image", "task")
            report = self.figures("compile", net, "-o", package, "--store", store)
            self.assertEqual(report["timed_kernels"] > 0, verdict == "faster")
            self.lathe("verify", net, "--package", package)
            return sum(row.get("image_by_image", False) for row in self.figures("profile", package, "--no-check")["rows"])

        predicted = by_image("no_gain", 1e-7)
        self.assertGreaterEqual(by_image("faster", 1e-7), 2)
        self.check_trace_of_images(package, 4)
        self.assertEqual(by_image("faster", 1e-4), 0)
        self.assertEqual(by_image("faster", 1e-5), predicted)
        # Measurements of the packages are told apart.
        settings = []
        for seconds in (1e-7, 1e-4):
            self.set_times(store, "faster", seconds, "%image by image", "task")
            settings += [self.setting(net, store), self.setting(net, store, "--no-records")]
        self.assertEqual(["records" in extra for extra in settings], [True, False, True, False])
        self.assertNotEqual(settings[0]["records"], settings[2]["records"])

    def test_problems_are_tasks(self):
        store = self.path("problems.db")
        report = self.figures("tune", "--problem", "conv2d:ic16ih14oc16kh3ph1", "--problem", "softmax:8x10:axis1", "--trials", "4", "--margin", "0", "--store", store)
        self.assertEqual(sorted(task["trials"] for task in report["tasks"])[-1], 4)
        self.assertEqual(len(report["tasks"]), 2)
        self.assertEqual(len(self.records(store)), sum(task["trials"] for task in report["tasks"]))
        self.narrow("tune", "--suite", "networks/resnet50", "--list-tasks")

    def test_a_search_starts_from_records_of_other_tasks(self):
        store = self.path("transfer.db")

        def tune(problem, *flags, trials="6"):
            path = self.path("transfer.json")
            searcher = [] if "--searcher" in flags else ["--searcher", "xgb_knob"]  # no model of it comes with lathe
            said = self.lathe("tune", "--problem", problem, "--trials", trials, "--margin", "0", "--store", store, "--json", path, *searcher, *flags).stdout
            with open(path) as file:
                return said, json.load(file)["starts_from"]

        said, first = tune("conv2d:ic16ih14oc16kh3ph1")
        self.assertEqual(first, {"tasks": 0, "schedules": 0})
        self.assertNotIn("starts from", said)
        said, again = tune("conv2d:ic16ih14oc16kh3ph1", trials="7")  # what is known of the task itself is no other task
        self.assertEqual(again, first)
        self.assertNotIn("starts from", said)
        passed = sum(record["status"] == "passed" for record in self.records(store))
        said, other = tune("conv2d:ic32ih14oc16kh3ph1")
        self.assertEqual(other, {"tasks": 1, "schedules": passed})
        self.assertTrue(said.startswith(f"starts from {passed} measured schedules of 1 other task\n"), said)
        # Neither another family nor a searcher without a learned model starts from them.
        self.assertEqual(tune("softmax:8x10:axis1", trials="2")[1], first)
        self.assertEqual(tune("conv2d:ic16ih14oc32kh3ph1", "--searcher", "random", trials="2")[1], first)

        # A task whose kernel is not what its text says, and one that cannot be read, count as unknown.
        with sqlite3.connect(store) as database:
            database.execute("UPDATE task SET kernel = replace(kernel, 'nn.conv', 'nn.cnov')")
        database.close()
        self.assertEqual(tune("conv2d:ic16ih14oc64kh3ph1", trials="2")[1], first)

    def test_models_are_evaluated_on_records(self):
        store = self.path("evaluated.db")
        few = ["tune", "--evaluate-model", "--store", store]
        self.error(*few, says="evaluated.db: does not exist")
        problems = [f"conv2d:ic{channels}ih14oc16kh3ph1" for channels in (16, 32, 48, 64, 80)]
        search = ["--trials", "14", "--margin", "0", "--searcher", "random", "--store", store]
        self.lathe("tune", "--problem", problems[0], *search)
        self.error(*few, says=r"evaluated.db: has \d+ measured schedules of 1 task, expected at least 5 tasks with 10 schedules each")
        self.lathe("tune", *(word for problem in problems[1:] for word in ("--problem", problem)), *search)
        before = self.records(store)
        report = self.figures(*few)
        passed = sum(record["status"] == "passed" for record in before)
        self.assertEqual((report["measured_tasks"], report["measured_schedules"]), (5, passed))
        names = [(model["held_out"], model["model"]) for model in report["models"]]
        self.assertEqual(len(names), 14)
        self.assertEqual(names[0], ("schedules", "analytic"))
        self.assertIn(("tasks", "xgb_rank_curve"), names)
        for model in report["models"]:
            self.assertEqual(model["tasks"], 5)
            self.assertEqual(model["schedules"], passed)
            for figure in ("pair_accuracy", "peak_1", "peak_5"):
                self.assertTrue(0 < model[figure] <= 1, model)
            self.assertEqual(model["rmse"] is None, "rank" in model["model"], model)
        self.assertIn("xgb_itervar", self.narrow(*few))
        self.assertEqual(self.records(store), before)
        self.error("tune", "--evaluate-model", self.net, "--store", store, says="evaluated.db: has no measured schedules of .*net.mlir")
        self.lathe("tune", self.net, "--tasks", "conv2", *search)
        model = self.figures("tune", "--evaluate-model", self.net, "--store", store)["models"]
        self.assertEqual({(one["held_out"], one["tasks"]) for one in model}, {("network", 1)})

    def test_a_search_starts_from_a_trained_model(self):
        store, model, figures = self.path("trained.db"), self.path("models.jsonl.gz"), self.path("started.json")
        problem = ["tune", "--problem", "conv2d:ic16ih14oc16kh3ph1", "--trials", "10", "--margin", "0"]
        self.error("tune", "--train-model", model, "--store", store, says="trained.db: does not exist")
        self.lathe(*problem, "--searcher", "random", "--store", store)
        self.assertFalse(os.path.exists(model))
        self.assertEqual(self.lathe("tune", "--train-model", model, "--store", store).stdout, f"{model}: xgb_itervar for contraction\n")
        with open(model, "rb") as file:
            first = file.read()
        self.assertEqual(self.figures("tune", "--train-model", model, "--store", store)["families"], ["contraction"])
        with open(model, "rb") as file:
            self.assertEqual(file.read(), first)
        self.lathe(*problem, "--start-model", model, "--no-store")
        self.lathe(*problem, "--start-model", model, "--store", self.path("other.db"), "--json", figures)
        with open(figures) as file:
            self.assertEqual(json.load(file)["starts_from"], {"tasks": 0, "schedules": 0, "file": model})
        self.error(*problem, "--start-model", model, "--searcher", "xgb_knob", says="it has models of xgb_itervar, the searcher is xgb_knob")
        self.error(*problem, "--start-model", model, "--searcher", "random", says="the searcher is random")
        self.error("tune", "--train-model", model, "--searcher", "ga", "--store", store, says="--searcher ga: it has no model to train")
        self.error("tune", self.net, "--train-model", model, "--store", store, says="learns from all of the store")
        with open(model, "wb") as file:
            file.write(first[:-100])
        self.error(*problem, "--start-model", model, says="models.jsonl.gz")

    def test_what_was_measured_survives_a_kill(self):
        store = self.path("killed.db")
        command = ["tune", self.net, "--trials", "30", "--margin", "0", "--store", store, "--tasks", "conv2"]
        before = []
        for _ in range(3):
            process = subprocess.Popen([LATHE, *command, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.time() + 60
            while process.poll() is None and time.time() < deadline:
                now = self.records(store) if os.path.exists(store) else []
                if len(now) > len(before) + 4:
                    break
                time.sleep(0.1)
            process.send_signal(signal.SIGKILL)
            process.wait()
            after = self.records(store)
            keys = [(record["task"], record["schedule"]) for record in after]
            self.assertEqual(len(keys), len(set(keys)), "a record is there twice")
            self.assertLessEqual({(r["task"], r["schedule"]) for r in before}, set(keys), "a record is lost")
            before = after
        report = self.figures(*command)
        self.assertEqual([task["trials"] for task in report["tasks"]], [30])

    def unverified(self, runner, *limits):
        """A search whose model cannot be verified: exit code 1, and no record is faster. -> what was said"""
        folder = tempfile.mkdtemp(dir=self.folder.name)
        store, package, report = (os.path.join(folder, name) for name in ("store.db", "package.lathe", "report.json"))
        command = ["tune", self.net, "--trials", "4", "--margin", "0", "--store", store, "--compare", "-o", package, "--json", report, *limits]
        done = subprocess.run([self.program_with(lathe_runner=runner), *command], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        with open(report) as file:
            figures = json.load(file)
        self.assertTrue(figures["undone"])
        self.assertIsNone(figures["comparison"])
        self.assertGreater(len(self.records(store)), 4)
        self.assertNotIn("faster", [record.get("verdict") for record in self.records(store)])
        origins = [kernel["origin"] for kernel in self.figures("inspect", package)["plans"][0]["kernels"]]
        self.assertFalse([origin for origin in origins if "tune" in origin])
        self.assertIn("net.mlir: nothing is kept: " + figures["verification"], done.stderr)
        return figures["verification"]

    def test_what_cannot_be_verified_is_not_kept(self):
        self.assertRegex(self.unverified(WRONG_RUNNER), "wrong: output 'prob': relative error")
        self.assertRegex(self.unverified("#!/bin/sh\nexit 7\n"), "wrong: .*lathe-runner --name lathe' ended early with exit code 7")

    def test_the_budget_ends_the_verification(self):
        self.assertRegex(self.unverified("#!/bin/sh\nexec sleep 600\n", "--budget", "25s"), r"^not verified: the package did not run within \d+ s$")
        store = self.path("short.db")
        self.error("tune", "zoo:resnet18", "--budget", "1s", "--store", store, "--quiet", says="--budget 1s: compiling the model and computing .* take more than half")
        self.assertEqual(self.records(store), [])

    def test_errors(self):
        self.error("tune", self.net, "--searcher", "annealing", says="unknown searcher 'annealing', expected ")
        self.error("tune", self.net, "--tasks", "conv7", says="net.mlir: no kernel with 'conv7' has a schedule")
        self.error("tune", self.net, "--list-tasks", "--budget", "5m", says="--budget 300: --list-tasks measures nothing")
        self.error("tune", self.net, "--budget", "soon", says="--budget")
        self.error("tune", "--list-tasks", says="expected one of MODEL, --problem, --suite and --all")
        self.error("tune", "--problem", "conv2d", says="--problem conv2d: expected KIND:TEXT")
        self.error("tune", self.package, says="expected a model")


if __name__ == "__main__":
    main()
