#!/usr/bin/env python3
"""The types of the package, checked by mypy as a user's program sees them:  typed_test.py FOLDER-OF-THE-PACKAGE"""
import os
import subprocess
import sys
import tempfile

folder = os.path.abspath(sys.argv[1])
SAMPLE = """
from typing import Any

import lathe


def median(path: str) -> float:
    model = lathe.load(path, threads=2)
    made: lathe.results.Compilation = model.compile("m.lathe", level=3, shape={"x": (1, 3)})
    outputs: dict[str, Any] = made.package.run([[0.0]])
    for row in lathe.profile(path, repetitions=3).rows:
        print(row.time_ms / 2, row.nodes[0].upper())
    if not model.verify(seeds=1).ok:
        raise lathe.Error(f"{len(outputs)} outputs")
    return lathe.bench(path, layout="nhwc").wall.median_ms
"""
WRONG = {'lathe.bench("m", layout="rows")': "arg-type", 'lathe.bench("m", repetition=3)': "call-arg", 'lathe.bench("m").medium_ms': "attr-defined",
         'lathe.load("m").verify(seeds="one")': "arg-type"}

if subprocess.run([sys.executable, "-c", "import mypy"], capture_output=True).returncode != 0:
    print("skipped: mypy is missing, so no types are checked")
    sys.exit(77)


def mypy(text):
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "sample.py")
        with open(path, "w") as file:
            file.write(text)
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.path.join(place, "cache"), path], cwd=place, capture_output=True,
                              text=True, env={**os.environ, "MYPYPATH": folder})
        return done.returncode, done.stdout + done.stderr


code, said = mypy(SAMPLE)
if code != 0:
    sys.exit(f"mypy --strict of a correct program:\n{said}")
code, said = mypy(SAMPLE + "\n".join(WRONG))
for number, (line, kind) in enumerate(WRONG.items(), SAMPLE.count("\n") + 1):
    if not any(f"sample.py:{number}:" in each and f"[{kind}]" in each for each in said.splitlines()):
        sys.exit(f"mypy does not reject line {number}, {line}, for [{kind}]:\n{said}")
print(f"one correct program, {len(WRONG)} wrong lines")
