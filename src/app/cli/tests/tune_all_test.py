"""`lathe tune --all`: a list of small networks, killed and gone on with, what fails, and the page."""
import json
import os
import signal
import subprocess
import time

from fixture import LATHE, Cli, main, network

# A network none of whose operators has a schedule: it can be read, but not tuned.
IDLE = """
func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> (tensor<4x1xf32> {nn.name = "y"}) {
  %0 = nn.reshape %x {shape = array<i64: 4, 1>} : (tensor<1x4xf32>) -> tensor<4x1xf32> loc("reshape")
  return %0 : tensor<4x1xf32>
}
"""
LIMITS = ["--trials", "3", "--margin", "0", "--budget", "40s", "--max-seconds", "1"]


class TuneAll(Cli):
    knows_machine = True

    @classmethod
    def setUpClass(cls):
        os.environ.pop("LATHE_NO_RECORDS", None)
        super().setUpClass()
        cls.second, cls.idle = (os.path.join(cls.folder.name, name) for name in ("second.onnx", "idle.mlir"))
        with open(os.path.join(cls.folder.name, "second.mlir"), "w") as file:
            file.write(network(2))
        with open(cls.idle, "w") as file:
            file.write(IDLE)
        subprocess.run([LATHE, "extract", os.path.join(cls.folder.name, "second.mlir"), "--to", "prob", "-o", cls.second], check=True, capture_output=True)

    def command(self, name, *models, program=LATHE):
        return [program, "tune", "--all", ",".join(models), *LIMITS, "--store", self.path(name + ".db"), "-o", self.path(name + ".md"), "--json", self.path(name + ".json")]

    def run_all(self, name, *models, code=0, more=(), **program):
        """-> (what was said, the figures, the page)"""
        done = subprocess.run([*self.command(name, *models, **program), *more], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        with open(self.path(name + ".json")) as file, open(self.path(name + ".md")) as page:
            return done.stdout + done.stderr, json.load(file), page.read()

    def without_peer(self):
        return self.program_with(lathe_runner_onnxruntime=None)

    def test_a_list_is_tuned_and_an_interrupted_one_goes_on(self):
        models = [self.net, self.second]
        with subprocess.Popen(self.command("list", *models), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            first = running.stdout.readline()
            while first and not first.startswith("[1/2]"):
                first = running.stdout.readline()
            self.assertIn(f"[1/2] {self.net}: ", first)
            time.sleep(0.5)
            running.send_signal(signal.SIGTERM)  # SIGINT may be ignored where tests run in the background
            said = running.stdout.read()
            self.assertEqual(running.wait(), 143, said)
        self.assertIn("1 of 2 models are done; the same command goes on", said)
        self.assertFalse(os.path.exists(self.path("list.md")))

        said, figures, page = self.run_all("list", *models)
        self.assertRegex(said, r"\[1/2\] .*: tuned before, .* \(--again tunes it again\)")
        self.assertRegex(said, r"\[2/2\] .*: [0-9.]+ \(")
        for row, model in zip(figures["models"], models):
            self.assertEqual(row["model"], model)
            self.assertEqual(set(row["before"]), {"mean_ms", "median_ms", "max_ms", "min_ms", "std_ms"})
            self.assertIn(row["speedup"]["verdict"], ("faster", "same", "ambiguous", "slower"))
            self.assertEqual(row["trials"], sum(task["trials"] for task in row["reports"]["tune"]["tasks"]))
            self.assertGreater(row["trials"], 3)
            if not row["kept"]:
                self.assertEqual(row["before"], row["after"])
            self.assertIn("| %s | before | %.3f |" % (model + " (disturbed)" * row["disturbed"], row["before"]["mean_ms"]), page)
            self.assertRegex(page, rf"\| {model} \| [0-9.]+ \([0-9.]+ to [0-9.]+(, range)?\) \w+(; nothing is kept|; no schedule is faster)? \| \d+ \| \d+ \| {row['trials']} \| {row['failed_trials']} \|")
        if not figures["no_onnxruntime"]:
            self.assertIn(f"{self.net}, before, has no ratio to ONNX Runtime: it reads ONNX only", page)
            self.assertGreater(figures["models"][1]["onnxruntime"]["before"]["ratio"], 0)
        else:
            self.assertIn("No ratios to ONNX Runtime: ONNX Runtime is not installed", page)

        said, again, _ = self.run_all("list", *models)
        self.assertNotIn(f"[2/2] {self.second}: 1.", said)
        self.assertEqual([row["finished"] for row in again["models"]], [row["finished"] for row in figures["models"]])
        said, again, _ = self.run_all("list", *models[:1], more=["--again"])
        self.assertNotIn("tuned before", said)
        self.assertGreater(again["models"][0]["finished"], figures["models"][0]["finished"])

    def test_without_onnx_runtime_only_its_columns_are_empty(self):
        said, figures, page = self.run_all("alone", self.second, program=self.without_peer())
        note = "No ratios to ONNX Runtime: "
        self.assertEqual(said.count(note), 1)
        self.assertEqual(page.count(note), 1)
        self.assertEqual(figures["models"][0]["onnxruntime"], {"before": None, "after": None})
        self.assertRegex(page, r"\| before \|( [0-9.]+ \|){5}  \|")

    def test_a_model_that_fails_does_not_stop_the_others(self):
        said, figures, page = self.run_all("fails", self.idle, self.net, code=1, program=self.without_peer())
        reason = "idle.mlir: no kernel has a schedule"
        self.assertIn(reason, figures["models"][0]["failure"])
        self.assertIn(f"| {self.idle} | not tuned |", page)
        self.assertRegex(page, f"- .* was not tuned: .*{reason}")
        self.assertIn("speedup", figures["models"][1])
        self.assertRegex(said, r"\[2/2\] .*net.mlir: [0-9.]+ \(")

    def test_a_bad_entry_is_said_before_anything_is_tuned(self):
        store = self.path("bad.db")
        for last, says in [("zoo:resnet81", "--all: zoo:resnet81: no such network .did you mean 'resnet18'"), (self.path("absent.onnx"), "absent.onnx: cannot read"),
                           (self.package, "net.lathe: is a compiled package"), (self.net, "net.mlir is there twice"), ("", "got an empty name")]:
            self.error("tune", "--all", f"{self.net},{last}", "--store", store, says=says)
        with open(self.path("noise.onnx"), "wb") as file:
            file.write(bytes(range(256)) * 8)
        self.error("tune", "--all", f"{self.net},{self.path('noise.onnx')}", "--store", store, says="noise.onnx")
        self.assertFalse(os.path.exists(store))
        self.error("tune", "--all", f"{self.net},{self.second}", "--searcher", "annealing", "--store", store, says="unknown searcher 'annealing'")
        self.assertFalse(os.path.exists(store))
        self.error("tune", self.net, "--all", self.second, says="expected one of MODEL, --problem, --suite and --all")


if __name__ == "__main__":
    main()
