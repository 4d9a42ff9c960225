"""`lathe bench` and `profile`: whole networks, timed."""
import fcntl
import os
import pty
import struct
import termios

from fixture import LATHE, Cli, main, network


class Profile(Cli):
    knows_machine = True

    def test_running_a_package_does_without_the_compiler(self):
        # LLVM alone would be 75 MB.
        self.assertLess(self.figures("bench", self.package, "--repetitions", "3")["peak_rss_bytes"], 40e6)

    def test_profile_rows_add_up(self):
        report = self.figures("profile", self.package)
        total = sum(row["time_ms"] for row in report["rows"]) + report["overhead_ms"]
        self.assertAlmostEqual(total, report["whole_ms"], delta=1e-6 * report["whole_ms"] + 1e-9)
        until = self.figures("profile", self.package, "--until", "relu1")
        self.assertLess(len(until["rows"]), len(report["rows"]))
        self.error("profile", self.package, "--until", "nowhere", says="nowhere")

    def test_what_each_slot_did_adds_up(self):
        report = self.figures("profile", self.package, "--threads", "3", "--repetitions", "3", "--no-check")
        self.assertEqual(len(report["slots"]), 3)
        whole = {round(sum(slot.values()) * 1e6) for slot in report["slots"]}  # nanoseconds
        self.assertLessEqual(max(whole) - min(whole), 1, "all slots last as long as the runs")
        self.assertGreater(report["slots"][0]["busy_ms"], 0)
        self.assertGreaterEqual(min(min(slot.values()) for slot in report["slots"]), 0)
        text = self.lathe("profile", self.package, "--threads", "2", "--repetitions", "2", "--no-check").stdout
        self.assertRegex(text, r"slots: busy [\d.]+ % \([\d.]+ to [\d.]+\), waiting for their team .* of the run, traced\n")
        self.assertEqual(self.figures("profile", self.package, "--repetitions", "2", "--no-check")["slots"], [])

    def test_predictions_stand_beside_times(self):
        # Measures the machine, so that compile, profile and --explain below plan with the same facts.
        self.lathe("profile", self.package, "--no-check", "--repetitions", "1")
        schedule, package = self.path("predicted.txt"), self.path("predicted.lathe")
        with open(schedule, "w") as file:
            file.write("conv1: direct/1 px=2 oc=1\n")
        self.lathe("compile", self.net, "-o", package, "--schedule", schedule)
        inspected = self.figures("inspect", package)
        kernels = {kernel["name"]: kernel for kernel in inspected["plans"][0]["kernels"]}
        self.assertEqual(inspected["planned_threads"], 1)
        report = self.figures("profile", package, "--no-check", "--repetitions", "5")
        self.assertEqual((report["planned_threads"], report["predicted_for"]), (1, inspected["machine"]["cpu"]))
        self.assertTrue(0.1 < report["clock_ghz"] < 10, report["clock_ghz"])
        rows = [row for row in report["rows"] if row["kind"] == "kernel"]
        self.assertEqual(len(rows), len(kernels))
        for row in rows:
            self.assertEqual((row["predicted_cycles"] or 0, row["origin"]), (kernels[row["name"]]["predicted_cycles"], kernels[row["name"]]["origin"]))
            if row["family"] == "contraction":
                self.assertGreater(row["predicted_cycles"], 0, row["name"])
            if row["predicted_cycles"] is None:  # the model knows no cost
                continue
            self.assertAlmostEqual(row["predicted_ms"], row["predicted_cycles"] / report["clock_ghz"] * 1e-6, delta=1e-9)
            self.assertAlmostEqual(row["predicted_share"] * row["time_ms"], row["predicted_ms"], delta=1e-9)
            # What --explain predicts is what the package carries.
            explained = self.figures("compile", self.net, "--explain", row["name"], "--schedule", schedule)["kernel"]
            self.assertAlmostEqual(explained["chosen"]["predicted"]["cycles"], row["predicted_cycles"], delta=1e-6)
            self.assertEqual(explained["origin"], row["origin"])
        self.assertIn(f"{schedule}, line 1", {row["origin"] for row in rows})
        self.assertLessEqual({row["origin"] for row in rows}, {"the prior's rule", "the prior's model", f"{schedule}, line 1"})
        text = self.lathe("profile", package, "--no-check", "--repetitions", "2").stdout
        self.assertRegex(text, r"predicted: share of the measured time that the cost model expects, for \w+ at [0-9.]+ GHz")
        # Predictions are for the threads and extents that the package was planned for.
        two = self.figures("profile", package, "--no-check", "--repetitions", "2", "--threads", "2")
        self.assertEqual({row["predicted_ms"] for row in two["rows"]}, {None})
        self.assertIn("no predictions: the schedules were chosen for 1 thread\n",
                      self.lathe("profile", package, "--no-check", "--repetitions", "2", "--threads", "2").stdout)
        batch = self.path("batch.mlir")
        with open(batch, "w") as file:
            file.write("""func.func @main(%x: tensor<?x65536xf32> {nn.name = "x", nn.dims = ["N", "65536"]}) -> tensor<?x65536xf32> {
              %0 = nn.relu %x : (tensor<?x65536xf32>) -> tensor<?x65536xf32> loc("relu")
              return %0 : tensor<?x65536xf32> }""")
        for extent, known in (("1", True), ("3", False)):
            row, = self.figures("profile", batch, "--no-check", "--repetitions", "2", "--batch", extent)["rows"]
            self.assertEqual(row["predicted_ms"] is not None, known)

    def test_tables_fit_the_terminal(self):
        whole = self.lathe("profile", self.net, "--repetitions", "3").stdout
        self.assertIn("schedule", whole)
        self.assertNotIn("--wide shows all", whole)  # what reads a pipe wants everything
        text = self.narrow("profile", self.net, "--repetitions", "3")
        self.assertRegex(text, "left out: .*schedule.*; --wide shows all")
        self.assertIn("direct/1", self.lathe("profile", self.net, "--repetitions", "3", "--wide").stdout)
        for verb in [["zoo", "--list"], ["inspect", self.net], ["ops", "problems", self.net], ["bench", self.net, "--repetitions", "3"],
                     ["store", "list"], ["store", "show"], ["segments", self.net, "--list"], ["machine"]]:
            self.narrow(*verb)
        # On a terminal its own width counts.
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.pop("COLUMNS", None)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
            os.execv(LATHE, [LATHE, "zoo", "--list"])
        said = b""
        try:
            while block := os.read(terminal, 4096):
                said += block
        except OSError:  # how Linux says that the other end is gone
            pass
        os.waitpid(pid, 0)
        self.assertIn("shortened: what; --wide shows all", said.decode())
        self.assertLessEqual(max(len(line) for line in said.decode().split("\r\n")), 60)

    def test_profile_wants_an_answer_first(self):
        report = self.figures("profile", self.net)
        self.assertTrue(report["verified"], report["verification"])
        self.assertGreater(report["peak_gflops"], 0)
        other, package = self.path("other.mlir"), self.path("other.lathe")
        with open(other, "w") as file:
            file.write(network().replace("nn.relu", "nn.sigmoid"))
        self.lathe("compile", other, "-o", package)
        self.lathe("verify", self.net, "--package", package, "--seeds", "1", code=1)
        self.assertIn("not profiled", self.lathe("profile", package, code=1).stderr)
        self.assertFalse(self.figures("profile", package, "--no-check")["verified"])


if __name__ == "__main__":
    main()
