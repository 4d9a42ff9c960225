"""`lathe ops bench` killed, stopped and run twice at once."""
import os
import random
import signal
import subprocess
import time

from fixture import LATHE, Cli, main, planned_points


class OpsInterrupted(Cli):
    def test_killed_again_and_again(self):
        store = self.path("killed.db")
        command = ["ops", "bench", "eltwise", "{1..40}x64:relu", "--provider", "lathe:auto,lathe:plain", "--repetitions", "3", "--starts", "1", "--max-seconds", "0.01", "--store", store]
        delays = random.Random(5)
        for _ in range(20):
            running = subprocess.Popen([LATHE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(delays.uniform(0.05, 1.0))
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        said = self.lathe(*command).stdout
        self.assertRegex(said, "going on with an experiment|40 rows, 40 measured now")
        listed = self.figures("store", "list", "--store", store)
        self.assertEqual({experiment["points"] for experiment in listed["experiments"]}, {80}, "points were lost or doubled")
        before = len(listed["experiments"])
        self.assertEqual(planned_points(store), [80] * before)
        # It came to its end: the same command is a new experiment.
        self.lathe(*command)
        listed = self.figures("store", "list", "--store", store)
        self.assertEqual([experiment["points"] for experiment in listed["experiments"]], [80] * (before + 1))

    def test_two_live_runs_are_two_experiments(self):
        store = self.path("live.db")
        command = ["ops", "bench", "eltwise", "{1..8}x64:relu", "--provider", "lathe:auto", "--repetitions", "3", "--starts", "1", "--max-seconds", "0.1", "--store", store]
        first = subprocess.Popen([LATHE, *command], stdout=subprocess.PIPE, text=True)
        first.stdout.readline()  # its first row is there
        os.kill(first.pid, signal.SIGSTOP)
        self.assertIn(f"(measured by process {first.pid})", self.lathe("store", "list", "--store", store).stdout)
        second = self.lathe(*command)
        self.assertRegex(second.stdout, f"process {first.pid} on .* is measuring the same: this is an experiment of its own")
        os.kill(first.pid, signal.SIGCONT)
        self.assertIn("8 rows, 8 measured now", first.communicate()[0])
        listed = self.figures("store", "list", "--store", store)["experiments"]
        self.assertEqual([e["points"] for e in listed], [8, 8])
        self.assertTrue(all(e["finished"] for e in listed))
        # Killed, it is gone on with.
        third = subprocess.Popen([LATHE, *command], stdout=subprocess.PIPE, text=True)
        third.stdout.readline()
        os.kill(third.pid, signal.SIGSTOP)
        os.kill(third.pid, signal.SIGKILL)
        third.communicate()
        self.assertIn("going on with an experiment that was interrupted", self.lathe(*command).stdout)
        self.assertEqual([e["points"] for e in self.figures("store", "list", "--store", store)["experiments"]], [8, 8, 8])
        self.assertEqual(planned_points(store), [8, 8, 8])

    def test_other_problems_go_on_with_the_same_experiment(self):
        store = self.path("other.db")
        command = ["ops", "bench", "eltwise", "{1..8}x64:relu", "--provider", "lathe:auto", "--repetitions", "3", "--starts", "1", "--max-seconds", "0.1", "--store", store]
        first = subprocess.Popen([LATHE, *command], stdout=subprocess.PIPE, text=True)
        first.stdout.readline()
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
        kept = self.figures("store", "list", "--store", store)["experiments"][0]["points"]
        command[3] = "{1..3}x65:relu"
        self.assertIn("going on with an experiment", self.lathe(*command, "1x65:relu").stdout)  # one of them twice
        self.assertEqual(planned_points(store), [kept + 3])
        self.assertEqual([e["points"] for e in self.figures("store", "list", "--store", store)["experiments"]], [kept + 3])


if __name__ == "__main__":
    main()
