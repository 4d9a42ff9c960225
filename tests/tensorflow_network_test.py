"""A network as a frozen graph of TensorFlow: no reference calls, and the outputs of ONNX Runtime.

usage: tensorflow_network_test.py LATHE NETWORK

ONNX Runtime reads what `lathe export` writes of the graph. Exits with 77 (skipped) where it is not installed.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from onnxruntime_runner import expect_equal, onnxruntime, run

lathe, network = sys.argv[1:]
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "model", "import", "tensorflow", "testing",
                      "write_network.py")


def inputs_of(network):
    """Arrays by input."""
    random = np.random.RandomState(3)
    if network == "ocr":  # one line fills its picture, one is short, one has a single step
        return {"images": random.uniform(-1, 1, (3, 32, 128, 1)).astype("float32"),
                "lengths": np.array([32, 19, 1], "int32")}
    if network == "detection":
        return {"image": random.uniform(-1, 1, (1, 128, 128, 3)).astype("float32")}
    size = 299 if network == "inception_v3" else 224
    return {"x": random.uniform(-1, 1, (1, size, size, 3)).astype("float32")}


def expect_open_batches(model, folder):
    """Any batch of pictures and lengths, but the same batch for both: everything is compiled, with the outputs of single
    pictures."""
    report = os.path.join(folder, "open.json")
    for shape in ([], ["--shape", "images=3x32x128x1"]):
        run(lathe, "check", model, *shape, "--json", report)
        assert json.load(open(report))["references"] == [], (shape, open(report).read())
    package, found = os.path.join(folder, "m.lathe"), os.path.join(folder, "open.npz")
    run(lathe, "compile", model, "-o", package, "--no-cache")
    images, lengths = (os.path.join(folder, name + ".open.npy") for name in ("images", "lengths"))

    def outputs_of(rows, batch):
        np.save(images, batch)
        np.save(lengths, np.array(rows, "int32"))
        subprocess.run([lathe, "run", package, "-i", f"images={images}", "-i", f"lengths={lengths}", "-o", found, "--quiet"],
                       check=True)
        return dict(np.load(found))

    batch = np.random.RandomState(5).uniform(-1, 1, (5, 32, 128, 1)).astype("float32")
    rows = [7, 32, 1, 20, 31]
    alone = [outputs_of([row], batch[i:i + 1])["probabilities"] for i, row in enumerate(rows)]
    for count in (1, 2, 5):
        expect_equal(f"{count} pictures", outputs_of(rows[:count], batch[:count])["probabilities"],
                     np.concatenate(alone[:count]))
    np.save(images, batch[:2])
    np.save(lengths, np.array([3, 4, 5], "int32"))
    refused = subprocess.run([lathe, "run", package, "-i", f"images={images}", "-i", f"lengths={lengths}"],
                             capture_output=True, text=True)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused
    assert "input 'lengths': expected i32 images_0, got i32 3 ('images_0' is 2 elsewhere)" in refused.stderr, refused


def expect_findings(network, outputs):
    """Checks that the data-dependent parts had work, so that the test does not compare empty results."""
    if network == "ocr":
        counts = np.bincount(outputs["CTCGreedyDecoder"][:, 0], minlength=3)
        assert counts.min() == 1 and counts.max() >= 8, counts
        assert outputs["CTCGreedyDecoder:2"].tolist() == [3, counts.max()], outputs["CTCGreedyDecoder:2"]
    if network == "detection":
        assert 5 <= len(outputs["detection_indices"]) < 50, outputs["detection_indices"]


with tempfile.TemporaryDirectory() as folder:
    model, onnx, found = (os.path.join(folder, name) for name in ("m.pb", "m.onnx", "y.npz"))
    subprocess.run([sys.executable, "-B", SCRIPT, network, model], check=True)
    given, shapes, files = [], [], {}
    for name, array in inputs_of(network).items():
        files[name] = os.path.join(folder, name + ".npy")
        np.save(files[name], array)
        given += ["-i", f"{name}={files[name]}"]
        shapes += ["--shape", f"{name}={'x'.join(map(str, array.shape))}"]
    run(lathe, "check", model, *shapes, "--json", os.path.join(folder, "check.json"))
    report = json.load(open(os.path.join(folder, "check.json")))
    assert report["references"] == [] and report["supported"], report
    run(lathe, "run", model, *given, "-o", found, "--quiet", "--no-cache")
    outputs = dict(np.load(found))
    if network == "ocr":
        expect_open_batches(model, folder)
    run(lathe, "export", model, *shapes, "-o", onnx)
    peer = onnxruntime(lathe, onnx, files, folder)
    if peer is None:
        sys.exit(77)
    assert set(outputs) == set(peer), (set(outputs), set(peer))
    for name in sorted(outputs):
        expect_equal(name, outputs[name], peer[name])
    expect_findings(network, outputs)
