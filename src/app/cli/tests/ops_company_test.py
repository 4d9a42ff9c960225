"""`lathe ops bench --beside`: points alone and in company, and what tells them apart."""
import csv
import json
import os
import signal
import sqlite3
import subprocess
import time
import unittest

from fixture import LATHE, Cli, main
from report_store import Rows

BENCH = ["ops", "bench", "conv2d", "ic16ih28oc16kh3ph1", "--provider", "lathe"]
QUICK = ["--starts", "3", "--max-starts", "3", "--max-seconds", "0.3"]
CPUS = sorted(os.sched_getaffinity(0))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def runs(pid):
    """Whether a process runs. One that nobody has waited for yet does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class OpsCompany(Cli):
    def on_one_cpu(self, *arguments):
        return subprocess.run([LATHE, *arguments], capture_output=True, text=True, timeout=300, preexec_fn=lambda: os.sched_setaffinity(0, CPUS[:1]))

    def test_flags(self):
        self.error(*BENCH, "--beside-threads", "2", says="--beside-threads.*nothing runs beside without --beside")
        self.error(*BENCH, "--beside", "relu:4x", says="--beside relu:4x: ")
        self.error(*BENCH, "--beside", "ic8ih7oc8kh1", "--beside", "conv2d:ic8ih7oc8kh1", says="--beside conv2d:ic8ih7oc8kh1: is given twice")
        self.error(*BENCH, "--beside", "relu:x=64", "--via", "sh -c", says="--beside relu:x=64: .*--via are not known")
        self.error(*BENCH, "--beside", "relu:x=64", "--beside-threads", "1000", says="--beside: 1 and 1000 threads beside each other need as many CPUs")
        self.error(*BENCH, "--beside", "relu:x=64", "--beside-place", "moon", says="--beside-place: moon not in {core,cache,socket,machine,any}")
        done = self.on_one_cpu(*BENCH, "--beside", "relu:x=64")
        self.assertEqual(done.returncode, 2)
        self.assertIn("need as many CPUs, this process may use 1", done.stderr)

    @unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
    def test_alone_and_in_company(self):
        store, at = self.path("company.db"), ["--store", self.path("company.db")]
        planned = self.lathe(*BENCH, "--beside", "relu:x=4096", "--dry-run", *at).stdout
        self.assertIn("1 row, 2 points", planned)
        self.lathe(*BENCH, *QUICK, *at)  # alone, before
        figures = self.figures(*BENCH, "--beside", "relu:x=4096", "--beside", "ic8ih14oc8kh3ph1", *QUICK, *at)
        row, = figures["rows"]
        self.assertEqual([point["status"] for point in row["points"]], ["passed"] * 3)
        self.assertEqual([point.get("company", {}).get("problem", "")[:4] for point in row["points"]], ["", "relu", "conv"])
        self.assertFalse(set(row["cpus"]) & set(row["beside_cpus"]))
        for point in row["points"][1:]:
            self.assertGreaterEqual(point["figures"]["companion_runs"], 9)
            self.assertGreater(point["figures"]["companion_rate"], 0)
        self.assertEqual([(one["together"], one["alone"]) for one in row["slow_downs"]], [(1, 0), (2, 0)])
        self.assertIn("--beside 'relu x=4096' --beside 'conv x=1x8x14x14", row["repro"])
        with sqlite3.connect(store) as database:
            settings = [company for company, in database.execute("SELECT company FROM setting ORDER BY id")]
            tasks = [text for text, in database.execute("SELECT text FROM task ORDER BY id")]
        database.close()
        self.assertEqual(settings[0], "{}")
        self.assertEqual(len(settings), 3)
        self.assertEqual([task.partition(" | beside ")[2][:4] for task in tasks], ["", "relu", "conv"])
        matrix = self.figures("ops", "analyze", "--what", "company,best", *at)
        self.assertEqual(sorted(one["company"][:11] for one in matrix["company"]), ["beside conv", "beside relu"])
        for one in matrix["company"]:
            together = 1 if one["company"].startswith("beside relu") else 2
            self.assertAlmostEqual(one["alone_ms"], row["points"][0]["time"]["median_ms"], delta=2e-6)
            self.assertAlmostEqual(one["together_ms"], row["points"][together]["time"]["median_ms"], delta=2e-6)
            self.assertAlmostEqual(one["ratio"], row["slow_downs"][together - 1]["ratio"], delta=1e-2 * one["ratio"])
            self.assertLessEqual(one["ratio_low"], one["ratio_high"])
        self.assertEqual(len(matrix["best"]["points"]), 3)  # cells
        text = self.lathe("ops", "analyze", "--what", "company", *at).stdout
        self.assertIn("lathe:auto (ops, 1 thread), time beside B / time alone:", text)
        self.assertIn("B1: beside ", text)
        # Of two experiments only points with equal company match.
        first, second = [one["uuid"] for one in self.figures("store", "list", *at)["experiments"]]
        diff = self.figures("ops", "diff", first, second, *at)
        self.assertEqual((diff["only_before"], diff["only_after"]), (0, 2))
        exported = self.path("company.csv")
        self.lathe("store", "export", exported, "--format", "csv", *at)
        with open(exported) as file:
            self.assertEqual(sorted(line["company"][:6] for line in csv.DictReader(file)), ["", "", "beside", "beside"])
        named = json.loads(self.lathe("store", "export", "-", "--format", "benchmark-json", "--experiment", second, *at).stdout)["benchmarks"]
        self.assertEqual(len({entry["name"] for entry in named}), 3)
        self.assertEqual(len({entry["name"] for entry in named if "beside" in entry["name"]}), 2)
        # Documents of `ops bench --json` say it, too.
        both = self.path("figures-of-bench.json")
        with open(both, "w") as file:
            json.dump(figures, file)
        again = self.figures("ops", "diff", both, both)
        self.assertEqual((len(again["points"]), again["only_before"] + again["only_after"]), (3, 0))
        archive = self.path("company.jsonl")
        self.lathe("store", "export", archive, *at)
        self.lathe("store", "import", archive, "--store", self.path("again.db"))
        again = self.figures("ops", "analyze", "--what", "company", "--store", self.path("again.db"))
        key = lambda one: one["company"]
        self.assertEqual(sorted(again["company"], key=key), sorted(matrix["company"], key=key))

    def test_a_network_in_company_is_not_the_measured_one(self):
        store = self.path("network.db")
        at = ["--store", store]
        self.lathe("verify", self.net)
        self.lathe("bench", self.net, "--repetitions", "8", *at)
        self.lathe("ops", "bench", "--from-model", self.net, "--provider", "lathe", "--starts", "1", "--max-seconds", "0.05", *at)
        estimate = lambda: self.figures("ops", "analyze", "--what", "estimate", "--from-model", self.net, *at)["estimate"]
        before = estimate()
        rows = Rows(store)
        company = json.dumps({"problem": "relu x=64", "provider": "lathe:auto", "threads": 1, "place": "cache", "least_runs": 3})
        for alone in rows.db.execute("SELECT * FROM point WHERE status IN ('passed', 'mistrusted') ORDER BY id").fetchall():
            key = f"in company {alone['setting']}"
            known = rows.one("SELECT id FROM setting WHERE key = ?", key)
            setting = known["id"] if known else rows.copy("setting", rows.one("SELECT * FROM setting WHERE id = ?", alone["setting"]), key=key, company=company)
            together = rows.copy("point", alone, key=f"in company {alone['id']}", setting=setting, measured="2036-01-01T00:00:00.000000Z")
            for sample in rows.db.execute("SELECT * FROM sample WHERE point = ?", (alone["id"],)).fetchall():
                rows.copy("sample", sample, point=together, wall_ns=1)
        rows.db.commit()
        rows.db.close()
        self.assertEqual(estimate(), before)
        self.assertTrue(all("measured_ms" in one for one in before), before)

    @unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
    def test_too_few_runs_beside_are_mistrusted(self):
        at = ["--store", self.path("few.db")]
        figures = self.figures(*BENCH, "--beside", "ic32ih28oc32kh3ph1", "--beside-runs", "1000000", *QUICK, *at, code=1)
        alone, together = figures["rows"][0]["points"]
        self.assertEqual((alone["status"], together["status"]), ("passed", "mistrusted"))
        self.assertRegex(together["reason"], r"runs of the companion ended within the timed runs of a start, expected at least 1000000 \(--beside-runs\)")
        self.assertIn("company", self.figures("ops", "analyze", "--what", "company", *at)["not_applicable"])

    @unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
    def test_outputs_are_checked_in_company(self):
        figures = self.figures(*BENCH, "--beside", "relu:x=4096", "--check-only", "--no-store")
        self.assertEqual([point["status"] for point in figures["rows"][0]["points"]], ["passed", "passed"])

    @unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
    def test_companions_end_with_their_laboratory(self):
        running = subprocess.Popen([LATHE, *BENCH, "--beside", "relu:x=4096", "--max-seconds", "100", "--repetitions", "1000", "--no-store"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        workers = []
        while len(workers) < 2 and time.monotonic() < until and running.poll() is None:
            workers = children(running.pid)
            time.sleep(0.01)
        self.assertEqual(len(workers), 2, "the measured process and its companion")
        running.send_signal(signal.SIGKILL)
        running.wait()
        while any(map(runs, workers)) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertFalse([worker for worker in workers if runs(worker)])


if __name__ == "__main__":
    main()
