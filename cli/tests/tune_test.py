"""`lathe tune`: tasks, records, what is kept, and going on."""
import json
import os
import re
import signal
import subprocess
import time

from fixture import LATHE, Cli, main


class Tune(Cli):
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
        command = ["tune", self.net, "--trials", "6", "--margin", "0", "--store", store, "--compare"]
        report = self.figures(*command)
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

        again = self.figures(*command)
        self.assertEqual({task["key"]: task["trials"] for task in again["tasks"]}, trials)
        self.assertEqual(len(self.records(store)), len(records))

        # A compilation has the schedules that the search kept, and no others.
        kept = {task["key"]: task["schedule"] for task in again["tasks"] if task["gain"] is not None and not again["undone"]}
        package = self.path("tuned.lathe")
        self.lathe("compile", self.net, "-o", package, "--store", store)
        origins = [kernel["origin"] for kernel in self.figures("inspect", package)["plans"][0]["kernels"]]
        self.assertEqual(sum("record" in origin for origin in origins) > 0, bool(kept), origins)

    def test_problems_are_tasks(self):
        store = self.path("problems.db")
        report = self.figures("tune", "--problem", "conv2d:ic16ih14oc16kh3ph1", "--problem", "softmax:8x10:axis1", "--trials", "4", "--margin", "0", "--store", store)
        self.assertEqual(sorted(task["trials"] for task in report["tasks"])[-1], 4)
        self.assertEqual(len(report["tasks"]), 2)
        self.assertEqual(len(self.records(store)), sum(task["trials"] for task in report["tasks"]))
        self.narrow("tune", "--suite", "networks/resnet50", "--list-tasks")

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

    def test_errors(self):
        self.error("tune", self.net, "--searcher", "annealing", says="unknown searcher 'annealing', expected ")
        self.error("tune", self.net, "--tasks", "conv7", says="net.mlir: no kernel with 'conv7' has a schedule")
        self.error("tune", self.net, "--list-tasks", "--budget", "5m", says="--budget 300: --list-tasks measures nothing")
        self.error("tune", self.net, "--budget", "soon", says="--budget")
        self.error("tune", "--list-tasks", says="expected one of MODEL, --problem and --suite")
        self.error("tune", "--problem", "conv2d", says="--problem conv2d: expected KIND:TEXT")
        self.error("tune", self.package, says="expected a model")


if __name__ == "__main__":
    main()
