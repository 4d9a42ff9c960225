"""`lathe tune --beside` and `lathe compile --beside`: what is measured in company, and that its records stay apart from those of kernels alone."""
import json
import os
import re
import signal
import sqlite3
import subprocess
import time
import unittest

import records_test
import tune_test
from fixture import LATHE, Cli, main
from ops_company_test import CPUS, children, runs
from tune_killed_test import session


@unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
class Beside(Cli):
    knows_machine = True
    put, store, explained = records_test.Records.put, records_test.Records.store, records_test.Records.explained
    schedules, kernel_of = records_test.Records.schedules, records_test.Records.kernel_of
    pair, convolutions = tune_test.Tune.pair, tune_test.Tune.convolutions

    @classmethod
    def setUpClass(cls):
        os.environ.pop("LATHE_NO_RECORDS", None)
        super().setUpClass()

    def company(self, *flags):
        return self.figures("compile", self.net, "--beside", self.package, *flags, "-o", self.path("named.lathe"))["company"]

    def test_flags(self):
        tune = ["tune", self.net]
        self.error(*tune, "--beside-runs", "3", says="--beside-runs 3: nothing runs beside without --beside")
        self.error(*tune, "--beside", self.net, says="net.mlir: expected a package, which lathe compile writes")
        self.error(*tune, "--beside", self.package, "--beside-threads", "1000", says="--beside: 1 and 1000 threads beside each other need as many CPUs")
        self.error("tune", self.net, "--threads", "2", "--streams", "auto", "--beside", self.package, says="--streams auto: streams are compared alone")
        self.error("tune", "--all", self.net, "--beside", self.package, says="--beside .*: --all measures models here, alone")
        self.error("compile", self.net, "-o", self.path("x.lathe"), "--beside", self.package, "--no-records", says="--beside .*: no records are used")

    def test_company_is_named_as_in_points(self):
        """`lathe corun` gives the point of the first of two models the same company."""
        store, moves, company = self.path("corun.db"), self.path("moves.json"), self.company()
        with open(moves, "w") as file:
            json.dump({"models": [{"slots": "0"}, {"slots": re.search(r", slot (\d+) by", company)[1]}]}, file)
        self.lathe("verify", self.net, "--package", self.package)
        self.lathe("corun", self.package, self.package, "--policy", moves, "--starts", "3", "--max-seconds", "0.5", "--window", "0.01", "--store", store)
        with sqlite3.connect(store) as database:
            found = [json.loads(company) for company, in database.execute("SELECT DISTINCT company FROM setting") if company != "{}"]
        database.close()
        named = ["beside {problem} by {provider} on {threads} thread, same {place}, at least {least_runs} runs a start".format(**one) for one in found]
        self.assertIn(company, named)

    def test_records_in_company_and_alone_stay_apart(self):
        node, company, other = "conv2", self.company(), self.company("--beside-runs", "3")
        task, prior, alone = self.explained(node)
        best = self.figures("compile", self.net, "--explain", node, "--no-records")["kernel"]["best"]
        together = next(one["schedule"] for one in best if one["schedule"] not in (prior, alone))
        in_company = f"{task} | {company}"
        tasks = {"alone": [(task, alone, 1e-3)], "together": [(in_company, together, 5e-4)]}
        tasks["both"] = tasks["alone"] + tasks["together"]

        def made(name, which):
            store = self.store(name)
            for text, schedule, seconds in tasks[which]:
                self.put(store, text, schedule, seconds)
            return store

        store, archive = made("both.db", "both"), self.path("both.jsonl")
        parts = [made("alone.db", "alone"), made("together.db", "together")]
        self.lathe("records", "export", archive, "--store", store)
        stores = {"measured": store, "merged": self.path("merged.db"), "merged in another order": self.path("reverse.db"),
                  "imported": self.path("imported.db"), "pruned": self.path("pruned.db")}
        self.lathe("records", "merge", stores["merged"], *parts)
        self.lathe("records", "merge", stores["merged in another order"], *reversed(parts))
        self.lathe("records", "import", archive, "--store", stores["imported"])
        self.lathe("records", "import", archive, "--store", stores["pruned"])
        self.lathe("records", "prune", "--keep", "1", "--failures", "--store", stores["pruned"])
        beside = ["--beside", self.package]

        def kernel(at, *flags):
            return self.kernel_of(self.schedules("--store", at, *flags), node)

        for name, at in stores.items():
            with self.subTest(name):
                self.assertEqual({one["best"]["task"]: one["best"]["schedule"] for one in self.figures("records", "best", "--store", at)["tasks"]}, {task: alone, in_company: together})
                self.assertEqual(kernel(at)[0], alone)
                schedule, origin = kernel(at, *beside)
                self.assertEqual(schedule, together)
                self.assertRegex(origin, r"the record of 2026-01-01 in .*\.db, in company")
                self.assertEqual(kernel(at, *beside, "--beside-runs", "3")[0], alone)
        self.assertEqual([kernel(at)[0] for at in parts], [alone, prior])
        self.assertEqual([kernel(at, *beside)[0] for at in parts], [alone, together])

        # What a search begins with.
        known = lambda *flags: next(one["trials"] for one in self.figures("tune", self.net, "--list-tasks", "--store", store, *flags)["tasks"] if one["first_node"] == node)
        self.put(store, in_company, prior, 2e-3, verdict="no_gain")
        self.put(store, in_company, together + " ", None, status="mistrusted", reason="1 run of the companion")  # is tried again
        self.assertEqual((known(), known(*beside), known(*beside, "--beside-runs", "3")), (1, 2, 0))

        # None in company is shipped.
        folder = self.path("shipped")
        self.lathe("records", "ship", folder, "--store", store)
        archives = [os.path.join(folder, name) for name in os.listdir(folder)]
        with open(archives[0]) as file:
            shipped = [json.loads(line)["tuning"]["task"] for line in file if line.startswith('{"tuning"')]
        self.assertEqual(shipped, [task])

        # How many are of which kind, and what the package says of it.
        package, first = self.path("counted.lathe"), self.explained("conv1")
        self.put(store, first[0], first[2])
        counted = self.lathe("compile", self.net, "--store", store, *beside, "-o", package)
        self.assertIn(f"2 of 5 kernels have schedules of records in {store}: 1 in this company, 1 of kernels alone (--no-records", counted.stdout)
        self.assertEqual(counted.stderr, "")
        self.assertIn(company, self.lathe("inspect", package).stdout)
        self.assertIn(company, self.lathe("compile", self.net, "--store", store, *beside, "--emit", "schedule").stdout)
        self.assertNotIn("beside", self.lathe("compile", self.net, "--store", store, "--emit", "schedule").stdout)
        without = self.lathe("compile", self.net, "--store", store, *beside, "--beside-runs", "3", "-o", package)
        self.assertEqual(without.stderr, f"lathe compile: there are no tuning records {other}: those of kernels alone are used\n")
        self.assertIn("0 in this company, 2 of kernels alone", without.stdout)
        self.lathe("corun", f"{self.package},{package}", self.package, "--starts", "3", "--max-seconds", "0.2", "--window", "0.005", "--no-store",
                   "--policy", "nash", "--max-measurements", "4", "--instances", "1", "--least-runs", "1")

        # A search in company that found no gain decides against the record of the kernel alone.
        with sqlite3.connect(store) as database:
            database.execute("UPDATE tuning SET verdict = 'no_gain' WHERE task = (SELECT id FROM task WHERE text = ?)", (in_company,))
        database.close()
        self.assertEqual((kernel(store)[0], kernel(store, *beside)[0]), (alone, prior))

    def test_times_that_decide_graphs_stay_apart(self):
        net, store, package = self.pair(), self.path("graph.db"), self.path("pair.lathe")
        self.lathe("tune", net, "--trials", "1", "--margin", "0.9", "--store", store)
        company = self.company()
        whole = lambda *flags: (self.lathe("compile", net, "-o", package, *flags),
                                any(k["schedule"].startswith("separable/") for k in self.figures("inspect", package)["plans"][0]["kernels"]))[1]
        predicted = whole("--no-records")
        times = {True: 9e-5, False: 1e-6} if predicted else {True: 1e-6, False: 9e-5}  # of one kernel; the others take 10 us each
        with sqlite3.connect(store) as database:
            database.execute("DELETE FROM tuning WHERE seconds IS NULL OR task NOT IN (SELECT id FROM task WHERE text LIKE 'graph/1 | %')")
            database.execute("INSERT INTO task(text, family) SELECT text || ' | ' || ?, family FROM task WHERE text LIKE 'graph/1 | %'", (company,))
            database.execute("INSERT INTO tuning(task, platform, schedule, status, reason, seconds, samples, verdict, searcher, version, build, measured)"
                             " SELECT (SELECT id FROM task WHERE text = (SELECT text FROM task WHERE id = tuning.task) || ' | ' || ?), platform, schedule, status,"
                             " reason, seconds, samples, verdict, searcher, version, build, measured FROM tuning", (company,))
            set_times = ("UPDATE tuning SET outcomes = '[]', verdict = 'faster', seconds = CASE WHEN schedule LIKE 'separable/%' THEN ? ELSE 1e-5 END"
                         " WHERE task IN (SELECT id FROM task WHERE (text LIKE '% | beside %') = ?)")
        database.close()
        for changed in (False, True):  # in company; the times of the kernels alone say the reverse
            with sqlite3.connect(store) as database:
                database.execute(set_times, (times[changed], True))
                database.execute(set_times, (times[not changed], False))
            database.close()
            self.assertEqual(whole("--store", store, "--beside", self.package), predicted != changed)
            self.assertEqual(whole("--store", store), predicted == changed)
            self.assertEqual(whole("--store", store, "--beside", self.package, "--beside-runs", "3"), predicted == changed)

    def test_a_search_in_company(self):
        store = self.path("search.db")
        command = ["tune", self.net, "--tasks", "conv2", "--trials", "4", "--margin", "0", "--store", store, "--compare", "--beside", self.package]
        report = self.figures(*command)
        company = self.company()
        self.assertEqual((report["company"], report["ended"]), (company, "every task is at its limit"))
        self.assertEqual(report["comparison"]["company"], company)
        self.assertGreaterEqual(report["comparison"]["companion_runs"], 60)
        self.assertNotIn("other_processors", report["comparison"])
        self.assertRegex(report["verification"], "^verified: ")
        records = self.figures("records", "list", "--store", store)["records"]
        self.assertEqual(len(records), 4)
        for record in records:
            self.assertTrue(record["task"].endswith(f" | {company}"), record["task"])
            self.assertEqual(record["status"], "passed")
        again = self.lathe(*command).stdout  # goes on from the records
        self.assertEqual(len(self.figures("records", "list", "--store", store)["records"]), 4)
        self.assertIn(f"all times {company}\n", again)
        self.assertRegex(again, r"the model: .* times the speed of the untuned one in company \(")
        alone = self.figures("tune", self.net, "--tasks", "conv2", "--list-tasks", "--store", store)["tasks"]
        self.assertEqual([task["trials"] for task in alone], [0])

    def companion_of(self, running):
        """The process of the companion of a search, once it runs."""
        until = time.monotonic() + 60
        while time.monotonic() < until and running.poll() is None:
            for child in children(running.pid):
                try:
                    with open(f"/proc/{child}/cmdline") as file:
                        if "--corun" in file.read():
                            return child
                except OSError:
                    pass
            time.sleep(0.01)
        self.fail("no companion runs")

    def started(self, store):
        return subprocess.Popen([LATHE, "tune", self.net, "--searcher", "random", "--trials", "10000", "--margin", "0", "--store", store, "--beside", self.package,
                                 "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def test_a_companion_that_ends_is_an_error(self):
        running = self.started(self.path("ended.db"))
        os.kill(self.companion_of(running), signal.SIGKILL)
        said = running.communicate(timeout=60)[1]
        self.assertEqual(running.returncode, 2, said)
        self.assertRegex(said, r"the companion .*net\.lathe: .*was ended by signal 9")

    def test_a_companion_ends_with_its_search(self):
        for ending in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            running = self.started(self.path(f"killed{ending}.db"))
            companion = self.companion_of(running)
            running.send_signal(ending)
            said = running.communicate(timeout=60)[1]
            self.assertNotEqual(running.returncode, 0)
            self.assertNotIn("the companion", said)
            until = time.monotonic() + 10
            while (runs(companion) or session(running.pid)) and time.monotonic() < until:
                time.sleep(0.01)
            self.assertFalse(runs(companion))
            self.assertEqual(session(running.pid), {})


if __name__ == "__main__":
    main()
