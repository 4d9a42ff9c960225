"""A network of keras.applications, in files of Keras 2 and 3: no reference calls, the outputs of ONNX Runtime, and no difference
from what `lathe export` writes of it.

usage: keras_network_test.py LATHE NETWORK

ONNX Runtime reads what `lathe export` writes of the Keras file. Exits with 77 (skipped) where it is not installed.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from onnxruntime_runner import expect_equal, onnxruntime, run

lathe, network = sys.argv[1:]
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "model", "import", "keras", "testing")

with tempfile.TemporaryDirectory() as folder:
    old, new, onnx, array = (os.path.join(folder, name) for name in ("m.h5", "m.keras", "m.onnx", "x.npy"))
    subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, "networks.py"), network, old, new], check=True)
    size = 299 if network == "inception_v3" else 224
    np.save(array, np.random.RandomState(3).uniform(-1, 1, (1, size, size, 3)).astype("float32"))
    results = []
    for model in (old, new):
        report, outputs = os.path.join(folder, "check.json"), os.path.join(folder, "y.npz")
        run(lathe, "check", model, "--json", report)
        report = json.load(open(report))
        assert report["references"] == [] and report["supported"], report
        run(lathe, "run", model, "-i", array, "-o", outputs, "--quiet", "--no-cache")
        results.append(np.load(outputs)["predictions"])
    assert np.array_equal(*results), "the two files give different outputs"
    run(lathe, "export", old, "--shape", f"input=1x{size}x{size}x3", "-o", onnx)
    run(lathe, "diff-models", old, new)
    run(lathe, "diff-models", old, onnx, "--shape", f"input=1x{size}x{size}x3")
    peer = onnxruntime(lathe, onnx, {"input": array}, folder)
    if peer is None:
        sys.exit(77)
    expect_equal(network, results[0], peer["predictions"])
