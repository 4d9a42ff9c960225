"""A zoo network with operands rounded to bf16, and in fp32: both verify, the operands are rounded, and the outputs are close.

usage: bf16_network_test.py LATHE NETWORK
Exit code 77 (skipped) on a machine whose CPU has no products of bf16.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

lathe, network = sys.argv[1], sys.argv[2]


def start(*arguments):
    return subprocess.run([lathe, *arguments], capture_output=True, text=True)


def run(*arguments):
    result = start(*arguments)
    if result.returncode != 0:
        sys.exit(f"lathe {' '.join(arguments)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


with tempfile.TemporaryDirectory() as folder:
    def path(name):
        return os.path.join(folder, name)

    # A target without the instructions says so in one line, whatever machine this is.
    refused = start("compile", f"zoo:{network}", "--precision", "bf16", "--target", "x86-64-v3", "-o", path("none.lathe"))
    assert refused.returncode == 2 and "avx512bf16" in refused.stderr and refused.stderr.count("\n") == 1, refused

    attempt = start("compile", f"zoo:{network}", "--precision", "bf16", "-o", path("bf16.lathe"))
    if attempt.returncode == 2 and "avx512bf16" in attempt.stderr:
        print(f"SKIPPED: {attempt.stderr.strip()}")
        sys.exit(77)
    assert attempt.returncode == 0, attempt.stderr
    run("compile", f"zoo:{network}", "-o", path("fp32.lathe"))
    rounds = "type=bf16|amx/1 "  # vectors of pairs or tiles
    assert re.search(rounds, run("compile", f"zoo:{network}", "--precision", "bf16", "--emit", "schedule"))
    assert not re.search(rounds, run("compile", f"zoo:{network}", "--emit", "schedule"))

    # Each by its own bound; bf16 is further off than fp32's bound allows, or nothing was rounded.
    errors = {}
    for precision in ("fp32", "bf16"):
        run("verify", f"zoo:{network}", "--package", path(f"{precision}.lathe"), "--seeds", "1", "--json", path("verdict.json"))
        verdict = json.load(open(path("verdict.json")))
        assert verdict["passed"] and verdict["precision"] == precision, verdict
        errors[precision] = verdict["relative_error"]
    print(network, "relative L2 error against float64:", errors)
    assert errors["fp32"] < 2e-5 < errors["bf16"], errors

    # One answer for any number of threads, near that of fp32.
    outputs = {}
    for name, threads in (("bf16", "1"), ("bf16", "3"), ("fp32", "1")):
        run("run", path(f"{name}.lathe"), "--fill", "random", "--seed", "7", "--threads", threads, "-o", path(f"{name}-{threads}.npz"))
        outputs[name, threads] = np.load(path(f"{name}-{threads}.npz"))
    for name in outputs["fp32", "1"].files:
        rounded, exact = outputs["bf16", "1"][name].astype(np.float64), outputs["fp32", "1"][name].astype(np.float64)
        assert np.array_equal(rounded, outputs["bf16", "3"][name]), f"{name} depends on the number of threads"
        assert np.linalg.norm(rounded - exact) < 5e-2 * np.linalg.norm(exact), name

    # `compare` takes the other package; what it says of them follows their bounds. No time is asserted.
    run("compare", f"zoo:{network}", "--precision", "bf16", "--with", path("fp32.lathe"), "--check-only")
