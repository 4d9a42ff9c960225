"""`lathe bench` and `profile`: whole networks, timed."""
import fcntl
import os
import pty
import struct
import termios

from fixture import LATHE, Cli, main, network


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
