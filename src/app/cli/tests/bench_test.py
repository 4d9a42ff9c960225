"""`lathe bench`: instances that divide the threads, what is stored of them, errors."""
import csv
import json
import os
import signal
import subprocess

from fixture import LATHE, Cli, main, onnx_node
from onnx_writer import encoded, value

CPUS = sorted(os.sched_getaffinity(0))
THREADS = min(2, len(CPUS))
INSTANCES = ["--threads", str(THREADS), "--max-seconds", "0.5"]


class Bench(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.open = os.path.join(cls.folder.name, "open.onnx")
        with open(cls.open, "wb") as file:
            file.write(encoded([onnx_node("Tanh", "x", "y")], [value("x", ["N", 64])], [value("y", ["N", 64])], opset=13))
        subprocess.run([LATHE, "verify", cls.net, "--package", cls.package], check=True, capture_output=True)

    def test_instances_divide_the_threads(self):
        figures = self.figures("bench", self.package, *INSTANCES, "--instances", "4,2", "--no-store")
        self.assertTrue(figures["finished"])
        self.assertTrue(figures["verified"])
        self.assertEqual((figures["threads"], len(figures["instances"])), (THREADS, 3))
        self.assertEqual([(one["count"], one["instance_threads"]) for one in figures["instances"]], [(1, THREADS), (2, 1), (4, 1)])
        self.assertGreaterEqual(figures["starts"], 3)
        for one in figures["instances"]:
            self.assertEqual(one["mistrusted"], "")
            self.assertGreaterEqual(one["runs"], 30)
            self.assertLessEqual(one["median_ms"], one["p99_ms"])
            self.assertGreater(one["inputs_per_s"], 0)
            if one["count"] == 1:
                self.assertIsNone(one["throughput"])
            else:
                self.assertLessEqual(one["throughput"]["ratio_low"], one["throughput"]["ratio_high"])
        said = self.lathe("bench", self.package, *INSTANCES, "--instances", "2", "--no-store").stdout
        self.assertIn("throughput: inputs of all instances / inputs of a single one, with its 95 % interval", said)
        self.assertIn("outputs: verified", said)

    def test_several_sizes(self):
        figures = self.figures("bench", self.open, *INSTANCES, "--instances", "2", "--batch", "1,3", "--no-store")
        self.assertEqual([size["extents"] for size in figures["sizes"]], ["N=1", "N=3"])
        for one in figures["sizes"][1]["instances"]:
            self.assertAlmostEqual(one["inputs_per_s"], 3 * one["runs_per_s"])
        self.assertNotIn("sizes", self.figures("bench", self.open, *INSTANCES, "--instances", "2", "--shape", "x=5x64", "--no-store"))

    def test_other_numbers_of_instances_are_other_points(self):
        store, exported = self.path("apart.db"), self.path("apart.csv")
        for flags in ([*INSTANCES, "--instances", "2"], [*INSTANCES, "--instances", "2"], ["--threads", str(THREADS), "--repetitions", "10"]):
            self.lathe("bench", self.package, *flags, "--store", store)
        series = self.figures("store", "trend", "--store", store)["series"]
        numbers = lambda entries: sorted((one["kind"], one["setting"]["extra"].get("instances")) for one in entries)
        single, divided = ("corun", 1), ("corun", 2)
        self.assertEqual(numbers(series), [("bench", None), single, divided])
        self.assertEqual([len(one["observations"]) for one in series if one["kind"] == "corun"], [2, 2])
        best = self.figures("ops", "analyze", "--what", "best", "--store", store)["best"]["points"]
        self.assertEqual(numbers(best), [("bench", None), single, divided])
        first, second, plain = experiments = sorted(self.figures("store", "list", "--store", store)["experiments"], key=lambda one: one["started"])
        self.assertEqual([(one["kind"], one["points"]) for one in experiments], [("corun", 2), ("corun", 2), ("bench", 1)])
        diff = lambda other: self.figures("ops", "diff", first["uuid"], other["uuid"], "--store", store)
        again, single_runs = diff(second), diff(plain)
        self.assertEqual((len(again["points"]), again["only_before"], again["only_after"]), (2, 0, 0))
        self.assertEqual((single_runs["only_before"], single_runs["only_after"]), (2, 1))
        self.lathe("store", "export", exported, "--format", "csv", "--store", store)
        with open(exported) as file:
            self.assertEqual(sorted(row["instances"] for row in csv.DictReader(file)), ["", "1", "1", "2", "2"])

    def test_an_interrupted_measurement_is_kept(self):
        store, document = self.path("kept.db"), self.path("kept.json")
        command = ["bench", self.package, "--threads", str(THREADS), "--instances", "2", "--max-seconds", "600", "--store", store, "--json", document]
        running = subprocess.Popen([LATHE, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in running.stderr:  # progress, every ten seconds
            if "start 1," not in line and "size 1 of 1: start" in line:
                break
        running.send_signal(signal.SIGINT)
        said = running.communicate()[0]
        self.assertEqual(running.returncode, 128 + signal.SIGINT, said)
        self.assertIn("throughput: inputs of all instances", said)
        with open(document) as file:
            self.assertFalse(json.load(file)["finished"])
        self.assertEqual([one["points"] for one in self.figures("store", "list", "--store", store)["experiments"]], [2])

    def test_errors(self):
        self.error("bench", self.package, "--threads", "2", "--instances", "3", "--no-store", says="--instances 3: 3 instances do not divide 2 threads: expected a divisor or a multiple")
        self.error("bench", self.package, "--instances", "x", "--no-store", says="--instances x: expected numbers from 1")
        done = subprocess.run([LATHE, "bench", self.package, "--threads", "2", "--instances", "2", "--no-store"], capture_output=True, text=True, timeout=300,
                              preexec_fn=lambda: os.sched_setaffinity(0, CPUS[:1]))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--instances: expected a CPU for each of 2 threads, got 1", done.stderr)

    def test_constant_outputs_are_not_timed(self):
        path = self.path("constant.onnx")
        with open(path, "wb") as file:
            file.write(encoded([onnx_node("Sub", "x x", "y")], [value("x", [1, 64])], [value("y", [1, 64])], opset=13))
        done = self.lathe("bench", path, "--instances", "2", "--no-store", code=1)
        self.assertIn("lathe bench: not timed, the outputs are mistrusted: output 'y' is all zero", done.stderr)


if __name__ == "__main__":
    main()
