"""`lathe bench` and `profile`: whole networks, timed."""
from fixture import Cli, main, network


class Profile(Cli):
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
