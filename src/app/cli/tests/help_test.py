"""Help of verbs and of their sub-verbs, --quiet, and progress that does not stand in the way of the text."""
import os
import pty
import re
import subprocess

from fixture import BUSY, LATHE, Cli, main

GROUPS = {"ops": ["bench", "problems", "analyze", "diff"], "store": ["path", "list", "show", "export", "import", "merge", "tag", "note", "name", "trend"],
          "records": ["list", "best", "export", "import", "merge", "prune", "ship"]}


class Help(Cli):
    knows_machine = True

    def test_sub_verbs_are_listed_and_explained(self):
        for group, verbs in GROUPS.items():
            text = self.lathe(group, "--help").stdout
            self.assertEqual(text, self.lathe("help", group).stdout)
            self.assertEqual(re.findall(r"^  ([a-z]+) {2,}", text.split("Verbs:")[1].split("Examples:")[0], re.M), verbs)
            for verb in verbs:
                own = self.lathe("help", group, verb).stdout
                self.assertIn(f"Usage: lathe {group} {verb}", own)
                self.assertEqual(own, self.lathe(group, verb, "--help").stdout)
            self.error(group, says=f"lathe {group} VERB with one of {verbs[0]}, ")
            self.error("help", group, "nonsense", says=f"one of {verbs[0]}, .*got 'nonsense'")
        self.error("help", "nonsense", says="no verb is called 'nonsense'")
        self.assertEqual(self.lathe("help", "run").stdout, self.lathe("run", "--help").stdout)

    def test_errors_name_the_sub_verb(self):
        self.assertIn("lathe store export: ", self.error("store", "export", says="see lathe store export --help"))
        self.assertIn("lathe ops diff: ", self.error("ops", "diff", "zz", "zy", says="zz"))

    def test_quiet_prints_nothing(self):
        for arguments in [("check", self.net), ("compile", self.net, "-o", self.path("q.lathe")), ("run", self.net, "--fill", "ones"),
                          ("verify", self.net, "--seeds", "1"), ("bench", self.net, "--repetitions", "2"),
                          ("profile", self.net, "--repetitions", "1"), ("extract", self.net, "--node", "conv1", "-o", self.path("q.onnx")),
                          ("compare", self.net, "--with", "reference", "--check-only"), ("segments", self.net, "--list"),
                          ("ops", "problems", self.net), ("zoo", "lstm", "-o", self.path("z.onnx"))]:
            with self.subTest(arguments[0]):
                done = self.lathe(*arguments, "--quiet")
                self.assertEqual((done.stdout, BUSY.sub("", done.stderr)), ("", ""))

    def test_what_is_left_is_bounded_by_the_limit(self):
        done = self.lathe("bench", "zoo:squeezenet", "--references-only", "--no-store", "--max-seconds", "4", "--interval", "1e-9")
        for line in [line for line in done.stderr.splitlines() if line.startswith("bench")]:
            self.assertRegex(line, r"run \d+, at most [0-4] s left")
        self.assertIn("bench: run", done.stderr)

    def test_progress_is_taken_off_the_terminal_before_the_text(self):
        ours, theirs = pty.openpty()
        child = subprocess.Popen([LATHE, "bench", "zoo:squeezenet", "--references-only", "--no-store", "--max-seconds", "4", "--interval", "1e-9"],
                                 stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        self.assertEqual(child.wait(), 0, shown)
        text = shown.decode()
        self.assertIn("at most", text)
        self.assertRegex(text, r"\x1b\[Kzoo:squeezenet \(")


if __name__ == "__main__":
    main()
