"""`lathe predict`: latencies from predictions, without running anything."""
import gzip
import json
import math
import os
import subprocess

from fixture import LATHE, Cli, main, onnx_model, onnx_node

CLOCKED = {"cpu": "znver4", "architecture": "x86_64", "clock_ghz": [{"vector_bits": 512, "ghz": [4.0, 3.0]}]}


class Predict(Cli):
    def written(self, name, content):
        path = self.path(name)
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def predict(self, *flags, machine=CLOCKED, model=None):
        return self.figures("predict", model or self.net, "--machine", self.written("there.json", machine), *flags)

    def archive(self, factor, name="points.jsonl.gz", families=6, each=20, machine=CLOCKED, key=None, noise=0.03):
        """Networks whose kernels take `factor` times the predicted time, on one thread and on two."""
        facts = {**machine, "cpu": machine["cpu"]}
        lines = [{"lathe_predictions": 1, "machine": key or self.predict(machine=machine)["machine"], "facts": facts, "vector_bits": 512}]
        for family in range(families):
            for i in range(each):
                threads = 1 + i % 2
                clock = machine["clock_ghz"][0]["ghz"][threads - 1] * 1e9
                off = math.exp(noise * (((family * each + i) * 7919 % 101) / 50 - 1))  # spread evenly over both signs
                cycles = [1e3 * 1.3 ** ((i * 7 + k * 3 + family) % 30) for k in range(10)]
                kernels = [[algorithm, c * 20, c, c, c / clock * factor * off, c / 2]
                           for k, c in enumerate(cycles) for algorithm in [["direct", "gemm", "reduce"][k % 3]]]
                lines.append({"network": f"f{family}n{i}", "family": f"f{family}", "threads": threads, "batch": 1,
                              "seconds": sum(kernel[4] for kernel in kernels), "kernels": kernels})
        path = self.path(name)
        with gzip.open(path, "wt") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def test_the_cost_model_alone(self):
        report = self.predict()
        self.assertEqual(report["threads"], 1)
        self.assertEqual(report["clock_ghz"], 4)
        self.assertFalse(report["machine_known"])
        self.assertIn("machine unknown: from facts alone, coverage not tried", report["basis"])
        cycles = sum(kernel["cost_model_cycles"] for kernel in report["kernels"])
        self.assertAlmostEqual(report["cost_model_cycles"], cycles, delta=1e-9 * cycles)
        self.assertAlmostEqual(report["cost_model_ms"], cycles / 4e6, delta=1e-9 * cycles)
        self.assertEqual(report["predicted_ms"], report["cost_model_ms"])
        for kernel in report["kernels"]:
            self.assertAlmostEqual(kernel["cost_model_us"], kernel["cost_model_cycles"] / 4e3)
            self.assertEqual(kernel["predicted_us"], kernel["cost_model_us"])
            self.assertIn("/", kernel["schedule"])
            self.assertGreater(kernel["bytes"], 0)
        self.assertGreater(report["flops"], 0)
        # One multiply-add of 16 lanes a cycle.
        self.assertAlmostEqual(report["operations_at_peak_ms"], report["flops"] / (32 * 4e6))
        self.assertEqual(report["not_predicted"], [])
        # Twice the clock, half the time; the cycles stay.
        other = self.predict(machine={**CLOCKED, "clock_ghz": 8})
        self.assertEqual(other["cost_model_cycles"], report["cost_model_cycles"])
        self.assertAlmostEqual(other["predicted_ms"], report["predicted_ms"] / 2)

    def test_predictions_are_those_of_the_package(self):
        for flags in [], ["--threads", "2"], ["-O", "1"]:
            out, machine = self.path("there.lathe"), self.written("there.json", CLOCKED)
            self.lathe("compile", self.net, "-o", out, "--machine", machine, *flags)
            package = self.figures("inspect", out)["plans"][0]["kernels"]
            kernels = self.predict(*flags)["kernels"]
            self.assertEqual([(one["name"], one["schedule"], one["flops"], one["predicted_cycles"]) for one in package],
                             [(one["name"], one["schedule"], one["flops"], one["cost_model_cycles"]) for one in kernels])

    def test_text(self):
        text = self.lathe("predict", self.net, "--machine", self.written("there.json", CLOCKED), "--rows", "1").stdout
        self.assertRegex(text, r"net\.mlir on znver4, 1 thread: [0-9.]+ us(, with 90 % between .+ us and .+ us)?\n")
        self.assertRegex(text, r"cost model alone [0-9.]+ us; operations at peak [0-9.]+ us \([0-9.]+ kFLOP\); clock 4\.00 GHz")
        self.assertRegex(text, r"\n\.\.\. and \d+ more \(--rows 0 shows all\)")
        first = max(self.predict()["kernels"], key=lambda kernel: kernel["predicted_us"])
        self.assertIn(f"\n{first['name'][:12]}", text)  # the most expensive one

    def test_without_a_clock_there_are_cycles_only(self):
        machine = {"cpu": "znver4", "architecture": "x86_64"}
        report = self.predict(machine=machine)
        for key in "clock_ghz", "predicted_ms", "low_ms", "high_ms", "cost_model_ms", "operations_at_peak_ms":
            self.assertIsNone(report[key], key)
        self.assertEqual(report["cost_model_cycles"], self.predict()["cost_model_cycles"])
        text = self.lathe("predict", self.net, "--machine", self.written("there.json", machine)).stdout
        self.assertIn("the clock of this machine is unknown", text)
        self.assertIn("clock_ghz", text)

    def test_learns_from_an_archive(self):
        points = self.archive(1.5)
        plain = self.predict()
        for threads, clock in (1, 4), (2, 3):
            report = self.predict("--points", points, "--threads", str(threads))
            self.assertTrue(report["machine_known"])
            self.assertRegex(report["basis"], r"learned from 120 measured runs of 6 families")
            self.assertEqual(report["clock_ghz"], clock)
            self.assertAlmostEqual(report["predicted_ms"] / report["cost_model_ms"], 1.5, delta=0.1)
            self.assertLess(report["low_ms"], report["predicted_ms"])
            self.assertGreater(report["high_ms"], report["predicted_ms"])
            self.assertLess(report["high_ms"] / report["low_ms"], 1.15)
        self.assertEqual(plain["cost_model_cycles"], self.predict("--points", points)["cost_model_cycles"])
        wide = self.predict("--points", self.archive(1.5, "wide.jsonl.gz", noise=0.3))
        narrow = self.predict("--points", points)
        self.assertGreater(math.log(wide["high_ms"] / wide["low_ms"]), 3 * math.log(narrow["high_ms"] / narrow["low_ms"]))
        text = self.lathe("predict", self.net, "--machine", self.path("there.json"), "--points", points).stdout
        self.assertRegex(text, r": [0-9.]+ us, with 90 % between [0-9.]+ us and [0-9.]+ us\n")

    def test_nothing_depends_on_a_run(self):
        points = self.archive(1.2)
        before = self.predict("--points", points)
        self.lathe("bench", self.net, "--repetitions", "3")
        self.lathe("profile", self.net, "--repetitions", "3")
        self.assertEqual(self.predict("--points", points), before)

    def test_learns_from_profiles_in_the_store(self):
        """On this machine, where no archive is known."""
        facts = self.path("here.json")
        self.lathe("machine", "--threads", "1", "--json", facts)
        with open(facts) as file:
            self.assertGreater(json.load(file)["facts"]["clock_ghz"][0]["ghz"][0], 0)
        store, environment = self.path("profiles.db"), {**os.environ, "LATHE_NO_RECORDS": ""}
        with open(self.net) as file:
            text = file.read()
        for i in range(5):
            model = self.written(f"net{i}.mlir", text)
            self.lathe("profile", model, "--repetitions", "8", "--store", store)

        def predicted(model):
            done = subprocess.run([LATHE, "predict", model, "--store", store, "--json", "-"], capture_output=True, text=True, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        report = predicted(self.net)
        if report["machine_known"] and "profiles.db" not in report["basis"]:
            self.skipTest("an archive of this kind of machine comes with lathe")
        self.assertIn("learned from 5 measured runs of 5 families on this kind of machine (profiles.db)", report["basis"])
        self.assertIsNone(report["low_ms"])  # five errors are too few for 90 %
        # The model itself is left out, so four remain: too few.
        self.assertIn("machine unknown", predicted(self.path("net0.mlir"))["basis"])

    def test_references_and_open_extents_are_named(self):
        path = self.path("det.mlir")
        with open(path, "w") as file:
            file.write("""
func.func @main(%x: tensor<?x4x4xf32> {nn.name = "x", nn.dims = ["N", "4", "4"]}) -> (tensor<?xf32> {nn.name = "y"}) {
  %0 = nn.relu %x : (tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  %1 = nn.det %0 : (tensor<?x4x4xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
""")
        report = self.predict(model=path)
        self.assertEqual(report["not_predicted"], ["1 det"])
        self.assertEqual(report["open_extents"], ["N"])
        text = self.lathe("predict", path, "--machine", self.path("there.json")).stdout
        self.assertIn("not predicted, so the run takes longer: 1 det", text)
        self.assertIn("open extents count as 1: N (--shape sets them)", text)

    def test_errors(self):
        self.error("predict", self.path("missing.onnx"), says=r"missing\.onnx")
        self.error("predict", self.net, "--machine", self.path("missing.json"), says=r"missing\.json")
        self.error("predict", self.net, "--machine", self.written("bad.json", {**CLOCKED, "clock_ghz": [1]}), says="'clock_ghz'")
        self.error("predict", self.net, "--threads", "0", says="--threads")
        self.error("predict", self.package, says="is a compiled package, expected a model")
        self.error("predict", self.net, "--points", self.path("missing.jsonl"), says=r"missing\.jsonl")
        self.error("predict", self.net, "--points", self.written("bad.jsonl", "{}\n"), says=r"bad\.jsonl, line 1: is no archive")
        machine = self.written("there.json", CLOCKED)
        other = self.archive(1, "other.jsonl.gz", key="znver9 with wings")
        self.error("predict", self.net, "--machine", machine, "--points", other,
                   says="has points of the machine 'znver9 with wings', expected 'x86_64|znver4|.*znver4")
        alone = self.archive(1, "alone.jsonl.gz", families=1)
        self.error("predict", self.net, "--machine", machine, "--points", alone, says="has 1 family of networks, expected at least 2")
        bad = self.path("unsupported.onnx")
        with open(bad, "wb") as file:
            file.write(onnx_model(onnx_node("Frobnicate", ["x"], ["y"], "first")))
        self.error("predict", bad, says="first")


if __name__ == "__main__":
    main()
