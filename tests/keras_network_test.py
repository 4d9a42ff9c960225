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

lathe, network = sys.argv[1:]
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "import", "keras", "testing")
LIMIT = 1e-4  # relative L2


def run(*arguments):
    result = subprocess.run([lathe, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"lathe {' '.join(arguments)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


def onnxruntime(model, inputs, folder):
    """The outputs of ONNX Runtime by name; nothing where it is missing (docs/runner-protocol.md)."""
    program = os.path.join(os.path.dirname(lathe), "lathe-runner-onnxruntime")
    requests = [{"do": "hello", "protocol": 1}, {"do": "load", "path": model, "threads": 1},
                {"do": "inputs", "files": inputs}, {"do": "run", "directory": folder}, {"do": "quit"}]
    text = "".join(json.dumps(request) + "\n" for request in requests)
    result = subprocess.run([program], input=text, capture_output=True, text=True)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    if not answers or not answers[0]["ok"]:
        print(f"NO ONNX RUNTIME: {result.stderr.strip() or answers} (make peers)")
        return None
    assert all(answer["ok"] for answer in answers), answers
    return {name: np.load(path) for name, path in answers[3]["outputs"].items()}


with tempfile.TemporaryDirectory() as folder:
    old, new, onnx, array = (os.path.join(folder, name) for name in ("m.h5", "m.keras", "m.onnx", "x.npy"))
    subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, "networks.py"), network, old, new], check=True)
    size = 299 if network == "inception_v3" else 224
    np.save(array, np.random.RandomState(3).uniform(-1, 1, (1, size, size, 3)).astype("float32"))
    results = []
    for model in (old, new):
        report, outputs = os.path.join(folder, "check.json"), os.path.join(folder, "y.npz")
        run("check", model, "--json", report)
        report = json.load(open(report))
        assert report["references"] == [] and report["supported"], report
        run("run", model, "-i", array, "-o", outputs, "--quiet", "--no-cache")
        results.append(np.load(outputs)["predictions"])
    assert np.array_equal(*results), "the two files give different outputs"
    run("export", old, "--shape", f"input=1x{size}x{size}x3", "-o", onnx)
    run("diff-models", old, new)
    run("diff-models", old, onnx, "--shape", f"input=1x{size}x{size}x3")
    peer = onnxruntime(onnx, {"input": array}, folder)
    if peer is None:
        sys.exit(77)
    got, want = results[0].astype("f8"), peer["predictions"].astype("f8")
    assert want.std() > 0 and got.shape == want.shape, (got.shape, want.shape)
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    print(f"{network}: relative L2 {error:.2e} beside ONNX Runtime, at most {LIMIT:g}")
    assert error <= LIMIT
