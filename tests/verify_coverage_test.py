"""`verify --all` compares every kernel of a model, at every level and in every layout.

usage: verify_coverage_test.py LATHE MODEL...

A kernel that is left out must have a reason other than its layout: it is a step inside of one node, which the graph of the
model does not have, or it is inside of a branch or a loop. The last line says how many kernels were compared.
"""
import json
import os
import subprocess
import sys
import tempfile

lathe, models = sys.argv[1], sys.argv[2:]
# Networks of which every weight of a layer is equal: values inside of them leave the bounds (docs/numerics.md).
EQUAL_WEIGHTS, EQUAL_WEIGHTS_BOUND = "light_", 1e-4
# Extents that a model needs to be compiled with.
SHAPES = {"gru.frozen.pb": ["--shape", "X=1x784"]}
REASONS = ("is a step on the way to the node's result", "is inside of a branch or a loop")
failures, compared, kernels = [], 0, 0

with tempfile.TemporaryDirectory() as folder:
    for model in models:
        if not model.startswith("zoo:") and not os.path.exists(model):
            print(f"NO TEST DATA: {model} is not there (set LATHE_TEST_DATA)")
            sys.exit(77)
        for flags in [["-O", "0"]] + [["-O", "3", "--layout", layout] for layout in ("auto", "nchw", "nhwc", "blocked")]:
            figures = os.path.join(folder, "figures.json")
            done = subprocess.run([lathe, "verify", model, "--all", "--seeds", "1", "--quiet", "--json", figures, *flags,
                                   *SHAPES.get(os.path.basename(model), [])],
                                  capture_output=True, text=True)
            title = " ".join([model, *flags])
            if done.returncode not in (0, 1):
                failures.append(f"{title}: exit code {done.returncode}\n{done.stderr}")
                continue
            with open(figures) as file:
                report = json.load(file)
            equal = os.path.basename(model).startswith(EQUAL_WEIGHTS)
            failures += [f"{title}: {run['value']} differs: {run}" for run in report["runs"]
                         if not run["passed"] and not (equal and not run["broken"] and run["relative_error"] < EQUAL_WEIGHTS_BOUND)]
            failures += [f"{title}: {left}" for left in report["left_out"] if not left["reason"].startswith(REASONS)]
            print(f"{title}: compared {report['compared_kernels']} of {report['kernels']} kernels")
            for left in report["left_out"]:
                print(f"    {left['kernel']}: {left['reason']}")
            compared += report["compared_kernels"]
            kernels += report["kernels"]
print("\n".join(failures))
print(f"compared {compared} of {kernels} kernels")
sys.exit(1 if failures else 0)
