"""Parts of TensorFlow Lite files: what the runner cuts out is what Lathe cuts out, and both runtimes agree on it.

usage: tflite_segments_test.py LATHE SOURCE-FOLDER MODEL...

Exits with 77 (skipped) where Node.js or all models are missing; TensorFlow Lite runs the parts where it is installed.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from onnxruntime_runner import run

lathe, source, models = sys.argv[1], sys.argv[2], [path for path in sys.argv[3:] if os.path.exists(path)]
RUNNER = os.path.join(source, "src", "laboratory", "lab", "runners", "tflite")
CUT = """import {{ readFileSync, writeFileSync }} from 'node:fs';
import {{ partOf }} from '{}/Names.mjs';
const [model, from, to, path] = process.argv.slice(1);
const list = text => text ? text.split('|') : [];
writeFileSync(path, partOf(readFileSync(model), list(from), list(to)));""".format(RUNNER)


def cut(model, begin, end, path):
    return subprocess.run(["node", "--input-type=module", "-e", CUT, model, begin, end, path], capture_output=True, text=True)


def outputs(model, folder, *arguments):
    path = os.path.join(folder, "out.npz")
    run(lathe, "run", model, "--fill", "random", "-o", path, *arguments)
    return list(np.load(path).values())


if not shutil.which("node") or not models:
    print("NODE.JS IS NOT INSTALLED" if models else "NO TEST DATA")
    sys.exit(77)
for model in models:
    with tempfile.TemporaryDirectory() as folder:
        part, extracted, report = (os.path.join(folder, name) for name in ("part.tflite", "extracted.onnx", "report.json"))
        run(lathe, "segments", model, "--list", "--quiet", "--json", report)
        with open(report) as file:
            places = [row["node"] for row in json.load(file)["places"] if row["one_tensor_passes"]]
        first, last = places[len(places) // 3], places[2 * len(places) // 3]
        for begin, end in ((first, last), ("", first), (last, "")):
            done = cut(model, begin, end, part)
            assert done.returncode == 0, done.stderr
            run(lathe, "extract", model, *(["--from", begin + ":0"] if begin else []), *(["--to", end] if end else []), "-o", extracted)
            ours, theirs = outputs(extracted, folder), outputs(part, folder)
            assert len(ours) == len(theirs) and all(np.array_equal(a, b) for a, b in zip(ours, theirs)), (model, begin, end)
        assert "no tensor 'nowhere'" in cut(model, "nowhere", "", part).stderr
        print(f"{model}: three parts are the same")
        # XNNPACK has a rounding of its own for quantised layers (docs/runner-protocol.md).
        if os.path.isdir(os.path.join(RUNNER, "node_modules")) and "int8" not in os.path.basename(model):
            run(lathe, "segments", model, "--with", "tflite", "--at", f"{first},{last}", "--repeat", "1", "--no-store", "--quiet", "--json", report)
            with open(report) as file:
                parts = json.load(file)
            assert all(each["peers"][0]["agrees"] for each in parts["cumulative"] + parts["blocks"]), parts
            print(f"{model}: TensorFlow Lite agrees at {first} and {last}")
