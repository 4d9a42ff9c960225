"""A zoo network compiles without reference calls, verifies, gives one answer for any number of threads, and takes an open batch.

usage: network_test.py LATHE NETWORK
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

lathe, network = sys.argv[1], sys.argv[2]


def run(*arguments):
    result = subprocess.run([lathe, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"lathe {' '.join(arguments)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


with tempfile.TemporaryDirectory() as folder:
    def path(name):
        return os.path.join(folder, name)

    run("check", f"zoo:{network}", "--json", path("check.json"))
    checked = json.load(open(path("check.json")))
    assert checked["references"] == [] and checked["supported"], checked

    # The tolerance of `verify`: relative L2 error 2e-5, largest difference 1e-4 of the largest value.
    run("compile", f"zoo:{network}", "-o", path("n.lathe"))
    print(run("verify", f"zoo:{network}", "--package", path("n.lathe"), "--seeds", "1"))

    outputs = []
    for threads in ("1", "2", "3", "5", "8", "64"):
        run("run", path("n.lathe"), "--fill", "random", "--seed", "7", "--threads", threads, "-o", path(f"{threads}.npz"))
        outputs.append(np.load(path(f"{threads}.npz")))
    for other in outputs[1:]:
        for name in outputs[0].files:
            assert np.array_equal(outputs[0][name], other[name]), f"{name} depends on the number of threads"
