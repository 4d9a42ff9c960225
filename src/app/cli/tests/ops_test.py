"""`lathe ops bench` and `problems`: single operators, providers, settings."""
import os
import signal
import subprocess

import numpy as np

from fixture import LATHE, Cli, main, network


class Ops(Cli):
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
        self.error("ops", "bench", says="expected an operator, --suite or --from-model")
        self.error("ops", "bench", "softmax", "3xx4", "--list", says="is not a list of extents")
        self.error("ops", "bench", "conv2d", "ic8ih8oc8", "--cache", "warm", "--provider", "lathe", says="--cache: no state of caches is called 'warm', expected hot, cold, cold-constants")
        self.error("ops", "bench", "eltwise", "3x4:relu", "--batch", "2", "--provider", "lathe", says="has no batch")

    def test_suites_come_with_the_program(self):
        os.environ.pop("LATHE_TEST_DATA", None)
        suites = {s["suite"]: s for s in self.figures("ops", "bench", "--suite", "list")["suites"]}
        self.assertIn("networks/resnet50", suites)
        self.assertEqual(suites["deepbench/gemm-inference-device"]["problems"], 13)
        self.assertIn("networks/resnet50", self.lathe("ops", "bench", "--suite", "list").stdout)
        both = self.lathe("ops", "bench", "--suite", "networks/squeezenet", "--list").stdout
        self.assertIn("ic3ih224oc64oh111kh3sh2", both)
        self.assertIn("mb1ic2048oc1000", self.lathe("ops", "bench", "fc", "--suite", "networks/resnet50", "--list").stdout)
        self.assertNotIn("mb1ic2048oc1000", self.lathe("ops", "bench", "conv2d", "--suite", "networks/resnet50", "--list").stdout)
        self.error("ops", "bench", "softmax", "--suite", "networks/resnet50", "--list", says="--suite networks/resnet50 has no softmax")
        self.error("ops", "bench", "--suite", "networks/resnet5", "--list", says="no suite 'networks/resnet5'; there are ")

    def test_the_default_is_what_is_installed(self):
        bench = ["ops", "bench", "conv2d", "ic8ih7oc8kh1"]
        done = self.lathe(*bench, "--dry-run")
        if "oneDNN" in done.stderr:  # this build has none: said once, with what to install
            self.assertRegex(done.stderr, "without onednn: .*install libdnnl-dev.*Measured: lathe")
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.error(*bench, "--provider", "lathe,onednn", "--dry-run", says="provider 'onednn': .*install libdnnl-dev")
        self.assertIn("1 problem x 1 setting = 1 row, ", done.stdout)
        alone = subprocess.run([self.program_with(lathe_provider_onednn=None), *bench, "--provider", "all", "--dry-run"], capture_output=True, text=True, timeout=60)
        self.assertRegex(alone.stderr, "^--provider all leaves out .*onednn \\(")
        self.assertEqual(len(alone.stderr.splitlines()), 1)
        row = self.lathe(*bench, "--provider", "lathe", "--max-seconds", "0.02", "--starts", "1", "--quiet", "--no-store")
        self.assertEqual((row.stdout, row.stderr), ("", ""))
        row = self.lathe(*bench, "--provider", "lathe,lathe:plain", "--max-seconds", "0.02", "--starts", "1", "--no-store")
        self.assertRegex(row.stdout, r"  lathe:auto \d+\.\d us.*  lathe:plain \d+\.\d us")
        self.assertRegex(row.stdout, r"a call with one element, 1 thread: lathe \d+\.\d\d us\n")

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
        self.error(*small, says="is not a row of lathe ops bench")
        self.error("ops", "bench", "conv2d", "ic8", says="'ih' is missing")
        self.error("ops", "bench", "conv2d", "ic8ih7oc8kh1", "--provider", "mkl", says="unknown provider 'mkl'")
        self.error("ops", "bench", "conv2d", "ic8ih7oc8kh1", "--provider", "lathe:fast", says="no variant 'fast'")
        self.error("ops", "bench", "conv2d", "ic8ih7oc8kh1", "--threads", "0", says="'0' is not a number from 1")
        self.error("ops", "bench", "conv2d", "--suite", "benchdnn/resnet50", "--problems", "/nowhere.csv", says="/nowhere.csv")
        self.error("ops", "bench", "conv2d", says="--suite")
        self.error("ops", "measure", says="one of bench, problems, analyze, diff, got 'measure'")

    def test_schedules_and_their_records(self):
        at = ["--store", self.path("tuned.db")]
        conv, quick = "ic32ih12oc32kh3ph1", ["--max-seconds", "0.05", "--starts", "1"]
        bench = ["ops", "bench", "conv2d", conv, "--provider", "lathe,lathe:plain,reference", *quick, *at]
        none = self.figures(*bench, "--schedule", "records")["rows"][0]["points"]
        self.assertEqual([p["status"] for p in none], ["unimplemented", "unimplemented", "passed"])
        self.assertIn("no tuning record of the task task/2 | conv ", none[0]["reason"])
        literal = "direct/1 px=2"  # what is the default is left out
        measured = self.figures(*bench, "--schedule", "default,direct/1 px=2 oc=1")["rows"][0]
        points = {(p["variant"], p.get("schedule", "")): p for p in measured["points"] if p["provider"] == "lathe"}
        self.assertEqual(set(points), {(v, s) for v in ["auto", "plain"] for s in ["", literal]})
        for (_, schedule), point in points.items():
            self.assertEqual(point["status"], "passed", point)
            self.assertIn(schedule, point["implementation"])
        records = self.figures("records", "list", *at)["records"]
        self.assertEqual(len(records), 4)
        self.assertEqual({(record["family"], bool(record["build"])) for record in records}, {("contraction", True)})
        times = {(r["task"], r["schedule"]): r["seconds"] for r in records}
        for point in points.values():
            self.assertAlmostEqual(times[point["task"], point["schedule_run"]] * 1e3, point["time"]["median_ms"], delta=1e-9)
        best = [task["best"] for task in self.figures("records", "best", *at)["tasks"]]
        fastest = [min(points[v, s]["time"]["median_ms"] for s in ["", literal]) / 1e3 for v in ["auto", "plain"]]
        np.testing.assert_allclose(sorted(r["seconds"] for r in best), sorted(fastest))
        self.assertIn("task/2 | conv ", self.lathe("records", "list", "--task", "| conv ", *at).stdout)
        self.assertEqual(self.figures("records", "list", "--task", "gemm", *at)["records"], [])
        # Read back, on this machine and where the archive goes.
        other = ["--store", self.path("tuned-elsewhere.db")]
        self.lathe("store", "export", self.path("tuned.jsonl"), *at)
        self.assertEqual(self.figures("store", "import", self.path("tuned.jsonl"), *other)["tuning"]["added"], 4)
        for store in [at, other]:
            row = self.figures("ops", "bench", "conv2d", conv, "--provider", "lathe", "--schedule", "records", *quick, *store)["rows"][0]
            wanted = [r["schedule"] for r in best if r["task"] == row["points"][0]["task"]]
            self.assertEqual([p["schedule_run"] for p in row["points"]], wanted)
            self.assertIn(f"--schedule records --store {store[1]} ", row["repro"])
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
        self.error("ops", "bench", "softmax", "4x16", "--provider", "lathe", "--schedule", "softmax/2 grian=1", *quick, *at,
                   says="--schedule: .*softmax/2 has no parameter 'grian'; it has grain and interleave .did you mean 'grain'")
        tasks = [record["task"] for record in self.figures("records", "list", *at)["records"]]
        self.assertFalse([task for task in tasks if "softmax" in task])
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
        self.assertIn("1 row, 1 measured now", again)
        self.error(*command, "--layout", "nhwc", "--no-store", says="--layout: no layout is called 'nhwc', expected any, row, blocked, channels_last")

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


if __name__ == "__main__":
    main()
