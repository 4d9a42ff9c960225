"""Forms of ONNX that the importer rewrites, at every way of running, beside the text of the standard (onnx_cases.py).

usage: onnx_forms_test.py LATHE [--peer]

The judge of `lathe verify` reads a model by the importer, too, so it cannot tell that the importer is wrong. With --peer ONNX
Runtime gives its opinion of the same cases; exits with 77 (skipped) where it is not installed.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

from onnx_cases import Part, cases
from onnxruntime_runner import OnnxRuntime

lathe, *words = sys.argv[1:]
peer = OnnxRuntime(lathe) if "--peer" in words else None
WAYS = [["-O", "0"], ["-O", "3"], ["--reference"]]


def difference(case, i, got):
    want = np.asarray(case.expected[i])
    if got.shape != want.shape:
        return f"extents {got.shape}, expected {want.shape}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(got, want) else f"{got}, expected {want}"
    got, want = got.astype("f8"), want.astype("f8")
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return "NaN or infinity in other places"
    error = np.abs(got[finite] - want[finite]).max(initial=0) / max(np.abs(want[finite]).max(initial=0), 1e-6)
    return "" if error <= case.tolerance else f"off by {error:.2g} of the largest"


def check(part, results, what):
    wrong = []
    for case in part.cases:
        for i, expected in enumerate(case.expected):
            if expected is not None and (text := difference(case, i, results[f"{case.name}:{i}"])):
                wrong.append(f"{case.name}, output {i}, {what}: {text}")
    return wrong


def on_lathe(part, folder):
    path, wrong = part.write(folder), []
    inputs, outputs = os.path.join(folder, "inputs.npz"), os.path.join(folder, "outputs.npz")
    np.savez(inputs, **part.arrays)
    for way in WAYS:
        done = subprocess.run([lathe, "run", path, *(["-i", inputs] if part.arrays else []), "-o", outputs, "--quiet", *way],
                              capture_output=True, text=True)
        if done.returncode and len(part.cases) > 1:  # which of them?
            return [text for case in part.cases for text in on_lathe(Part([case]), folder)]
        if done.returncode:
            wrong.append(f"{part.cases[0].name}, {' '.join(way)}: {done.stderr.strip()}")
        else:
            wrong += check(part, np.load(outputs), " ".join(way))
    return wrong


def on_peer(part, folder):
    arrays = {}
    for i, (name, array) in enumerate(part.arrays.items()):
        arrays[name] = os.path.join(folder, f"{i}.npy")
        np.save(arrays[name], array)
    results = peer.run(part.write(folder), arrays, folder)
    if isinstance(results, str):
        return [f"{part.cases[0].name}, ONNX Runtime: {results}"]
    return check(part, results, "ONNX Runtime")


def main():
    if peer and not peer.installed():
        sys.exit(77)
    chosen = [case for case in cases() if not peer or case.peer]
    parts = [Part([case]) for case in chosen]
    if not peer:
        parts = [Part([case for case in chosen if case.opset == opset]) for opset in sorted({case.opset for case in chosen})]
    wrong = []
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            wrong += (on_peer if peer else on_lathe)(part, folder)
    print("\n".join(wrong))
    print(f"{len(chosen)} cases, {len(wrong)} differences")
    sys.exit(bool(wrong) or not chosen)


main()
