"""`lathe sweep`: a grid of levels, targets and threads, accuracy by hand, rows that cannot run, and interruption."""
import json
import os
import signal
import subprocess

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
