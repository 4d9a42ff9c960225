"""A model of TensorFlow, TensorFlow Lite or Keras compiles without reference calls, and its package gives the outputs of the goldens.

usage: imported_golden_test.py LATHE MODELS NAME...

MODELS is the folder with tensorflow/, tflite/, keras/, golden/ and golden/manifest.json. Float outputs are compared within
the manifest's tolerance, integer outputs exactly. Exits with 77 (skipped) where the folder is missing.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

lathe, models, names = sys.argv[1], sys.argv[2], sys.argv[3:]
if not os.path.exists(os.path.join(models, "golden", "manifest.json")):
    print(f"NO TEST DATA: {models} has no golden/manifest.json (set LATHE_TEST_DATA)")
    sys.exit(77)
RUNNERS = os.path.join(os.path.dirname(__file__), "..", "src", "laboratory", "lab", "runners")
OPENCV = {"ae0", "fc-layers"}  # its importer refuses the others
RANKLESS = {"gru"}
manifest = json.load(open(os.path.join(models, "golden", "manifest.json")))


def run(*arguments):
    result = subprocess.run([lathe, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"lathe {' '.join(arguments)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


def judges_of(model, name):
    """Names of the installed runtimes that can read the file and judge our outputs."""
    judges = []
    for judge in ["tflite"] if model.endswith(".tflite") else ["tensorflowjs"]:
        if os.path.isdir(os.path.join(RUNNERS, judge, "node_modules")):
            judges.append(judge)
        else:
            print(f"{judge.upper()} IS NOT INSTALLED (make peers): it judges nothing")
    if name in OPENCV and os.path.exists(os.path.join(os.path.dirname(lathe), "lathe-runner-opencv")):
        judges.append("opencv")
    elif name in OPENCV:
        print("OPENCV IS NOT INSTALLED (dev/setup.sh bench): it judges nothing")
    return judges


def transposes_inside(text):
    """Transposes of the graph that neither read an input of the model nor compute a result of it."""
    lines = [line for line in open(text, encoding="utf-8") if " nn.transpose " in line or " return " in line]
    returned = next(line for line in lines if " return " in line)
    moved = [line.split(" = ")[0].strip() for line in lines if " nn.transpose " in line and " nn.transpose %arg" not in line]
    return [name for name in moved if name not in returned.replace(",", " ").split()]


with tempfile.TemporaryDirectory() as folder:
    for name in names:
        model = os.path.join(models, manifest[name]["model"])
        package, checked, graph, outputs = (os.path.join(folder, f"{name}{end}") for end in (".lathe", ".json", ".mlir", ".npz"))
        shapes = []  # of inputs whose rank the file does not tell
        for entry in manifest[name]["inputs"]:
            if name in RANKLESS and entry["shape"]:
                shapes += ["--shape", f"{entry['name']}={'x'.join(map(str, entry['shape']))}"]
        run("check", model, *shapes, "--json", checked)
        report = json.load(open(checked))
        assert report["references"] == [] and report["supported"], report
        run("compile", model, *shapes, "--emit", "graph", "-o", graph)
        left = transposes_inside(graph)
        assert not left, f"{name}: transposes are left inside of the network: {left}"
        run("compile", model, *shapes, "-o", package)
        judges = judges_of(model, name)
        if judges and model.endswith(".tflite"):
            run("compare", model, "--check-only", "--no-store", "--quiet")
        for case in manifest[name]["cases"]:
            given = os.path.join(models, "golden", name, case["dir"])
            inputs = []
            for i, entry in enumerate(manifest[name]["inputs"]):
                name_of = f"{entry['name']}=" if len(manifest[name]["inputs"]) > 1 else ""
                inputs += ["-i", f"{name_of}{os.path.join(given, f'input_{i}.npy')}"]
            run("run", package, *inputs, "-o", outputs, "--quiet")
            if judges and not model.endswith(".tflite"):
                run("compare", model, *shapes, *inputs, "--with", ",".join(judges), "--relative", "1e-4", "--check-only", "--no-store", "--quiet")
            if os.path.isdir(model):  # of which every file is a part of the model
                again = os.path.join(folder, "again.npz")
                run("run", model, *inputs, "-o", again, "--quiet")
                assert all(np.array_equal(np.load(again)[key], value) for key, value in np.load(outputs).items()), name
            result = np.load(outputs)
            got, want = result[result.files[0]], np.load(os.path.join(given, "output_0.npy"))
            assert got.dtype == want.dtype and got.shape == want.shape, (name, got.dtype, got.shape)
            limit = manifest[name]["tolerance"].get("max_abs_diff_over_max_abs", 0)
            error = np.abs(got.astype("f8") - want.astype("f8")).max() / np.abs(want.astype("f8")).max()
            print(f"{name} {case['dir']}: largest difference {error:.2e} of the largest value, at most {limit:g}")
            assert error <= limit, f"{name} {case['dir']}: {error}"
