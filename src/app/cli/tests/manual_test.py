"""Manual pages: groff and mandoc find nothing wrong in them, and what they print is what `lathe` says of itself."""
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

LATHE = os.path.abspath(sys.argv.pop(1))
PAGES = os.path.join(os.path.dirname(LATHE), "..", "share", "man", "man1")


def page(name):
    return gzip.open(os.path.join(PAGES, name + ".1.gz"), "rt", encoding="utf-8").read()


def one_line(text):
    return " ".join(text.split())


def describe(*words):
    return json.loads(subprocess.run([LATHE, *words, "--describe"], capture_output=True, text=True, check=True).stdout)


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = sorted(os.path.basename(path).removesuffix(".1.gz") for path in glob.glob(os.path.join(PAGES, "*.1.gz")))
        cls.commands = {}
        for verb in describe()["verbs"]:
            cls.commands["lathe-" + verb["name"]] = group = describe(verb["name"])
            for sub in group.get("verbs", []):
                cls.commands[f"lathe-{verb['name']}-{sub['name']}"] = describe(verb["name"], sub["name"])

    def printed(self, name):
        """The page as a very wide terminal shows it, without warnings of groff."""
        if shutil.which("groff") is None:
            self.skipTest("SKIPPED: groff is not installed (make setup-bench)")
        # In UTF-8 and without a line's end in sight: words stay whole, \- is a hyphen as Debian's man prints it.
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-c", "-P-b", "-P-u", "-rLL=3000n", "-rHY=0"], input=page(name),
                              capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        return one_line(done.stdout)

    def test_every_verb_has_a_page(self):
        self.assertLessEqual({"lathe", "lathe-runner", *self.commands}, set(self.names))
        self.assertGreater(len(self.commands), 35)

    def test_pages_print_every_option_and_its_help(self):
        for name, record in self.commands.items():
            text = self.printed(name)
            self.assertIn(one_line(record["summary"]), text, name)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
                self.assertIn(f" {section} ", text, name)
            for option in record.get("options", []):
                shown = ", ".join(option["names"]) or option["positional"]
                self.assertRegex(text, rf" {re.escape(shown)} [^\n]*{re.escape(one_line(option['help']).rstrip('.'))}", (name, shown))
            for line in record["footer"].split("\nExit code")[0].split("\n")[1:]:
                self.assertIn(one_line(line), text, name)

    def test_the_first_page_lists_every_verb(self):
        text, record = self.printed("lathe"), describe()
        for verb in record["verbs"]:
            self.assertIn(f" {verb['name']} {one_line(verb['summary'])}.", text)
            self.assertIn(f"lathe-{verb['name']}(1)", text)
        for line in record["footer"].split("\n\n")[0].split("\n"):
            self.assertIn(one_line(line) if line.startswith(" ") else "EXAMPLES", text)
        self.assertIn("lathe-runner(1)", text)
        self.printed("lathe-runner")

    def test_man_warns_of_nothing(self):
        if shutil.which("man") is None:
            self.skipTest("SKIPPED: man-db is not installed (make setup-bench)")
        for name in ("lathe", "lathe-compile", "lathe-ops-bench", "lathe-provider-lathe"):
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", os.path.join(PAGES, name + ".1.gz")], capture_output=True, text=True,
                                  env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "PAGER": "cat"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertIn("lathe", done.stdout)
            if name == "lathe-compile":
                self.assertIn("--layout", done.stdout)  # hyphens that can be pasted into a shell

    def test_mandoc_warns_of_nothing(self):
        if shutil.which("mandoc") is None:
            self.skipTest("SKIPPED: mandoc is not installed (make setup-bench)")
        for name in self.names:
            done = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=page(name), capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), name)

    def test_whatis_can_read_the_names(self):
        for name in self.names:
            line = page(name).split(".SH NAME\n")[1].split("\n")[0]
            self.assertIn(name.replace("-", "\\-"), line.split(" \\- ")[0].split(", "))
            self.assertRegex(line, r" \\- \w")


if __name__ == "__main__":
    unittest.main()
