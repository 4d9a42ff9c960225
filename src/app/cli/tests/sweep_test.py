"""`lathe sweep`: a grid of levels, targets and threads, accuracy by hand, rows that cannot run, and interruption."""
import glob
import json
import os
import shutil
import signal
import subprocess
import time

from fixture import LATHE, Cli, main
from evaluate_test import NETWORK as COLOURS, SCALE, blue, bmp, keras_colours

SHORT = ["--starts", "1", "--max-seconds", "0.2"]
# Not compiled by any level: the weights of the convolution are an input.
OPEN_WEIGHTS = """
func.func @main(%x: tensor<1x2x8x8xf32> {nn.name = "x"}, %w: tensor<2x2x3x3xf32> {nn.name = "w"}) -> (tensor<1x2x6x6xf32> {nn.name = "y"}) {
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x6x6xf32> loc("open")
  return %0 : tensor<1x2x6x6xf32>
}
"""


class Sweep(Cli):
    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def test_the_grid_in_order(self):
        store = self.path("sweep.db")
        figures = self.figures("sweep", self.net, "--levels", "0,3", "--threads", "1,2", *SHORT, "--store", store)
        self.assertTrue(figures["finished"])
        rows = figures["rows"]
        self.assertEqual([(row["level"], row["target"], row["threads"]) for row in rows],
                         [(0, "native", 1), (3, "native", 1), (0, "native", 2), (3, "native", 2)])
        self.assertIsNone(rows[0]["speedup"])
        for row in rows:
            self.assertEqual(row["reason"], "")
            self.assertRegex(row["verification"], "^verified")
            self.assertGreater(row["time"]["median_ms"], 0)
            self.assertGreater(row["compiled"]["package_bytes"], 0)
            self.assertEqual(row["compiled"]["cached_kernels"], 0)
            self.assertEqual(row["without_kernel"], [])
        for row in rows[1:]:
            self.assertGreater(row["speedup"]["ratio"], 0)
        self.assertGreater(rows[0]["compiled"]["kernels"], rows[1]["compiled"]["kernels"])
        (experiment,) = self.figures("store", "list", "--store", store)["experiments"]
        points = self.figures("store", "show", experiment["uuid"], "--store", store)["points"]
        self.assertEqual([point["status"] for point in points], ["passed"] * 4)
        self.assertEqual(sorted(point["figures"]["package_bytes"] for point in points), sorted(row["compiled"]["package_bytes"] for row in rows))
        self.assertEqual([point["figures"]["references"] for point in points], [0] * 4)

    def test_the_table(self):
        text = self.lathe("sweep", self.net, "--levels", "3", *SHORT, "--no-store").stdout
        heading, row = text.splitlines()[:2]
        for title in ["-O", "target", "threads", "median ms", "speedup", "compile s", "of original"]:
            self.assertIn(title, heading)
        self.assertRegex(row, r"^ *3  native")
        self.narrow("sweep", self.net, "--levels", "3", *SHORT, "--no-store")

    def test_a_target_that_this_machine_lacks_is_a_row_with_its_reason(self):
        foreign = "aarch64-linux-gnu,cpu=cortex-a76" if os.uname().machine == "x86_64" else "x86-64-v3"
        arguments = ["sweep", self.net, "--levels", "3", "--target", "native", "--target", foreign, *SHORT, "--no-store"]
        here, there = self.figures(*arguments)["rows"]
        self.assertEqual(here["reason"], "")
        self.assertIsNone(there["time"])
        self.assertRegex(there["reason"], "^not run: .*compiled for")
        self.assertGreater(there["compiled"]["package_bytes"], 0)

    def test_what_cannot_be_compiled_is_a_row_with_its_reason(self):
        figures = self.figures("sweep", self.net, "--levels", "3-4", "--exact-math", *SHORT, "--no-store", code=1)
        self.assertEqual(figures["rows"][0]["reason"], "")
        self.assertRegex(figures["rows"][1]["reason"], "^not compiled: .*-O4 relaxes")

    def test_operators_without_kernels_and_their_cost(self):
        model = self.write("open.mlir", OPEN_WEIGHTS)
        (row,) = self.figures("sweep", model, "--levels", "3", *SHORT, "--no-store")["rows"]
        (one,) = row["without_kernel"]
        self.assertIn("open", one["node"])
        self.assertIn("not constant", one["reason"])
        self.assertGreater(one["share_of_time"], 0)
        self.assertLessEqual(one["share_of_time"], 1)
        text = self.lathe("sweep", model, "--levels", "3", *SHORT, "--no-store").stdout
        self.assertRegex(text, r"-O 3, native, 1 thread: 1 operator without a kernel, [0-9.]+ % of the time")

    def test_accuracy_by_hand(self):
        model = self.write("colours.mlir", COLOURS)
        swapped = self.write("swapped.mlir", COLOURS.replace(
            "return %1", "%2 = nn.neg %1 : (tensor<1x3xf32>) -> tensor<1x3xf32>\n  return %2"))
        labels = self.write("labels.txt", "red\ngreen\nblue\n")
        for folder, name, colour in [("red", "a", (255, 0, 0)), ("red", "b", (10, 200, 0)), ("green", "c", (0, 255, 0))]:
            os.makedirs(self.path(os.path.join("data", folder)), exist_ok=True)
            bmp(self.path(os.path.join("data", folder, name + ".bmp")), colour)
        rows = self.figures("sweep", model, "--with", swapped, "--levels", "3", "--data", self.path("data"), "--labels",
                            labels, *SHORT, "--no-store")["rows"]
        self.assertEqual([(row["pictures"], row["labelled"], row["top1"], row["agreeing"]) for row in rows],
                         [(3, 3, 2, 3), (3, 3, 0, 0)])
        self.assertEqual(rows[0]["changed"], [])
        self.assertEqual([(one["class"], one["first_row"]) for one in rows[1]["changed"]], [(1, 1), (0, 0), (0, 1)])
        self.assertEqual(rows[0]["confusion"], [[0, 0, 1], [0, 1, 1], [1, 1, 1]])
        page, markdown = self.path("lab.html"), self.path("lab.md")
        self.lathe("sweep", model, "--with", swapped, "--levels", "3", "--data", self.path("data"), "--labels", labels,
                   "--html", page, "--markdown", markdown, *SHORT, "--no-store")
        with open(page) as file:
            text = file.read()
        for words in ["colours.mlir, -O 3, native, 1 thread", "2 of 3 right", "0 of 3 as the first row decides", "Changed decisions of swapped.mlir",
                      "<svg", "green"]:
            self.assertIn(words, text)
        with open(markdown) as file:
            text = file.read()
        self.assertRegex(text, r"\| red \| 1 \| 1 \|\n\| green \| 0 \| 1 \|")

    def test_flags_of_the_import(self):
        model, plain, definition = self.path("scaled.keras"), self.write("plain.mlir", COLOURS), self.write("scale.mlir", SCALE)
        keras_colours(model)
        figures = self.figures("sweep", model, "--custom", f"Scale={definition}", "--shape", "image=1x4x4x3", "--with", plain, "--levels", "3", *SHORT, "--no-store")
        for row in figures["rows"]:
            self.assertEqual(row["reason"], "")
            self.assertRegex(row["verification"], "^verified")
        self.assertEqual(len(figures["rows"]), 2)

    def test_all_rows_get_the_same_picture(self):
        real, integer = self.write("real.mlir", blue("f32")), self.write("integer.mlir", blue("i8", "1", -128))
        os.makedirs(self.path("reds"), exist_ok=True)
        bmp(self.path("reds/a.bmp"), (255, 0, 0))
        for flags, decision, pixels in (([], 0, [0, 255]), (["--pixel-range", "0..1"], 2, [0, 1])):
            figures = self.figures("sweep", real, "--with", integer, "--levels", "3", "--data", self.path("reds"), *flags, *SHORT, "--no-store")
            self.assertEqual([row["decisions"] for row in figures["rows"]], [[decision], [decision]])
            self.assertEqual((figures["pixel_range"], figures["skipped"]), (pixels, []))

    def tflite(self, name, shape, **quantised):
        """A model of one RELU, and the library of tests that runs it (lab/runners/tflite/FakeLibrary.cpp)."""
        tensor = {"shape": shape, "type": "INT8" if quantised else "FLOAT32", **({"quantization": quantised} if quantised else {})}
        model = {"version": 3, "operator_codes": [{"old_code": 19, "code": "RELU"}], "buffers": [{}],
                 "subgraphs": [{"tensors": [{**tensor, "name": "x"}, {**tensor, "name": "y"}], "inputs": [0], "outputs": [1],
                                "operators": [{"code": 0, "inputs": [0], "outputs": [1]}]}]}
        described = self.write(name + ".json", json.dumps(model))
        schema = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "model", "import", "tflite", "tflite.fbs")
        subprocess.run(["flatc", "--binary", "--root-type", "lathe.tflite.file.Model", "-o", self.folder.name, schema, described], check=True)
        (binary,) = [path for path in glob.glob(self.path(name + ".*")) if not path.endswith((".json", ".tflite"))]
        os.rename(binary, self.path(name + ".tflite"))
        return self.path(name + ".tflite")

    def library(self):
        return os.path.join(os.path.dirname(LATHE), "..", "lib", "liblathe_fake_tflite.so")

    def sweep_in(self, fake, *arguments, code=0):
        os.environ["FAKE_TFLITE"] = fake
        try:
            return self.figures("sweep", *arguments, "--levels", "3", *SHORT, "--no-store", code=code)
        finally:
            del os.environ["FAKE_TFLITE"]

    def test_the_original_runtime_is_a_row(self):
        model, page = self.tflite("relu", [1, 4, 4, 3]), self.path("runtime.html")
        os.makedirs(self.path("blues"), exist_ok=True)
        bmp(self.path("blues/a.bmp"), (0, 0, 255))
        figures = self.sweep_in("1x4x4x3 f32", model, "--tflite-library", self.library(), "--data", self.path("blues"), "--html", page)
        ours, theirs = figures["rows"]
        self.assertEqual((ours["runtime"], theirs["runtime"], theirs["runtime_title"]), ("lathe", "tflite", "tflite 2.0-fake, native"))
        self.assertRegex(theirs["verification"], "agrees with Lathe's outputs")
        self.assertGreater(theirs["time"]["median_ms"], 0)
        self.assertGreater(ours["over_runtime"]["ratio"], 0)
        self.assertIsNone(theirs["over_runtime"])
        self.assertEqual((ours["decisions"], theirs["decisions"]), ([2], [2]))
        self.assertGreater(theirs["peak_resident_bytes"], 0)
        with open(page) as file:
            self.assertIn("tflite 2.0-fake, native", file.read())

    def test_quantised_in_the_original_runtime(self):
        model = self.tflite("relu8", [1, 8], scale=[0.5], zero_point=[0])
        _, theirs = self.sweep_in("1x8 i8", model, "--tflite-library", self.library())["rows"]
        self.assertEqual(theirs["reason"], "")

    def test_runtimes_that_fail_stay_as_rows(self):
        model, page = self.tflite("relu", [1, 4, 4, 3]), self.path("failed.md")
        arguments = [model, "--tflite-library", self.library(), "--markdown", page]
        ours, theirs = self.sweep_in("1x4x4x3 f32 fails", *arguments, code=1)["rows"]
        self.assertEqual(ours["reason"], "")
        self.assertRegex(theirs["reason"], "^not timed: .*TensorFlow Lite fails: node 7 does not run")
        with open(page) as file:
            self.assertIn("node 7 does not run", file.read())
        _, theirs = self.sweep_in("1x2x2x3 f32", model, "--tflite-library", shutil.which("flatc"), code=1)["rows"]
        self.assertRegex(theirs["reason"], "^not timed: .*flatc.*(cannot be loaded|is not TensorFlow Lite)")
        self.error("sweep", model, "--tflite-library", "/no/such/file", says="--tflite-library /no/such/file: no such file")

    def rows_kept(self):
        return glob.glob(self.path("cache/lathe/sweeps/*/row[0-9].json"))

    def test_a_killed_sweep_continues(self):
        path = self.path("continued.json")
        arguments = ["sweep", self.net, "--levels", "0,1,2,3", "--exact-math", *SHORT, "--no-store", "--json", path]
        running = subprocess.Popen([LATHE, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while running.poll() is None and not self.rows_kept():
            time.sleep(0.005)
        running.kill()
        running.wait()
        with open(min(self.rows_kept())) as file:
            first = json.load(file)["compiled"]
        self.lathe(*arguments)
        with open(path) as file:
            figures = json.load(file)
        self.assertEqual(figures["rows"][0]["compiled"], first)
        self.assertEqual([row["reason"] for row in figures["rows"]], [""] * 4)
        self.assertEqual(self.rows_kept(), [])  # nothing is left to continue

    def test_a_row_whose_process_is_killed_is_a_row_with_its_reason(self):
        figures, page = self.path("killed.json"), self.path("killed.html")
        running = subprocess.Popen([LATHE, "sweep", self.net, "--levels", "0,3", *SHORT, "--no-store", "--json", figures, "--html", page],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def step():
            for place in glob.glob("/proc/[0-9]*/cmdline"):
                try:
                    with open(place, "rb") as file:
                        words = file.read().split(b"\0")
                except OSError:
                    continue
                if b"--row-number=0" in words and os.fsencode(page) in words:
                    return int(place.split("/")[2])
            return 0
        found = 0
        while running.poll() is None and not found:
            found = step()
        os.kill(found, signal.SIGKILL)
        self.assertEqual(running.wait(), 1)
        with open(figures) as file:
            first, second = json.load(file)["rows"]
        self.assertRegex(first["reason"], r"^not timed: .*signal 9")
        self.assertEqual(second["reason"], "")
        with open(page) as file:
            self.assertIn("signal 9", file.read())

    def test_errors(self):
        for levels in ["5", "3-1", "", "a", "0-"]:
            self.error("sweep", self.net, "--levels", levels, says="--levels .*expected levels from 0 to 4")
        self.error("sweep", self.net, "--labels", "x", says="--labels x.*--data DIR")
        self.error("sweep", self.package, says="is a compiled package")
        self.error("sweep", self.net, "--target", "native", "--target", "foo", says="foo")
        self.error("sweep", self.net, "--with", self.package, says="--with .*is a compiled package")

    def test_interrupted(self):
        store, figures = self.path("interrupted.db"), self.path("interrupted.json")
        running = subprocess.Popen([LATHE, "sweep", self.net, "--levels", "0,3", "--starts", "999", "--max-seconds", "600",
                                    "--store", store, "--json", figures], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3000):  # until the rows are timed: progress says so
            line = running.stderr.readline()
            if "start " in line:
                break
        os.kill(running.pid, signal.SIGTERM)
        out, said = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 128 + signal.SIGTERM, said)
        self.assertIn("2 of 2 rows are verified", out)
        with open(figures) as file:
            self.assertFalse(json.load(file)["finished"])
        (experiment,) = self.figures("store", "list", "--store", store)["experiments"]
        self.assertEqual(len(self.figures("store", "show", experiment["uuid"], "--store", store)["points"]), 2)


if __name__ == "__main__":
    main()
