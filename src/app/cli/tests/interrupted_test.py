"""Signals leave nothing behind: no temporary folders, no processes, and what was measured is kept."""
import json
import os
import signal
import subprocess
import time

from fixture import LATHE, Cli, main


def processes_of(session):
    """Those of a session that are neither gone nor only waiting to be fetched."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state, _, _, of = file.read().rsplit(")", 1)[1].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of) == session and state not in "ZX":
            found.append(int(pid))
    return found


class Interrupted(Cli):
    BENCH = ["ops", "bench", "eltwise", "{1..60}x64:relu", "--provider", "lathe:auto,reference", "--repetitions", "3", "--starts", "1", "--max-seconds", "0.3"]
    NOTICE = "lathe ops bench: 1 start at most: ratios have a range and no verdict, which needs 3\n"  # said before anything is measured

    def begun(self, *command, ready):
        """The command in a session of its own, with its own folder for temporary files, once `ready` holds."""
        folder = self.path("tmp")
        os.makedirs(folder, exist_ok=True)
        running = subprocess.Popen([LATHE, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   env={**os.environ, "TMPDIR": folder})
        for _ in range(3000):
            if ready(running, os.listdir(folder)):
                return running, folder
            time.sleep(0.01)
        self.fail("the command did not begin")

    def ended(self, running, folder, number):
        said = running.communicate(timeout=60)[1]
        for _ in range(500):
            if not processes_of(running.pid):
                break
            time.sleep(0.01)
        self.assertEqual(processes_of(running.pid), [], "processes are left")
        self.assertEqual(os.listdir(folder), [], "files are left")
        self.assertEqual(running.returncode, 128 + number)
        return said

    def test_measuring(self):
        store = self.path("interrupted.db")
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            running, folder = self.begun(*self.BENCH, "--store", store, ready=lambda running, files: files and (running.stdout.readline() or True))
            os.kill(running.pid, number)
            said = self.ended(running, folder, number)
            if number == signal.SIGHUP:
                self.assertEqual(said, self.NOTICE)  # nobody is there to read it
            else:
                self.assertRegex(said, rf"lathe ops[ a-z]*: interrupted \({number.name}\)\n$")
        self.assertEqual(len(self.figures("store", "list", "--store", store)["experiments"]), 1, "each went on with the one before")

    def test_a_reader_that_leaves(self):
        running, folder = self.begun(*self.BENCH, "--no-store", ready=lambda running, files: files and running.stdout.readline())
        running.stdout.close()
        running.stdout = None
        self.assertEqual(self.ended(running, folder, signal.SIGPIPE), self.NOTICE)

    def test_what_a_killed_process_leaves_the_next_one_removes(self):
        running, folder = self.begun(*self.BENCH, "--no-store", ready=lambda running, files: files and running.stdout.readline())
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        self.assertNotEqual(os.listdir(folder), [])
        time.sleep(0.5)  # its workers die with it
        self.assertEqual(processes_of(running.pid), [])
        other = os.path.join(folder, "lathe-not-ours")
        os.makedirs(other)  # without our lock file: no folder of ours
        subprocess.run([LATHE, "ops", "bench", "eltwise", "1x64:relu", "--provider", "lathe:auto", "--no-store", "--max-seconds", "0.01"], check=True,
                       env={**os.environ, "TMPDIR": folder}, stdout=subprocess.DEVNULL)
        self.assertEqual(os.listdir(folder), ["lathe-not-ours"])
        os.rmdir(other)

    def test_a_compiler_that_was_started(self):
        compiling = lambda running, files: len(processes_of(running.pid)) > 1
        for number in [signal.SIGINT, signal.SIGTERM]:
            running, folder = self.begun("run", "zoo:vgg16", "--no-cache", "--fill", "ones", ready=compiling)
            os.kill(running.pid, number)
            self.assertEqual(self.ended(running, folder, number), f"lathe run: interrupted ({number.name})\n")

    # Twins of which no look says anything before the 999th start.
    COMPARE = ["compare", "--with", "reference", "--max-seconds", "600", "--starts", "999"]

    def test_comparing(self):
        running, folder = self.begun(*self.COMPARE, self.net, "--no-store", ready=lambda running, files: files and len(processes_of(running.pid)) > 2)
        os.kill(running.pid, signal.SIGINT)
        self.assertRegex(self.ended(running, folder, signal.SIGINT), r"lathe compare: interrupted \(SIGINT\)\n$")

    def test_what_was_compared_is_kept(self):
        store, figures = self.path("compared.db"), self.path("compared.json")
        started = set()

        def third_start(running, files):
            started.update(processes_of(running.pid))
            return len(started) > 1 + 3 * 2 + 2  # ourselves, two runners a start, two that were called with nothing
        running, folder = self.begun(*self.COMPARE, self.net, "--store", store, "--json", figures, ready=third_start)
        os.kill(running.pid, signal.SIGTERM)
        said = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 128 + signal.SIGTERM, said)
        self.assertRegex(said[1], r"lathe compare: interrupted \(SIGTERM\)\n$")
        self.assertIn("lathe runs at", said[0])
        self.assertEqual(os.listdir(folder), [], "files are left")
        with open(figures) as file:
            document = json.load(file)
        self.assertFalse(document["finished"])
        self.assertGreaterEqual(len(document["starts"]), 1)
        self.assertEqual(len(document["sides"][0]["rounds_ns"]), sum(document["starts"]))
        (experiment,) = self.figures("store", "list", "--store", store)["experiments"]
        self.assertEqual(len(self.figures("store", "show", experiment["uuid"], "--store", store)["points"]), 2)

    def test_what_was_timed_is_kept(self):
        store, figures = self.path("timed.db"), self.path("timed.json")

        def is_timing(running, files):  # a second of processor time is far more than loading takes
            with open(f"/proc/{running.pid}/stat") as file:
                return int(file.read().rsplit(")", 1)[1].split()[11]) > os.sysconf("SC_CLK_TCK")
        running, folder = self.begun("bench", self.package, "--repetitions", "1000000000", "--store", store, "--json", figures, ready=is_timing)
        os.kill(running.pid, signal.SIGINT)
        said = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 128 + signal.SIGINT, said)
        self.assertRegex(said[1], r"lathe bench: interrupted \(SIGINT\)\n$")
        self.assertIn("kept in", said[0])
        with open(figures) as file:
            document = json.load(file)
        self.assertFalse(document["finished"])
        (experiment,) = self.figures("store", "list", "--store", store)["experiments"]
        (point,) = self.figures("store", "show", experiment["uuid"], "--store", store)["points"]
        self.assertEqual(point["time"]["count"], document["wall"]["count"])
        self.assertGreater(document["wall"]["count"], 10)


if __name__ == "__main__":
    main()
