"""`lathe tune` killed twenty times at random moments and gone on with: no record is lost or doubled, and no process stays.

LATHE_SEED=N repeats the moments of a run."""
import os
import random
import signal
import subprocess
import time

from fixture import LATHE, Cli, main

KILLS = 20
STEP = 8          # trials that every run may add
LONGEST = 10      # seconds until a kill at most
PATIENCE = 10     # seconds in which processes end that were killed
WORKERS = {"lathe-tune-builder"[:15], "lathe-tune-runner"[:15]}  # as the kernel shortens them


def session(leader):
    """Process -> name, of the processes of a session that are alive. Workers have process groups of their own, but no sessions."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                text = file.read()
        except OSError:
            continue  # it has ended
        name, _, rest = text.partition("(")[2].rpartition(") ")
        state, _, _, number = rest.split()[:4]
        if int(number) == leader and state not in "ZX":
            found[int(entry)] = name
    return found


def outcomes(record):
    """All that was measured of a schedule."""
    return record.get("outcomes") or [{key: value for key, value in record.items() if key not in ("platform", "task", "schedule", "cpu", "family")}]


class TuneKilled(Cli):
    def setUp(self):
        seed = int(os.environ.get("LATHE_SEED") or int.from_bytes(os.urandom(4), "little"))
        print(f"LATHE_SEED={seed} repeats the moments", flush=True)
        self.random = random.Random(seed)
        self.store = self.path(self._testMethodName + ".db")
        self.temporary = self.path(self._testMethodName)
        os.mkdir(self.temporary)
        self.command = ["tune", self.net, "--tasks", "conv2", "--margin", "0", "--compare", "--store", self.store]
        self.environment = {**os.environ, "TMPDIR": self.temporary}
        self.prior, self.known = None, {}

    def start(self, trials):
        with open(self.path("said"), "w") as said:  # a pipe would wait for processes that survive
            return subprocess.Popen([LATHE, *self.command, "--trials", str(trials), "--quiet"], start_new_session=True, env=self.environment,
                                    stdout=said, stderr=said)

    def ended(self, running, seconds):
        """True if the run ends by itself within this time. It may only end well."""
        try:
            running.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        with open(self.path("said")) as said:
            self.assertEqual(running.returncode, 0, said.read())
        return True

    def nothing_survives(self, leader):
        deadline = time.monotonic() + PATIENCE
        while (left := session(leader)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(left, {}, "processes outlived the run that started them")

    def records_are_whole(self):
        """Everything known is there, once, and was not measured again unless the search says so."""
        records = self.figures("records", "list", "--store", self.store)["records"]
        after = {(record["platform"], record["task"], record["schedule"]): record for record in records}
        self.assertEqual(len(after), len(records), "a record is there twice")
        self.assertLessEqual(set(self.known), set(after), "a record is lost")
        for key, record in self.known.items():
            now = after[key]
            before, measured = outcomes(record), outcomes(now)
            for outcome in before:
                self.assertIn(outcome, measured, "an outcome is lost")
            if record["schedule"] != self.prior and "verdict" not in now:  # every run measures the default and the finalists
                self.assertEqual(before, measured, f"measured again: {now}")
            self.assertTrue(now["status"] != "passed" or now["samples_ns"], now)
        self.known = after

    def test_twenty_times_at_random_moments(self):
        self.assertTrue(self.ended(self.start(1), 300))
        self.records_are_whole()
        self.prior, = [record["schedule"] for record in self.known.values()]
        kills, runs, alive = 0, 0, []
        while kills < KILLS:
            runs += 1
            self.assertLess(runs, 5 * KILLS, "runs end before they are killed")
            running = self.start(STEP * runs)
            if not self.ended(running, self.random.uniform(0, LONGEST)):
                alive.append(set(session(running.pid).values()))
                whole = self.random.random() < 0.5
                (os.killpg if whole else os.kill)(running.pid, signal.SIGKILL)
                running.wait()
                kills += 1
            self.nothing_survives(running.pid)
            self.records_are_whole()
        self.assertTrue(any(WORKERS <= names for names in alive), f"no kill met both workers: {alive}")
        found = len(self.known)
        self.assertGreater(found, 1, "no killed run has kept anything")

        limit = STEP * (runs + 1)
        report = self.figures(*self.command, "--trials", str(limit))
        self.records_are_whole()
        task, = report["tasks"]
        self.assertEqual(report["ended"], "every task is at its limit")
        self.assertEqual(task["trials"], len(self.known))
        self.assertLessEqual(task["trials"], limit)
        self.assertGreaterEqual(task["trials"], found)
        print(f"{kills} kills in {runs} runs; {found} records before the last run, {len(self.known)} behind it", flush=True)

    def test_folders_of_killed_runs_are_removed_by_the_next_run(self):
        running = self.start(200)
        deadline = time.monotonic() + 60
        locked = lambda: [name for name in os.listdir(self.temporary) if os.path.exists(os.path.join(self.temporary, name, ".lock"))]
        while not locked() and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        running.kill()
        running.wait()
        self.nothing_survives(running.pid)
        left = locked()
        self.assertTrue(left)
        self.assertTrue(self.ended(self.start(1), 300))
        self.assertEqual(set(locked()) & set(left), set())


if __name__ == "__main__":
    main()
