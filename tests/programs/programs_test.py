#!/usr/bin/python3
"""Random programs of nested If, Loop and Scan, compiled, give what ONNX Runtime gives.

usage: programs_test.py LATHE RANDOM_PROGRAM [FIRST [COUNT]]

Seeds FIRST (1) to FIRST + COUNT - 1 (100), each with two sets of inputs. Exit code 77 where ONNX Runtime is missing.
A scanned value without iterations, of which ONNX Runtime loses the rank, is counted and is no failure.
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

lathe, program = sys.argv[1:3]
first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
count = int(sys.argv[4]) if len(sys.argv) > 4 else 100
failures, empty = [], 0
with tempfile.TemporaryDirectory() as folder:
    model = os.path.join(folder, "program.onnx")
    for seed in range(first, first + count):
        subprocess.run([program, str(seed), model], check=True)
        rng = np.random.default_rng(seed)
        for rows, iterations, flag in [(3, 2, True), (5, 3, False)]:
            inputs = []
            for name, value in [("x", rng.uniform(-2, 2, (rows, 4)).astype(np.float32)),
                                ("count", np.array(iterations, np.int64)), ("flag", np.array(flag))]:
                np.save(os.path.join(folder, name + ".npy"), value)
                inputs += ["--input", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
            done = subprocess.run([lathe, "compare", model, "--with", "onnxruntime", "--check-only", "--no-store", "--no-cache",
                                   "--relative", "1e-4", "--maximum", "1e-3", "-O", str(seed % 4), *inputs],
                                  capture_output=True, text=True)
            text = done.stdout + done.stderr
            if "make peers" in text or "node_modules" in text:
                print(text.strip().splitlines()[-1])
                sys.exit(77)
            last = text.strip().splitlines()[-1]
            if done.returncode and re.search(r"is f32 0x\d+x\d+, expected f32 0$", last):
                empty += 1
            elif done.returncode:
                failures.append("seed %d, %d rows: %s" % (seed, rows, last))
                print(failures[-1], flush=True)
print("%d programs, %d of %d runs differ; %d scan nothing" % (count, len(failures), 2 * count, empty))
sys.exit(1 if failures else 0)
