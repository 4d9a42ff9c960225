"""Tuning records that come with lathe: how their archive is made, and how compilations use it."""
import glob
import json
import os
import shutil
import sqlite3
import subprocess

from fixture import LATHE, Cli, main, one_outcome

BUILD = os.path.dirname(os.path.dirname(LATHE))


class Shipped(Cli):
    knows_machine = True

    @classmethod
    def setUpClass(cls):
        os.environ.pop("LATHE_NO_RECORDS", None)  # which the tests of all other verbs have
        super().setUpClass()
        cls.prefix = os.path.join(cls.folder.name, "prefix")
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "compiler"], capture_output=True, text=True)
        assert done.returncode == 0, (done.returncode, done.stderr)
        cls.installed = os.path.join(cls.prefix, "bin", "lathe")
        cls.records = os.path.join(cls.prefix, "share", "lathe", "records")
        names = lambda folder: sorted(os.path.basename(path) for path in glob.glob(os.path.join(folder, "*")) if path.endswith(".jsonl"))
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "data", "records")
        assert names(source) == names(cls.records) == names(os.path.join(BUILD, "share", "lathe", "records"))
        # What one real search has found. Its verdicts are set here, since nobody knows what is faster.
        cls.store = os.path.join(cls.folder.name, "tuned.db")
        done = subprocess.run([LATHE, "tune", cls.net, "--trials", "6", "--margin", "0", "--store", cls.store, "--quiet"], capture_output=True, text=True)
        assert done.returncode == 0, (done.returncode, done.stderr)

    def setUp(self):
        shutil.rmtree(self.records, ignore_errors=True)
        os.makedirs(self.records)
        tasks = {task["first_node"]: task for task in self.figures("tune", self.net, "--list-tasks")["tasks"]}
        self.task = tasks["conv2"]["key"]
        self.other_task = tasks["conv1"]["key"]
        self.prior = self.own("--no-records")
        tried = [record["schedule"] for record in self.figures("records", "list", "--store", self.store, "--status", "passed")["records"] if record["task"] == self.task]
        self.first, self.second = [schedule for schedule in tried if not self.is_prior(schedule)][:2]

    def is_prior(self, schedule):
        """True for the schedule that conv2 has without records; a search writes defaults, too."""
        return set(self.prior.split()) <= set(schedule.split())

    def own(self, *flags):
        """The schedule of conv2 with these flags."""
        return self.kernel(LATHE, *flags)[0]

    def kernel(self, program, *flags):
        """Schedule and origin of conv2."""
        package = self.path("shown.lathe")
        done = subprocess.run([program, "compile", self.net, "-o", package, *flags], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        kernels = self.figures("inspect", package)["plans"][0]["kernels"]
        return next((kernel["schedule"], kernel["origin"]) for kernel in kernels if kernel["name"].startswith("conv2"))

    def decided(self, name, **verdicts):
        """A copy of the store in which only these schedules of conv2 have verdicts, given as first="faster"."""
        path = self.path(name)
        with sqlite3.connect(self.store) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        shutil.copy(self.store, path)
        with sqlite3.connect(path) as database:
            one_outcome(database)
            database.execute("UPDATE tuning SET verdict = 'open', measured = '2026-02-03T00:00:00.000000Z'")
            for which, verdict in verdicts.items():
                changed = database.execute("UPDATE tuning SET verdict = ? WHERE schedule = ? AND task = (SELECT id FROM task WHERE text = ?)",
                                           (verdict, getattr(self, which), self.task))
                self.assertEqual(changed.rowcount, 1)
        database.close()
        return path

    def ship(self, store, folder):
        report = self.figures("records", "ship", folder, "--store", store)
        return report, (report["added"], report["changed"], report["removed"])

    def shipped(self, **verdicts):
        """Ships these with the installed lathe. -> the path of the archive"""
        return self.ship(self.decided("shipped.db", **verdicts), self.records)[0]["file"]

    def test_the_archive_has_what_was_faster(self):
        folder = self.path("archives/new")
        report, changes = self.ship(self.decided("one.db", first="faster"), folder)
        self.assertEqual((report["records"], changes), (1, (1, 0, 0)))
        archive = report["file"]
        cpu = report["machine"].split()[0]
        self.assertRegex(archive, f"{folder}/{cpu}-[0-9a-f]{{8}}.jsonl$")
        self.assertTrue(self.task.endswith(" | " + report["machine"]))
        with open(archive) as file:
            text = file.read()
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([next(iter(line)) for line in lines], ["lathe_store", "platform", "task", "tuning"])
        self.assertEqual(lines[2]["task"], {"text": self.task, "family": "contraction"})
        record = lines[3]["tuning"]
        self.assertEqual((record["task"], record["schedule"], record["verdict"]), (self.task, self.first, "faster"))
        self.assertTrue(record["samples_ns"])
        self.assertNotIn("experiment", record)
        self.lathe("records", "import", archive, "--store", self.path("imported.db"))
        # The same again gives the same file; another store changes what it has compared, and leaves the rest.
        def again(changes, **verdicts):
            self.assertEqual(self.ship(self.decided("again.db", **verdicts), folder)[1], changes)
            with open(archive) as file:
                return file.read()
        self.assertEqual(again((0, 0, 0), first="faster"), text)
        self.assertEqual(again((0, 0, 0)), text)
        self.assertIn(self.second, again((0, 1, 0), second="faster"))
        self.assertEqual(again((0, 1, 0), first="faster"), text)
        said = self.lathe("records", "ship", folder, "--store", self.decided("none.db", first="no_gain")).stdout
        self.assertIn("0 tuning records; 0 added, 0 changed, 1 removed", said)
        self.assertEqual(os.listdir(folder), [])
        # Several tasks are in the order of their texts; of other machines, and of measurements for graphs, there is none.
        several = self.decided("several.db", first="faster")
        with sqlite3.connect(several) as database:
            database.execute("UPDATE tuning SET verdict = 'faster' WHERE seconds IS NOT NULL")
            tasks = [text for [text] in database.execute("SELECT DISTINCT task.text FROM tuning JOIN task ON task.id = task WHERE seconds IS NOT NULL\n"
                                                         "AND text NOT LIKE 'graph/%' ORDER BY text")]
            for number, text in enumerate((f"graph/1 | {self.task}", self.task.replace(f" | {cpu} ", " | z80 "), self.task + " L4=1M/1")):
                database.execute("INSERT INTO task(id, text, family) VALUES (?, ?, 'contraction')", (1000 + number, text))
                database.execute("INSERT INTO tuning(task, platform, schedule, status, reason, seconds, samples, verdict, searcher, version, build, measured)"
                                 " SELECT ?, platform, schedule, status, reason, seconds, samples, 'faster', searcher, version, build, measured FROM tuning"
                                 " WHERE seconds IS NOT NULL LIMIT 1", (1000 + number,))
        database.close()
        self.assertEqual(self.ship(several, folder)[0]["records"], len(tasks))
        with open(archive) as file:
            found = [json.loads(line)["tuning"]["task"] for line in file if line.startswith('{"tuning"')]
        self.assertEqual(found, tasks)
        self.error("records", "ship", folder, "--store", self.path("nowhere.db"), says="nowhere.db: does not exist")
        self.error("records", "ship", says="folder is required")

    def test_compilations_use_it(self):
        self.assertEqual(self.kernel(self.installed)[0], self.prior)
        self.shipped(first="faster")
        origin = "the record of 2026-02-03 shipped with lathe"
        self.assertEqual(self.kernel(self.installed), (self.first, origin))
        package = self.path("used.lathe")
        done = subprocess.run([self.installed, "compile", self.net, "-o", package], capture_output=True, text=True)
        self.assertRegex(done.stdout, r"\n1 of \d+ kernels have schedules of records shipped with lathe \(--no-records compiles without\)\n")
        self.lathe("verify", self.net, "--package", package)
        explained = subprocess.run([self.installed, "compile", self.net, "--explain", "conv2"], capture_output=True, text=True).stdout
        self.assertIn(origin, explained)
        # Without: by the flag, by the environment; for another kind of machine.
        self.assertEqual(self.kernel(self.installed, "--no-records")[0], self.prior)
        self.assertEqual(self.kernel(self.installed, "--target", "x86-64-v3"), self.kernel(LATHE, "--target", "x86-64-v3"))
        self.assertEqual(self.kernel(self.installed, "--threads", "2"), self.kernel(LATHE, "--threads", "2"))
        os.environ["LATHE_NO_RECORDS"] = "1"
        self.addCleanup(os.environ.pop, "LATHE_NO_RECORDS", None)
        self.assertEqual(self.kernel(self.installed)[0], self.prior)

    def test_the_archive_of_another_machine_is_not_read(self):
        archive = self.shipped(first="faster")
        os.rename(archive, os.path.join(self.records, "z80-00000000.jsonl"))
        self.assertEqual(self.kernel(self.installed)[0], self.prior)

    def test_own_records_come_first(self):
        self.shipped(first="faster")
        with_store = lambda **verdicts: self.kernel(self.installed, "--store", self.decided("own.db", **verdicts))
        self.assertEqual(with_store(second="faster"), (self.second, "the record of 2026-02-03 in own.db"))
        self.assertEqual(with_store(second="no_gain")[0], self.prior)
        self.assertEqual(with_store(), (self.first, "the record of 2026-02-03 shipped with lathe"))  # nothing of it was compared
        store = self.decided("both.db")
        with sqlite3.connect(store) as database:
            database.execute("UPDATE tuning SET verdict = 'faster' WHERE id = (SELECT min(tuning.id) FROM tuning JOIN task ON task.id = task WHERE text = ?"
                                       " AND seconds IS NOT NULL)", (self.other_task,))
        database.close()
        done = subprocess.run([self.installed, "compile", self.net, "-o", self.path("both.lathe"), "--store", store], capture_output=True, text=True)
        self.assertRegex(done.stdout, r"\d of \d+ kernels have schedules of records in .*both.db, or 1 shipped with lathe \(--no-records")

    def test_packages_are_made_again_with_another_archive(self):
        cache = os.path.join(os.environ["XDG_CACHE_HOME"], "lathe", "packages")
        packages = lambda: len(glob.glob(os.path.join(cache, "*.lathe")))

        def run(*flags):
            done = subprocess.run([self.installed, "run", self.net, "--fill", "ones", *flags], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stderr

        self.assertEqual(run(), "")
        before = packages()
        archive = self.shipped(first="faster")
        said = run()
        self.assertRegex(said, r"^lathe run: 1 of \d+ kernels have schedules of records shipped with lathe \(--no-records compiles without\)\n$")
        self.assertEqual(packages(), before + 1)
        self.assertEqual((run(), packages()), (said, before + 1))
        self.shipped(second="faster")
        self.assertEqual((run(), packages()), (said, before + 2))
        self.assertEqual((run("--no-records"), packages()), ("", before + 2))
        os.remove(archive)
        self.assertEqual((run(), packages()), ("", before + 2))

    def test_a_damaged_archive(self):
        archive = self.shipped(first="faster")
        with open(archive, "rb") as file:
            good = file.read()
        for bad, why in [(good[:30], "ends within a line"), (good[:-20], "is damaged"), (good.replace(b"faster", b"Faster"), "is damaged"), (b"", "is not an archive"),
                         (good.replace(b'"format":2', b'"format":9'), "use a newer lathe")]:
            self.assertNotEqual(bad, good)
            with open(archive, "wb") as file:
                file.write(bad)
            for verb in (["compile", self.net, "-o", self.path("bad.lathe")], ["run", self.net, "--fill", "ones", "--no-cache"], ["tune", self.net, "--list-tasks"]):
                done = subprocess.run([self.installed, *verb], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, f"^lathe: compiles without the tuning records that came with it: {archive}: .*{why}.*\n$")
            quiet = subprocess.run([self.installed, "compile", self.net, "-o", self.path("bad.lathe"), "--no-records"], capture_output=True, text=True)
            self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))

    def test_what_the_archive_has_is_listed(self):
        listed = lambda verb, *flags: json.loads(subprocess.run([self.installed, "records", verb, "--shipped", *flags, "--json", "-"], capture_output=True, text=True).stdout)
        self.assertEqual(listed("list")["records"], [])
        archive = self.shipped(first="faster")
        document = listed("list")
        self.assertEqual([record["schedule"] for record in document["records"]], [self.first])
        self.assertEqual((document["undeclared"], document["store"]), (0, self.records))
        self.assertEqual(listed("best")["tasks"][0]["best"]["schedule"], self.first)
        self.assertEqual(listed("list", "--task", "softmax")["records"], [])
        self.error("records", "list", "--shipped", "--store", self.store, says="--shipped.*--store|--store.*--shipped")
        # An algorithm that this lathe has in another version only.
        old = self.decided("old.db", first="faster")
        with sqlite3.connect(old) as database:
            database.execute("UPDATE tuning SET schedule = 'direct/99 px=1' WHERE verdict = 'faster'")
            database.execute("DELETE FROM tuning WHERE verdict = 'open'")
        database.close()
        self.lathe("records", "export", archive, "--store", old)
        self.assertEqual(listed("list")["undeclared"], 1)
        text = subprocess.run([self.installed, "records", "list", "--shipped"], capture_output=True, text=True).stdout
        self.assertIn("1 tuning record\n1 of them is not used: this lathe does not know the schedule\n", text)
        self.assertEqual(self.kernel(self.installed)[0], self.prior)
        self.assertEqual(self.ship(self.decided("open.db"), self.records)[0]["removed"], 1)

    def test_a_record_that_was_not_faster_is_not_used(self):
        archive = self.shipped(first="faster")
        store = self.decided("slow.db", first="no_gain")
        with sqlite3.connect(store) as database:
            database.execute("DELETE FROM tuning WHERE verdict = 'open'")
        database.close()
        self.lathe("records", "export", archive, "--store", store)
        self.assertEqual(self.kernel(self.installed)[0], self.prior)

    def test_a_search_begins_with_it(self):
        self.shipped(second="faster")
        store = self.path("begun.db")
        done = subprocess.run([self.installed, "tune", self.net, "--tasks", "conv2", "--trials", "1", "--margin", "0", "--store", store, "--quiet"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        records = {record["schedule"]: record for record in self.figures("records", "list", "--store", store)["records"]}
        self.assertEqual(sorted(map(self.is_prior, records)), [False, True], records)
        self.assertIn(records[self.second].get("verdict"), ("faster", "no_gain"))  # it was in the turns


if __name__ == "__main__":
    main()
