"""`lathe records`, and compilations that use the best ones."""
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess

import numpy as np

from fixture import LATHE, Cli, main, one_outcome

TVM = {"input": ["llvm -mcpu=skylake-avx512", "conv2d_NCHWc.x86", [["TENSOR", [1, 3, 224, 224], "float32"], [2, 2], "NCHW"], {}],
       "config": {"index": 172, "code_hash": None, "entity": [["tile_ic", "sp", [-1, 3]], ["unroll_kw", "ot", True]]},
       "result": [[0.0045], 0, 0.53, 1676344759.5], "version": 0.2, "tvm_version": "0.10.0"}


class Records(Cli):
    knows_machine = True

    @classmethod
    def setUpClass(cls):
        os.environ.pop("LATHE_NO_RECORDS", None)  # which the tests of all other verbs have
        super().setUpClass()

    def explained(self, node):
        """Task and chosen schedule of the kernel that computes `node`, and another legal schedule."""
        kernel = self.figures("compile", self.net, "--explain", node, "--no-records")["kernel"]
        chosen, mine = kernel["chosen"]["schedule"], self.path("explained.txt")
        with open(mine, "w") as file:
            file.write(f"{node}: {next(c['schedule'] for c in kernel['best'] if c['schedule'] != chosen)}\n")
        return kernel["task"], chosen, self.kernel_of(self.schedules("--no-records", "--schedule", mine), node)[0]

    def store(self, name, other_cpu=None):
        """A store with this machine as its platform, maybe another, and no record."""
        path = self.path(name)
        self.lathe("bench", self.package, "--repetitions", "2", "--store", path)
        if other_cpu:
            self.lathe("ops", "bench", "eltwise", "2x64:relu", "--provider", "lathe", "--max-seconds", "0.02", "--starts", "1", "--store", path,
                       "--via", self.pretend(other_cpu))
            with sqlite3.connect(path) as database:
                database.execute("DELETE FROM tuning")
                database.execute("DELETE FROM task")
            database.close()
        return path

    def put(self, store, task, schedule, seconds=1e-3, *, family="contraction", status="passed", verdict=None, searcher="xgb", day=1, reason="",
            version=None, cpu=None):
        """A record as a search writes it. What has a time was faster than the default schedule unless `verdict` says otherwise."""
        verdict = verdict or ("faster" if seconds and searcher else "open")
        version = version or self.lathe("--version").stdout.split()[1]
        with sqlite3.connect(store) as database:
            [platform] = database.execute("SELECT id FROM platform WHERE cpu = ?" if cpu else "SELECT min(id) FROM platform", [cpu] if cpu else []).fetchone()
            database.execute("INSERT INTO task(text, family, kernel) VALUES (?, ?, 'module {}') ON CONFLICT DO NOTHING", (task, family))
            database.execute("INSERT OR REPLACE INTO tuning(task, platform, schedule, status, reason, seconds, samples, verdict, searcher, build_seconds, run_seconds,"
                             " version, build, measured) SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, 0.5, 0.25, ?, 'b', ? FROM task WHERE text = ?",
                             (platform, schedule, status, reason, seconds, json.dumps([round(seconds * 1e9)] * 3) if seconds else "[]", verdict, searcher, version,
                              f"2026-01-{day:02}T00:00:00.000000Z", task))
        database.close()

    def schedules(self, *flags):
        """Schedule and origin of each kernel of the network, compiled with these flags."""
        package = self.path("shown.lathe")
        self.lathe("compile", self.net, "-o", package, *flags)
        return {kernel["name"]: (kernel["schedule"], kernel["origin"]) for kernel in self.figures("inspect", package)["plans"][0]["kernels"]}

    def kernel_of(self, kernels, node):
        return next(value for name, value in kernels.items() if name.startswith(node))

    def test_compilations_use_the_best(self):
        store = self.store("used.db")
        task, chosen, other = self.explained("conv2")
        without = self.schedules("--no-records")
        self.assertEqual(self.kernel_of(without, "conv2")[0], chosen)
        self.assertEqual(self.schedules("--store", store), without)
        self.put(store, task, other, day=2)
        with_records = self.schedules("--store", store)
        self.assertEqual(self.kernel_of(with_records, "conv2"), (other, "the record of 2026-01-02 in used.db"))
        self.assertEqual({name for name in without if without[name] != with_records[name]}, {next(name for name in without if name.startswith("conv2"))})
        package = self.path("tuned.lathe")
        said = self.lathe("compile", self.net, "-o", package, "--store", store).stdout
        self.assertIn(f"1 of {len(without)} kernels have schedules of records in {store}", said)
        self.assertEqual(self.figures("compile", self.net, "-o", package, "--store", store)["record_kernels"], 1)
        self.assertIn(f": {other}  # the record of 2026-01-02 in used.db\n", self.lathe("compile", self.net, "--emit", "schedule", "--store", store).stdout)
        self.assertIn("the record of 2026-01-02 in used.db", self.lathe("compile", self.net, "--explain", "conv2", "--store", store).stdout)
        self.lathe("verify", self.net, "--package", package)
        # Without: by the flag, by the environment, for references.
        self.assertNotIn("of records", self.lathe("compile", self.net, "-o", package, "--no-records").stdout)
        quiet = subprocess.run([LATHE, "compile", self.net, "-o", package, "--store", store], capture_output=True, text=True,
                               env={**os.environ, "LATHE_NO_RECORDS": "1"})
        self.assertNotIn("of records", quiet.stdout)
        self.error("compile", self.net, "-o", package, "--store", self.path("nowhere.db"), says="--store .*nowhere.db: does not exist")
        self.error("compile", self.net, "-o", package, "--store", store, "--no-records", says="--no-records.*--store|--store.*--no-records")
        # A line of the user's own file comes first.
        with open(self.path("mine.txt"), "w") as file:
            file.write(f"conv2: {chosen}\n")
        mine = self.schedules("--store", store, "--schedule", self.path("mine.txt"))
        self.assertRegex(self.kernel_of(mine, "conv2")[1], "mine.txt, line 1$")

    def test_records_of_other_work_are_not_used(self):
        store = self.store("other.db", "Twin CPU")
        task, chosen, other = self.explained("conv2")
        cpu = re.search(r"1 thread \| (\S+) ", task)[1]
        self.put(store, task.replace(f"| {cpu} ", "| z80 "), other)
        self.put(store, task.replace("1 thread ", "2 threads "), other)
        self.put(store, task, other, searcher="")  # of `ops bench`: nobody has compared it with the default
        self.put(store, task, other + " ", None, status="failed", reason="wrong")
        self.put(store, task, other + "  ", 1e-9, verdict="open")  # a search has measured it, and ended before it compared
        self.assertEqual(self.schedules("--store", store), self.schedules("--no-records"))
        # Of another machine with the same CPU, features and caches it is used, and ours comes first.
        self.put(store, task, other, cpu="Twin CPU", day=3)
        self.assertEqual(self.kernel_of(self.schedules("--store", store), "conv2")[0], other)
        self.put(store, task, chosen, cpu=None, day=4)
        self.assertEqual(self.kernel_of(self.schedules("--store", store), "conv2"), (chosen, "the record of 2026-01-04 in other.db"))

    def test_what_is_no_gain_is_not_used(self):
        store = self.store("verdicts.db")
        task, chosen, other = self.explained("conv2")
        self.put(store, task, chosen, 2e-3, verdict="open")
        self.put(store, task, other, 1e-3)
        self.assertEqual(self.kernel_of(self.schedules("--store", store), "conv2")[0], other)
        self.put(store, task, other, 1e-3, verdict="no_gain")
        self.assertEqual(self.schedules("--store", store), self.schedules("--no-records"))
        self.put(store, task, other, 3e-3, verdict="faster")  # in turns, which counts more than the times
        self.assertEqual(self.kernel_of(self.schedules("--store", store), "conv2")[0], other)

    def test_a_measurement_changes_no_verdict(self):
        """`ops bench` measures the fastest schedule of a search. Its time is added to the record."""
        store, problem = self.store("measured.db"), "ic8ih12oc8kh3ph1"
        at = ["--store", store]
        ours = [problem, "--provider", "lathe", "--max-seconds", "0.05", "--starts", "1"]
        self.lathe("tune", "--problem", f"conv2d:{problem}", "--trials", "4", "--margin", "0", *at, "--quiet")
        with sqlite3.connect(store) as database:
            one_outcome(database)
            database.execute("UPDATE tuning SET verdict = 'no_gain' WHERE seconds IS NOT NULL")
        database.close()
        before = self.figures("records", "list", *at)["records"]
        self.lathe("ops", "bench", "conv2d", *ours, "--schedule", "records", *at)
        after = self.figures("records", "list", *at)["records"]
        self.assertEqual(len(after), len(before))
        for now, then in zip(sorted(after, key=lambda r: r["schedule"]), sorted(before, key=lambda r: r["schedule"])):
            outcomes = now.pop("outcomes", [])
            self.assertEqual(now, then)
            if outcomes:
                self.assertEqual([outcome.get("searcher", "") for outcome in outcomes], [then["searcher"], ""])
                added = outcomes[1]["seconds"]
        self.assertGreater(added, 0)

    def test_records_that_do_not_fit_any_more(self):
        task, chosen, other = self.explained("conv2")
        for title, schedule, says in [("undeclared", "direct/99 px=1", "is not used: schedule 'direct/99 px=1'"), ("strange", "nonsense", "is not used: "),
                                      ("illegal", "softmax/2 grain=1", "is not used for .*conv2.*is not legal")]:
            with self.subTest(title):
                store = self.store(f"{title}.db")
                self.put(store, task, schedule)
                self.assertEqual(self.schedules("--store", store), self.schedules("--no-records"))
                done = self.lathe("compile", self.net, "-o", self.path("x.lathe"), "--store", store)
                self.assertRegex(done.stdout, f"note: the record of 2026-01-01 in {title}.db " + says)
                self.assertEqual(done.stderr, "")

    def test_a_tuned_package_is_never_served_from_before(self):
        cache = os.path.join(os.environ["XDG_CACHE_HOME"], "lathe", "packages")
        shutil.rmtree(cache, ignore_errors=True)
        packages = lambda: set(glob.glob(os.path.join(cache, "*.lathe")))
        task, chosen, other = self.explained("conv2")
        store = os.path.join(os.environ["XDG_DATA_HOME"], "lathe", "lathe.db")  # the default one
        os.makedirs(os.path.dirname(store), exist_ok=True)
        shutil.copy(self.store("empty.db"), store)
        self.addCleanup(os.remove, store)

        def run(*flags):
            done = self.lathe("run", self.net, "--fill", "ones", "-o", self.path("out.npz"), *flags)
            return dict(np.load(self.path("out.npz")))["prob"], done.stderr

        expected, said = run()
        self.assertEqual((said, len(packages())), ("", 1))
        shipped = glob.glob(os.path.join(os.path.dirname(LATHE), "..", "share", "lathe", "records", "*.jsonl"))
        self.assertEqual(run("--no-records")[1], "")
        self.assertEqual(len(packages()), 2 if shipped else 1)  # with no record of any use the key is the same
        before = packages()
        self.put(store, task, other)
        result, said = run()
        np.testing.assert_allclose(result, expected, rtol=1e-5)
        self.assertRegex(said, r"^lathe run: 1 of \d+ kernels have schedules of records in .*/lathe.db \(--no-records compiles without\)\n$")
        tuned = packages() - before
        self.assertEqual(len(tuned), 1)
        self.assertEqual(run()[1], said)
        self.assertEqual(run("--quiet")[1], "")
        self.assertEqual(packages(), before | tuned)
        self.assertEqual(run("--no-records")[1], "")
        self.put(store, task, chosen, 1e-4)  # now another one is the best
        run()
        self.assertEqual(len(packages()), len(before) + 2)
        self.put(store, task, "direct/1 px=1", None, status="crashed", reason="signal 11")  # which changes nothing that compilations use
        run()
        self.assertEqual(len(packages()), len(before) + 2)
        for schedule in (other, chosen):  # nothing is compared any more
            self.put(store, task, schedule, verdict="open")
        self.assertEqual(run()[1], "")
        self.assertEqual(len(packages()), len(before) + 2)
        # Every verb that compiles.
        self.put(store, task, other)
        for verb in (["bench", "--repetitions", "2", "--no-store"], ["profile", "--repetitions", "2", "--no-store"], ["verify", "--seeds", "1"],
                     ["compare", "--with", "reference", "--check-only", "--no-store"]):
            self.assertIn("kernels have schedules of records", self.lathe(verb[0], self.net, *verb[1:]).stderr)
        rows = self.figures("profile", self.net, "--repetitions", "2", "--no-store")["rows"]
        self.assertIn((other, "the record of 2026-01-01 in lathe.db"), {(row["schedule"], row["origin"]) for row in rows})
        # Times of tuned and untuned packages are not those of one setting.
        at = ["--store", store]
        for flags in ([], ["--no-records"]):
            self.lathe("bench", self.net, "--repetitions", "2", *flags, *at)
        extras = [self.figures("store", "show", e["uuid"], *at)["points"][0]["setting"]["extra"] for e in self.figures("store", "list", *at)["experiments"][-2:]]
        self.assertEqual([sorted(extra) for extra in extras], [["compile", "records"], ["compile"]])
        self.assertEqual(extras[0]["compile"], extras[1]["compile"])

    def test_a_store_that_cannot_be_read(self):
        store = os.path.join(os.environ["XDG_DATA_HOME"], "lathe", "lathe.db")
        os.makedirs(os.path.dirname(store), exist_ok=True)
        with open(store, "w") as file:
            file.write("no database, but a text that is long enough to be taken for one " * 20)
        self.addCleanup(os.remove, store)
        for verb in (["compile", self.net, "-o", self.path("x.lathe")], ["run", self.net, "--fill", "ones", "--no-cache"]):
            done = self.lathe(*verb)
            self.assertRegex(done.stderr, r"^lathe: compiles without tuning records: .*lathe.db: file is not a database\n$")
        self.assertEqual(self.lathe("compile", self.net, "-o", self.path("x.lathe"), "--no-records").stderr, "")
        self.error("compile", self.net, "-o", self.path("x.lathe"), "--store", store, says="lathe.db: file is not a database")

    def filled(self, name):
        store = self.store(name, "Another CPU")
        for number in range(6):
            failed = number == 5
            self.put(store, "task/2 | conv | znver9 avx2", f"direct/1 px={number + 2}", None if failed else 1e-3 * (number + 1), status="crashed" if failed else "passed",
                     reason="signal 11" if failed else "", version="0.0.9" if number == 2 else None, verdict="faster" if number == 4 else "open")
        self.put(store, "task/2 | softmax | znver9 avx2", "softmax/2 grain=1", None, family="reduction", status="timed_out", reason="2 s")
        self.put(store, "task/2 | conv | znver9 avx2", "direct/1 px=2", 5e-3, cpu="Another CPU", verdict="open")
        return store

    def test_list_and_best(self):
        at = ["--store", self.filled("list.db")]
        records = self.figures("records", "list", *at)["records"]
        self.assertEqual(len(records), 8)
        self.assertEqual([r["schedule"] for r in records][:3], ["direct/1 px=2", "direct/1 px=3", "direct/1 px=4"])
        self.assertEqual((records[0]["samples_ns"], records[0]["family"], records[0]["searcher"], records[0]["build_seconds"]), ([1000000] * 3, "contraction", "xgb", 0.5))
        count = lambda *flags: len(self.figures("records", "list", *flags, *at)["records"])
        self.assertEqual([count(*flags) for flags in (["--task", "softmax"], ["--family", "contraction"], ["--cpu", "another"], ["--cpu", "znver9"],
                                                      ["--status", "crashed,timed_out"], ["--status", "passed"], ["--platform", next(r["platform"] for r in records if r["cpu"] == "Another CPU")[:9]])], [1, 7, 1, 8, 2, 6, 1])
        self.error("records", "list", "--status", "splendid", *at, says="no status is called 'splendid', expected passed")
        text = self.narrow("records", "list", *at)
        self.assertIn("8 tuning records", text)
        wide = self.lathe("records", "list", "--wide", *at).stdout
        self.assertIn("signal 11", wide)
        self.assertRegex(wide, r"\s1\.000+\s+passed")  # milliseconds
        self.assertIn("... and 7 more (--rows 0 shows all)", self.lathe("records", "list", "--rows", "1", *at).stdout)
        tasks = self.figures("records", "best", *at)["tasks"]
        shown = {(t["task"].split(" | ")[1], t["cpu"] == "Another CPU"): t for t in tasks}
        conv = shown["conv", False]
        self.assertEqual((conv["trials"], conv["failures"], conv["best"]["schedule"]), (6, {"crashed": 1}, "direct/1 px=2"))
        self.assertEqual((shown["softmax", False]["best"], shown["softmax", False]["failures"]), (None, {"timed_out": 1}))
        self.assertEqual(shown["conv", True]["trials"], 1)
        self.assertIn("none passed", self.narrow("records", "best", *at))
        self.assertEqual(len(self.figures("records", "best", "--family", "reduction", *at)["tasks"]), 1)
        self.error("records", "list", "--store", self.path("nowhere.db"), says="nowhere.db: does not exist")
        self.error("records", "frobnicate", says="one of list, best, export, import, merge, prune, ship, got 'frobnicate'")
        self.error("store", "tuning", says="got 'tuning'")

    def test_records_go_from_store_to_store(self):
        store = self.filled("export.db")
        archive, again = self.path("records.jsonl.gz"), self.path("again.jsonl")
        self.assertIn("8 tuning records of 2 platforms", self.lathe("records", "export", archive, "--store", store).stdout)
        copy = self.path("import.db")
        counts = self.figures("records", "import", archive, "--store", copy)
        self.assertEqual((counts["tuning"], counts["counts"]["points"]), ({"added": 8, "replaced": 0, "known": 0}, 0))
        self.assertEqual(self.figures("records", "import", archive, store, "--store", copy)["tuning"], {"added": 0, "replaced": 0, "known": 16})
        everything = self.path("everything.jsonl")
        self.lathe("store", "export", everything, "--store", store)
        merged = self.path("merged.db")
        self.assertEqual(self.figures("records", "merge", merged, everything, archive)["tuning"]["added"], 8)
        exported = [self.lathe("records", "export", "-", "--store", one).stdout for one in (store, copy, merged)]
        self.assertEqual(exported, [exported[0]] * 3)
        self.assertEqual(exported[0], self.lathe("store", "export", "-", "--kind", "tune", "--store", store).stdout)
        self.lathe("records", "export", again, "--status", "crashed", "--store", store)
        with open(again) as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([next(iter(line)) for line in lines], ["lathe_store", "platform", "task", "tuning"])
        with open(again, "a") as file:
            file.write("{}\n")
        self.assertIn("again.jsonl:5: ", self.error("records", "import", again, "--store", copy, says="again.jsonl"))

    def test_prune(self):
        store = self.filled("prune.db")
        at = ["--store", store]
        self.error("records", "prune", *at, says="expected --keep N, --failures or --other-versions")
        for flags, removed, kept in [(["--keep", "2"], {"slower": 2}, 6),  # of five that passed one was compared with the default
                                     (["--failures"], {"failures": 2}, 6), (["--other-versions"], {"other_versions": 1}, 7),
                                     (["--keep", "1", "--failures", "--other-versions"], {"slower": 2, "failures": 2, "other_versions": 1}, 3),
                                     (["--keep", "0", "--family", "reduction", "--failures"], {"failures": 1}, 7)]:
            with self.subTest(" ".join(flags)):
                copy = self.path("pruned.db")
                with sqlite3.connect(store) as database:
                    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                database.close()
                shutil.copy(store, copy)
                dry = self.figures("records", "prune", *flags, "--dry-run", "--store", copy)
                self.assertEqual(len(self.figures("records", "list", "--store", copy)["records"]), 8)
                done = self.figures("records", "prune", *flags, "--store", copy)
                self.assertEqual({key: count for key, count in done["reasons"].items() if count}, removed)
                self.assertEqual((done["removed"], done["kept"]), (8 - kept, kept))
                self.assertEqual({**dry, "dry_run": False}, done)
                left = self.figures("records", "list", "--store", copy)["records"]
                self.assertEqual(len(left), kept)
                self.assertTrue("--family" in flags or any(r.get("verdict") == "faster" for r in left))
                os.remove(copy)
        self.assertIn("would remove 2 of 8 tuning records: 0 of other versions, 2 without a time, 0 slower", self.lathe("records", "prune", "--failures", "--dry-run", *at).stdout)

    def test_logs_of_autotvm(self):
        log, store = self.path("resnet50.log"), self.path("tvm.db")
        failed = json.loads(json.dumps(TVM))
        failed["config"]["index"] = 9
        failed["result"] = [[1e9], 4, 3.5, 1676344760.0]
        with open(log, "w") as file:
            file.write(json.dumps(TVM) + "\n" + json.dumps(failed) + "\n")
        self.assertEqual(self.figures("records", "import", log, "--store", store)["tuning"]["added"], 2)
        self.assertEqual(self.figures("records", "import", log, "--store", store)["tuning"]["known"], 2)
        passed, crashed = self.figures("records", "list", "--cpu", "skylake", "--store", store)["records"]
        self.assertEqual(passed["task"], 'autotvm/0.2 | conv2d_NCHWc.x86 | float32 1x3x224x224; [2,2]; "NCHW" | llvm -mcpu=skylake-avx512')
        self.assertEqual((passed["schedule"], passed["seconds"]), ("autotvm/0.2 index=172 tile_ic=-1,3 unroll_kw=true", 0.0045))
        self.assertEqual((crashed["status"], crashed["reason"]), ("crashed", "runtime error on the device"))
        self.assertNotIn("seconds", crashed)
        self.assertEqual(self.schedules("--store", store), self.schedules("--no-records"))
        self.lathe("records", "prune", "--task", "autotvm/", "--keep", "0", "--failures", "--store", store)
        self.assertEqual(self.figures("records", "list", "--store", store)["records"], [])
        with open(log, "a") as file:
            file.write(json.dumps({**TVM, "result": [[], 0, 1, 1]}) + "\n")
        self.error("records", "import", log, "--store", store, says=r"resnet50.log:3: the result has no times")


if __name__ == "__main__":
    main()
