"""What commands write: complete, reported when it cannot be, and never over what they read."""
import io
import os
import shutil
import stat
import subprocess

import numpy as np

from fixture import LATHE, Cli, main, onnx_model, onnx_node

FULL = "/dev/full"
TWO_OUTPUTS = """func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "a"}, tensor<4xf32> {nn.name = "b"}) {
  %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32> }"""


class Output(Cli):
    knows_machine = True

    def setUp(self):
        self.onnx = self.path("m.onnx")
        with open(self.onnx, "wb") as file:
            file.write(onnx_model(onnx_node("Relu", ["x"], ["h"], "first"), onnx_node("Neg", ["h"], ["y"], "second")))

    def test_a_full_device_is_never_success(self):
        self.lathe("bench", self.package, "--max-seconds", "0.05")  # something to export
        commands = [
            ("--help",), ("--version",), ("run", "--help"), ("zoo", "--list"), ("zoo", "--list", "--json", "-"),
            ("inspect", self.net), ("inspect", self.net, "--json", "-"), ("check", self.net), ("check", self.net, "--json", "-"),
            ("compile", self.net, "--emit", "graph"), ("compile", self.net, "--emit", "asm"), ("compile", self.net, "-o", "-"),
            ("compile", self.net, "-o", self.path("x.lathe")), ("compile", self.net, "--emit", "schedule", "-o", "-"),
            ("run", self.package, "--fill", "ones"), ("run", self.package, "--fill", "ones", "--json", "-"),
            ("run", self.package, "--fill", "ones", "-o", "-"), ("run", self.net, "--reference", "--fill", "ones"),
            ("verify", self.net, "--seeds", "1"), ("verify", self.net, "--seeds", "1", "--json", "-"),
            ("bench", self.package, "--max-seconds", "0.05", "--no-store"), ("profile", self.package, "--repetitions", "2", "--no-store"),
            ("extract", self.net, "--node", "conv1", "-o", "-"), ("extract", self.net, "--node", "conv1", "-o", self.path("cut.onnx")), ("export", self.net, "-o", "-"),
            ("zoo", "squeezenet", "-o", "-"), ("ops", "problems", self.net), ("ops", "problems", self.net, "--csv", "-"),
            ("store", "path"), ("store", "list"), ("store", "list", "--json", "-"), ("store", "show"), ("store", "export", "-"),
            ("store", "export", "-", "--format", "csv"), ("store", "export", "-", "--format", "benchmark-json"), ("records", "list"), ("records", "best", "--json", "-"),
            ("records", "export", "-"),
        ]
        for command in commands:
            with self.subTest(" ".join(command)), open(FULL, "wb") as full:
                done = subprocess.run([LATHE, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
                self.assertEqual(done.returncode, 2, f"{command}: {done.stderr}")
                self.assertIn("No space left on device", done.stderr)
                self.assertEqual(done.stderr.count("No space left"), 1, done.stderr)

    def test_files_on_a_full_device(self):
        full = self.path("full")  # by a link: a rename into its place would not take the system's device away
        os.symlink(FULL, full)
        for command in [("zoo", "squeezenet", "-o", full), ("compile", self.net, "-o", full),
                        ("compile", self.net, "--emit", "schedule", "-o", full), ("compile", self.net, "--emit", "loops", "-o", full),
                        ("inspect", self.net, "--json", full), ("extract", self.net, "--node", "conv1", "-o", full),
                        ("ops", "problems", self.net, "--csv", full), ("run", self.package, "--fill", "ones", "-o", full),
                        ("run", self.package, "--fill", "ones", "--json", full)]:
            with self.subTest(" ".join(command)):
                self.error(*command, says="full: cannot write: No space left on device")
        self.assertTrue(os.path.islink(full) and stat.S_ISCHR(os.stat(full).st_mode))

    def test_an_input_is_never_overwritten(self):
        schedule, npy, data = self.path("s.txt"), self.path("in.npy"), self.path("in")
        self.lathe("compile", self.onnx, "--emit", "schedule", "-o", schedule)
        np.save(npy, np.ones((1, 4), np.float32))
        os.makedirs(data, exist_ok=True)
        np.save(os.path.join(data, "y.npy"), np.ones((1, 4), np.float32))
        np.save(os.path.join(data, "x.npy"), np.ones((1, 4), np.float32))
        link, hard = self.path("link.onnx"), self.path("hard.onnx")
        for name in (link, hard):
            if os.path.lexists(name):
                os.remove(name)
        os.symlink("m.onnx", link)
        os.link(self.onnx, hard)

        def content(name):
            with open(name, "rb") as file:
                return file.read()

        files = {name: content(name) for name in (self.onnx, schedule, npy, os.path.join(data, "y.npy"))}
        for output in (self.onnx, link, hard):
            for command in [("compile", self.onnx, "-o", output), ("compile", self.onnx, "--emit", "graph", "-o", output),
                            ("extract", self.onnx, "--node", "first", "-o", output), ("inspect", self.onnx, "--json", output),
                            ("run", self.onnx, "--fill", "ones", "--json", output), ("ops", "problems", self.onnx, "--csv", output)]:
                self.error(*command, says="is read by this command and would be overwritten")
        for command in [("compile", self.onnx, "--schedule", schedule, "-o", schedule),
                        ("compile", self.onnx, "--schedule", schedule, "-o", self.path("fresh.lathe"), "--json", schedule),
                        ("run", self.onnx, "-i", npy, "-o", npy), ("run", self.onnx, "-i", f"x={npy}", "--json", npy),
                        ("run", self.onnx, "-i", data, "-o", data)]:
            self.error(*command, says="is read by this command and would be overwritten")
        self.assertFalse(os.path.exists(self.path("fresh.lathe")))
        for name, before in files.items():
            self.assertEqual(content(name), before, name)
        package = self.path("own.lathe")
        shutil.copy(self.package, package)
        self.error("run", package, "--fill", "ones", "--json", package, says="would be overwritten")

    def test_weights_beside_the_model_are_not_overwritten(self):
        text, weights = self.path("big.mlir"), self.path("big.mlir.safetensors")
        self.lathe("compile", "zoo:squeezenet", "--emit", "graph", "-o", text)
        before = os.path.getsize(weights)
        self.error("compile", text, "-o", weights, says="would be overwritten")
        self.error("compile", text, "--emit", "graph", "-o", text, says="would be overwritten")
        self.assertEqual(os.path.getsize(weights), before)

    def test_the_store_is_not_overwritten_by_its_export(self):
        store = self.path("kept.db")
        self.lathe("bench", self.package, "--max-seconds", "0.05", "--store", store)
        self.error("store", "export", store, "--store", store, says="would be overwritten")
        self.lathe("store", "list", "--store", store)

    def test_arrays(self):
        one, two = self.path("one.npy"), self.path("two.mlir")
        self.lathe("run", self.package, "--fill", "ones", "-o", one)
        self.assertEqual(np.load(one).shape, (1, 5))
        with open(two, "w") as file:
            file.write(TWO_OUTPUTS)
        self.error("run", two, "--fill", "ones", "-o", self.path("both.npy"), says="takes one output and the model has 2")
        self.error("run", two, "--fill", "ones", "--reference", "-o", self.path("both.npy"), says="takes one output and the model has 2")
        self.assertFalse(os.path.exists(self.path("both.npy")))
        self.lathe("run", two, "--fill", "ones", "-o", self.path("both/"))
        self.assertEqual(sorted(os.listdir(self.path("both"))), ["a.npy", "b.npy"])
        self.error("run", two, "--fill", "ones", "-o", self.path("neither"), says="expected FILE.npy, FILE.npz, or a folder")

    def piped(self, *arguments):
        done = subprocess.run([LATHE, *arguments], capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_dash_is_the_standard_output(self):
        here = os.getcwd()
        os.chdir(self.folder.name)
        try:
            with open(self.path("piped.lathe"), "wb") as file:
                file.write(self.piped("compile", self.net, "-o", "-"))
            self.lathe("run", self.path("piped.lathe"), "--fill", "ones")
            self.assertEqual(np.load(io.BytesIO(self.piped("run", self.package, "--fill", "ones", "-o", "-"))).shape, (1, 5))
            with open(self.path("piped.onnx"), "wb") as file:
                file.write(self.piped("extract", self.net, "--node", "conv1", "-o", "-"))
            self.lathe("inspect", self.path("piped.onnx"))
            self.assertTrue(self.piped("ops", "problems", self.net, "--csv", "-").startswith(b"suite,name,count,kind,problem\n"))
            self.assertFalse(os.path.exists("-"))
        finally:
            os.chdir(here)
        self.error("compile", self.net, "-o", "-", "--json", "-", says="both write to the standard output")

    def test_binary_output_is_not_sent_to_a_terminal(self):
        leader, terminal = os.openpty()
        done = subprocess.run([LATHE, "compile", self.net, "-o", "-"], stdout=terminal, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("terminal", done.stderr)
        os.close(terminal)
        os.close(leader)

    def test_two_processes_write_one_file(self):
        out = self.path("shared.lathe")
        running = [subprocess.Popen([LATHE, "compile", self.net, "-o", out], stdout=subprocess.DEVNULL) for _ in range(4)]
        self.assertEqual([process.wait() for process in running], [0] * 4)
        self.lathe("run", out, "--fill", "ones")
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.endswith(".partial")], [])


if __name__ == "__main__":
    main()
