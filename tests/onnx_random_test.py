"""Random nodes of ONNX, compared with ONNX Runtime: attributes, constants as inputs, open extents (docs/importers.md).

usage: onnx_random_test.py LATHE [--first SEED] [--count N]

What ONNX Runtime computes, Lathe computes, or says that it is not supported. Exits with 77 (skipped) where ONNX Runtime is not
installed.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import numpy as np

import onnx_writer as onnx
from onnx_cases import Fixed
from onnx_random import draw
from onnxruntime_runner import OnnxRuntime

WAYS = [["-O", "0", "--no-cache"], ["-O", "3", "--no-cache"], ["--reference"]]


def difference(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(got, want) else f"{got.ravel()[:8]}, expected {want.ravel()[:8]}"
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return "NaN or infinity in other places"
    error = np.abs(got - want)[finite].max(initial=0) / max(np.abs(want[finite]).max(initial=0), 1e-3)
    return "" if error < 2e-4 else f"off by {error:.2g} of the largest"


def model_of(op, opset, inputs, attributes, types, dims):
    names, values, constants, arrays = [], [], [], {}
    for i, given in enumerate(inputs):
        names.append("" if given is None else f"i{i}")
        if isinstance(given, Fixed):
            constants.append(onnx.tensor(names[-1], given.array))
        elif given is not None:
            values.append(onnx.value(names[-1], dims[i], given.dtype))
            arrays[names[-1]] = given
    outputs = [f"o{i}" for i in range(len(types))]
    nodes = [onnx.node(op, names, outputs, "node", **attributes)]
    results = [onnx.value(name, kind=kind) for name, kind in zip(outputs, types)]
    return onnx.encoded(nodes, values, results, constants, opset=opset), arrays


def outcome(lathe, peer, seed, folder):
    """-> one word, and its meaning."""
    case = draw(seed)
    content, arrays = model_of(*case)
    path, outputs = os.path.join(folder, "m.onnx"), os.path.join(folder, "o.npz")
    with open(path, "wb") as file:
        file.write(content)
    files = {name: os.path.join(folder, f"{name}.npy") for name in arrays}
    for name, array in arrays.items():
        np.save(files[name], array)
    want = peer.run(path, files, folder)
    if isinstance(want, str):
        return "no opinion", want
    way = WAYS[seed % len(WAYS)]
    given = [word for name, file in files.items() for word in ("-i", f"{name}={file}")]
    done = subprocess.run([lathe, "run", path, *given, "-o", outputs, "--quiet", *way], capture_output=True, text=True)
    what = f"seed {seed}, {case[0]} of opset {case[1]} {case[3]}, {' '.join(way)}: "
    if done.returncode:
        return ("not supported" if "not supported" in done.stderr else "wrong"), what + done.stderr.strip()
    got = np.load(outputs)
    texts = [f"{name}: {text}" for name in want if (text := difference(got[name], want[name]))]
    return ("wrong" if texts else "equal"), what + "; ".join(texts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lathe")
    parser.add_argument("--first", type=int, help="the first seed (default: 1 to 200, and 100 fresh ones)")
    parser.add_argument("--count", type=int, default=100)
    arguments = parser.parse_args()
    peer = OnnxRuntime(arguments.lathe)
    if not peer.installed():
        sys.exit(77)
    fresh = int.from_bytes(os.urandom(4), "little") if arguments.first is None else arguments.first
    seeds = [*(range(1, 201) if arguments.first is None else []), *range(fresh, fresh + arguments.count)]
    print(f"seeds from {fresh} on (--first {fresh} repeats them)")
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            word, text = outcome(arguments.lathe, peer, seed, folder)
            counts[word] += 1
            if word in ("wrong", "not supported"):
                print(word, text)
    print(dict(counts))
    sys.exit(bool(counts["wrong"]) or counts["equal"] < len(seeds) // 2)


main()
