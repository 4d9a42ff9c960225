"""`lathe segments` of a frozen graph with loops, between nodes that are named by their scopes.

usage: tensorflow_segments_test.py LATHE

Exits with 77 (skipped) where ONNX Runtime is not installed.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from onnxruntime_runner import run

lathe = sys.argv[1]
TESTS = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(TESTS, "..", "src", "model", "import", "tensorflow", "testing", "write_network.py")
PLACES = ["cnn/pool4/MaxPool", "bidirectional_rnn/ReverseSequence", "concat", "projection/BiasAdd"]

with tempfile.TemporaryDirectory() as folder:
    model, lengths, report = (os.path.join(folder, name) for name in ("ocr.pb", "lengths.npy", "segments.json"))
    subprocess.run([sys.executable, "-B", SCRIPT, "ocr", model], check=True)
    np.save(lengths, np.array([27], "int32"))
    shapes = ["--shape", "images=1x32x128x1", "--shape", "lengths=1"]
    listed = run(lathe, "segments", model, *shapes, "--list")
    separating = [line.split()[0] for line in listed.splitlines() if line.endswith("yes")]
    assert {"cnn/conv1/Conv2D", "cnn/pool4/MaxPool", "columns/Reshape", "concat"} <= set(separating), listed
    result = subprocess.run([lathe, "segments", model, *shapes, "-i", "lengths=" + lengths, "--at", ",".join(PLACES),
                             "--repeat", "1", "--no-store", "--quiet", "--json", report], capture_output=True, text=True)
    if "onnxruntime is not installed" in result.stderr.lower():
        print(result.stderr)
        sys.exit(77)
    assert result.returncode == 0, (result.stdout, result.stderr)
    report = json.load(open(report))
    assert [part["to"] for part in report["cumulative"]] == PLACES + [""], report
    assert [part["from"] for part in report["blocks"]] == [""] + PLACES, report
    for part in report["cumulative"] + report["blocks"]:
        assert part["peers"][0]["agrees"], part
    # What the loops read passes beside the checkpoint between them: a block begins with all that it needs.
    assert len(report["blocks"][2]["inputs"]) > 1, report["blocks"][2]["inputs"]
