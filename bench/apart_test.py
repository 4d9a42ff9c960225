#!/usr/bin/env python3
"""Tests apart.py with a program that replaces `lathe`: runs are kept and continued, and shares have their intervals."""
import json
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import apart  # noqa: E402
import marks  # noqa: E402

FAKE = r'''#!%s
import json, os, sqlite3, sys
arguments = sys.argv[1:]
value = lambda name: arguments[arguments.index(name) + 1]
open(os.environ["FAKE_LOG"], "a").write(os.environ["LATHE_INJECT_SLOWDOWN"] + "\n")
database = sqlite3.connect(value("--store"))
database.execute("CREATE TABLE IF NOT EXISTS experiment (id INTEGER PRIMARY KEY, uuid TEXT)")
database.execute("INSERT INTO experiment(uuid) VALUES (hex(randomblob(8)))")
database.commit()
json.dump({"rows": [{"other_processors": 0.5, "points": []}]}, open(value("--json"), "w"))
'''


def main():
    # Clopper and Pearson, as tables have them.
    for (k, n), (low, high) in {(0, 300): (0, 0.01222), (6, 300): (0.00738, 0.04304), (95, 100): (0.88716, 0.98357), (10, 10): (0.69150, 1)}.items():
        found = apart.binomial(k, n)
        assert abs(found[0] - low) < 2e-5 and abs(found[1] - high) < 2e-5, (k, n, found)
    assert apart.share_text(6, 300) == "6 of 300, 2.0 % (0.7 to 4.3)", apart.share_text(6, 300)
    assert apart.share_text(0, 0) == "not measured"
    with tempfile.TemporaryDirectory() as folder:
        program, log, data = (os.path.join(folder, name) for name in ("lathe", "log", "data"))
        pathlib.Path(program).write_text(FAKE % sys.executable)
        os.chmod(program, 0o755)
        os.environ["FAKE_LOG"] = log
        os.makedirs(data)
        asked = lambda: pathlib.Path(log).read_text().split()
        for number, share in enumerate(apart.SHARES):
            apart.measure(program, os.path.join(data, "load-0-%d.json" % number), os.path.join(data, "load.db"), share, 6)
        assert asked() == ["%g" % share for share in apart.SHARES], asked()
        pathlib.Path(data, "load-1-0.json").write_text("{}")  # a cycle that is not whole yet
        assert {label: list(cycles) for label, cycles in apart.runs_of(data).items()} == {"load": [0]}
        one = json.loads(pathlib.Path(data, "load-0-2.json").read_text())
        assert one["share"] == 0.05 and len(one["experiments"]) == 1 and one["other_processors"] == 0.5, one
        page = os.path.join(folder, "page.md")
        pathlib.Path(page).write_text("before\n%s\nold\n%s\nafter\n" % (apart.BEGIN, marks.END))
        marks.write(page, apart.BEGIN, "new\n")
        assert pathlib.Path(page).read_text() == "before\n%s\n\nnew\n\n%s\nafter\n" % (apart.BEGIN, marks.END)
    print("ok")


main()
