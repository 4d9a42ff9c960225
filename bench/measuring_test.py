#!/usr/bin/env python3
"""Tests measuring.py with a program that replaces `lathe` and answers like it: rows are kept and continued, and the table counts
wrong verdicts."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

FAKE = r'''#!%s
import json, os, sys
arguments = sys.argv[1:]
open(os.environ["FAKE_LOG"], "a").write(" ".join(arguments) + "\n")
value = lambda name: arguments[arguments.index(name) + 1]
def verdict(name, wrong):
    slow = {"twin": 0.0, "slow2": 0.02, "slow5": 0.05, "slow10": 0.1}[name]
    word = "slower" if wrong and not slow else "faster" if slow >= 0.05 else "same"
    return {"verdict_alone": word, "ratio": 1 + slow, "ratio_low": 0.99 + slow, "ratio_high": 1.01 + slow}
names = ["twin", "slow2", "slow5", "slow10"]
if arguments[0] == "compile":
    open(value("-o"), "w").write("package")
elif arguments[0] == "compare":
    assert os.environ["LATHE_INJECT_SLOWDOWN"] == "slow2.lathe=0.02,slow5.lathe=0.05,slow10.lathe=0.1"
    sides = value("--with").split(",")
    assert [open(side).read() for side in sides] == ["package"] * 4
    wrong = "alarm" in arguments[1] and value("--threads") == "2"
    json.dump({"starts": [3] * 6, "other_processors": 0.3 if wrong else 0.0,
               "sides": [{"name": side, "rounds_ns": [[1000]]} for side in sides],
               "peers": [{"peer": name + ".lathe", **verdict(name, wrong)} for name in names]}, open(value("--json"), "w"))
else:
    rows = [{"starts": [3] * 6, "points": [{"provider": name, "rounds_ns": [[1]]} for name in names], "verdicts": [{"peer": name, **verdict(name, False)} for name in names]}]
    json.dump({"rows": rows}, open(value("--json"), "w"))
'''


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        lathe, calls, log, page = root / "lathe", root / "calls", root / "rows.jsonl", root / "page.md"
        lathe.write_text(FAKE % sys.executable)
        lathe.chmod(0o755)
        page.write_text("before\n<!-- bench/measuring.py writes from here -->\nold\n<!-- to here -->\nbetween\n"
                        "<!-- bench/measuring.py --what compare writes from here -->\nold\n<!-- to here -->\nafter\n")

        def measuring(*arguments):
            calls.write_text("")
            result = subprocess.run([sys.executable, str(HERE / "measuring.py"), str(lathe), "--log", str(log), *arguments], capture_output=True, text=True,
                                    env={**os.environ, "FAKE_LOG": str(calls)})
            assert result.returncode == 0, result
            return result.stdout, calls.read_text()

        study = ["--what", "compare", "--networks", "zoo:quiet,zoo:alarm", "--tries", "2", "--write", str(page)]
        said, made = measuring(*study)
        assert made.count("compare ") == 8 and made.count("compile ") == 4, made  # two tries, two networks, two numbers of threads
        text = page.read_text()
        for words in ("| 0 % | 8 | 2 (25.0 %) | 0 | 6 | 0 | 1.0000 |", "| 5 % | 8 | 8 (100.0 %) | 8 | 0 | 0 | 1.0500 |",
                      "2 networks, 2 tries each, threads 1 and 2, the defaults of `lathe compare`", "during 2 of 8 rows", "6 starts (6 at most)",
                      "Called different and the same: zoo:alarm 0, 2 threads: 1.000 (0.990 to 1.010); zoo:alarm 1, 2 threads"):
            assert words in text, words + " is not in\n" + text
        assert text.startswith("before\n<!-- bench/measuring.py writes from here -->\nold\n") and text.endswith("<!-- to here -->\nafter\n"), text

        # What is there is not measured again; what a kill cut off is, and what others disturbed where --again asks for it.
        assert measuring(*study)[1] == ""
        log.write_text(log.read_text()[:-30])
        assert measuring(*study)[1].count("compare ") == 1
        assert measuring(*study, "--again")[1].count("compare ") == 2
        assert measuring(*study, "--starts", "3")[1].count("--starts 3") == 8  # other settings are other rows
        said, made = measuring("--problems", "1", "--write", str(page))
        assert made.count("ops bench") == 20 and "10 problems, threads 1 and 2, the defaults of `lathe ops bench`" in page.read_text()


main()
