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

    def same(got, wanted, what):
        for name in wanted:
            assert np.array_equal(got[name], wanted[name]), f"{name} depends on the number of threads{what}"

    outputs = []
    for threads in ("1", "2", "3", "5", "8", "64"):
        run("run", path("n.lathe"), "--fill", "random", "--seed", "7", "--threads", threads, "-o", path(f"{threads}.npz"))
        outputs.append(np.load(path(f"{threads}.npz")))
    for other in outputs[1:]:
        same(other, outputs[0], "")

    # With an open batch: every image of a batch of 3 is what the network for one image makes of it.
    run("zoo", network, "--dynamic-batch", "-o", path("open.onnx"))
    run("check", path("open.onnx"), "--json", path("check.json"))
    checked = json.load(open(path("check.json")))
    assert checked["references"] == [] and checked["supported"], checked
    run("compile", path("open.onnx"), "-o", path("open.lathe"))
    os.remove(path("open.onnx"))
    inputs = json.loads(run("inspect", path("open.lathe"), "--json", "-"))["inputs"]
    random = np.random.default_rng(7)
    batch = {}
    for port in inputs:
        extents = port["dims"].split("x")
        assert extents[0] == "N" and "N" not in extents[1:], port
        dims = [3] + [int(extent) for extent in extents[1:]]
        batch[port["name"]] = (random.standard_normal(dims).astype(np.float32) if port["type"] == "f32"
                               else random.integers(0, 2, dims))  # words, masks

    def computed(package, arrays, threads):
        np.savez(path("in.npz"), **arrays)
        run("run", path(package), "-i", path("in.npz"), "--threads", threads, "-o", path("out.npz"))
        with np.load(path("out.npz")) as out:
            return {name: out[name] for name in out.files}

    whole = computed("open.lathe", batch, "1")
    for threads in ("2", "5"):
        same(computed("open.lathe", batch, threads), whole, " at batch 3")
    for image in range(3):
        alone = computed("n.lathe", {name: values[image:image + 1] for name, values in batch.items()}, "1")
        for name, wanted in alone.items():
            got = whole[name][image:image + 1].astype(np.float64)
            assert np.isfinite(wanted).all() and np.ptp(wanted) > 0, f"{name}: nothing follows from such an output"
            difference = got - wanted
            relative = np.linalg.norm(difference) / np.linalg.norm(wanted.astype(np.float64))
            largest = np.abs(difference).max() / np.abs(wanted).max()
            assert relative <= 4e-5 and largest <= 2e-4, f"{name} of image {image} of 3: relative {relative:.2g}, largest {largest:.2g}"
