"""bench/tuning_table.py: two small networks, killed and gone on with, and what the page says."""
import json
import os
import signal
import subprocess
import sys
import time

from fixture import LATHE, Cli, main, network

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "tuning_table.py")


def beside(ratio):
    return {"peer": {"ratio": ratio, "ratio_low": ratio - 0.1, "ratio_high": ratio + 0.1, "confidence": 0.95, "verdict": "faster"}, "version": "1.30.0", "other_processors": 0}


def measured(ratio, gains, **more):
    """A row with times of 1.5 ms tuned and 2.5 ms untuned."""
    sides = [{"time": {key + "_ms": ms for key in ("mean", "median", "max", "min", "std")}} for ms in (1.5, 2.5)]
    peer = {"ratio": ratio, "ratio_low": ratio - 0.01, "ratio_high": ratio + 0.01, "confidence": 0.95, "verdict": "faster"}
    tasks = [{"gain": gain, "trials": 20, "failed": "2 crashed, 1 failed" if gain else ""} for gain in gains]
    return {"report": {"comparison": {"sides": sides, "peers": [peer]}, "tasks": tasks, "undone": False, "ended": "the time is over"}, "minutes": 9.87,
            "before": beside(1.2), "after": beside(1.3), "commit": "abc", "finished": "2026-11-23T20:00:00", **more}


class TuningTable(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = [cls.net, os.path.join(cls.folder.name, "second.mlir")]
        with open(cls.models[1], "w") as file:
            file.write(network(2))

    def start(self):
        """Only this process: what it started ends with it or is gone on with."""
        command = [sys.executable, "-B", SCRIPT, LATHE, "--models", ",".join(self.models), "--threads", "1", "--budget", "10s", "--seconds", "1", "--write", self.path("table.md")]
        environment = {**os.environ, "BENCH_FOLDER": self.path("rows")}
        with open(self.path("said"), "w") as said:
            return subprocess.Popen(command, stdout=said, stderr=said, env=environment, start_new_session=True)

    def said(self):
        with open(self.path("said")) as file:
            return file.read()

    def test_a_model_that_is_done_is_not_tuned_again(self):
        running = self.start()
        deadline = time.monotonic() + 300
        while running.poll() is None and "[2/2]" not in self.said() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertIn("[2/2]", self.said())
        time.sleep(1)
        self.assertIsNone(running.poll(), self.said())
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        self.assertFalse(os.path.exists(self.path("table.md")))

        again = self.start()
        self.assertEqual(again.wait(300), 0, self.said())
        self.assertNotIn("[1/2]", self.said())
        self.assertIn("[2/2]", self.said())
        with open(self.path("table.md")) as file:
            page = file.read()
        for model in self.models:
            self.assertRegex(page, rf"\| {model}( \\\*)? \| before \| [0-9.]+ \| ")
            self.assertRegex(page, rf"\| {model} \| [0-9.]+ \([0-9.]+ to [0-9.]+(, range)?\) \w+")
        self.assertRegex(page, "not installed|peers read ONNX")  # ONNX Runtime has no reader of our text
        self.assertEqual(self.start().wait(300), 0)
        self.assertNotIn("/2]", self.said())

    def test_the_page_says_what_was_measured_and_what_was_not(self):
        rows = {"zoo:a": measured(1.44, [1.2, None]), "zoo:b": measured(1.0, [None], after={"reason": "ONNX Runtime is not installed: run \"make peers\""}),
                "zoo:c": {"failure": "no kernel has a schedule"}, "zoo:d": measured(1.0, [None], before={"reason": "signal 11"})}
        with open(self.path("rows.json"), "w") as file:
            json.dump(rows, file)
        write = ("import json, sys; sys.path.insert(0, sys.argv[1]); import tuning_table; "
                 "print(tuning_table.page(sys.argv[2], json.load(open(sys.argv[3])), {'threads': 2, 'budget': 600, 'seconds': 20}))")
        page = subprocess.run([sys.executable, "-B", "-c", write, os.path.dirname(SCRIPT), LATHE, self.path("rows.json")], capture_output=True, text=True, check=True).stdout
        for line in ("| zoo:a | before | 2.500 | 2.500 | 2.500 | 2.500 | 2.500 | 1.200 (1.100 to 1.300) faster |",
                     "|  | after | 1.500 | 1.500 | 1.500 | 1.500 | 1.500 | 1.300 (1.200 to 1.400) faster |",
                     "|  | after | as before | as before | as before | as before | as before | not installed |",
                     "| zoo:a | 1.440 (1.430 to 1.450) faster | 2 | 1 | 40 | 3 | 9.9 | the time is over |",
                     "| zoo:b | 1.000 (0.990 to 1.010) faster; nothing is kept | 1 | 0 | 20 | 0 | 9.9 | the time is over |",
                     "Geometric mean of the speedups: 1.129 over 3 networks", "- zoo:c was not tuned: no kernel has a schedule", "- zoo:d, before: signal 11",
                     "ONNX Runtime 1.30.0", "2 threads, 10 min of tuning a network"):
            self.assertIn(line, page)


if __name__ == "__main__":
    main()
