"""A zoo network compiled for another architecture gives, in the emulator, what the references give here, on one thread and on three.

usage: cross_network_test.py LATHE NETWORK TARGET CPU SOURCE BUILD CC CXX LD TRIPLE EMULATOR
Exits with 77 (skipped) where the cross libraries or the emulator are missing.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

lathe, network, target, cpu = sys.argv[1:5]
sys.path.insert(0, os.path.join(sys.argv[5], "runtime"))
from Cross import Cross

cross = Cross(*sys.argv[5:12])


def run(*arguments):
    result = subprocess.run([lathe, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"lathe {' '.join(arguments)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


with tempfile.TemporaryDirectory() as folder:
    def path(name):
        return os.path.join(folder, name)

    program = cross.link("RunPackage", *cross.runtime(), cross.compile(f"{cross.source}/src/runtime/runtime/testing/RunPackage.cpp", *cross.flags))
    run("compile", f"zoo:{network}", "--target", target, "-o", path("n.lathe"), "--json", path("compile.json"))
    compiled = json.load(open(path("compile.json")))
    assert compiled["references"] == [] and compiled["target"].endswith(cpu), compiled

    run("inspect", f"zoo:{network}", "--json", path("inspect.json"))
    generator = np.random.default_rng(7)
    given = []
    for i, port in enumerate(json.load(open(path("inspect.json")))["inputs"]):
        dims = [int(d) if d.isdigit() else 1 for d in port["dims"].split("x")]
        data = generator.uniform(-1, 1, dims).astype("f4") if port["type"] == "f32" else generator.integers(0, 10, dims).astype("i8")
        data.tofile(path(f"in{i}"))
        np.save(path(f"in{i}.npy"), data)
        given += ["-i", f"{port['name']}={path(f'in{i}.npy')}"]
    run("run", f"zoo:{network}", "--reference", *given, "-o", path("expected.npz"))
    expected = np.load(path("expected.npz"))

    bits = None
    for threads in ("1", "3"):
        if cross.run(program, path("n.lathe"), threads, folder, cpu=cpu).returncode:
            sys.exit(f"{network} for {target} fails in {cross.emulator} on {threads} threads")
        outputs = [np.fromfile(path(f"out{i}"), dtype=expected[name].dtype).reshape(expected[name].shape)
                   for i, name in enumerate(expected.files)]
        for name, got in zip(expected.files, outputs):
            want = expected[name].astype("f8")
            error = np.linalg.norm(got - want) / np.linalg.norm(want)
            print(f"{network}, {target}, {threads} threads: '{name}' relative L2 error {error:.2e}")
            assert error < 2e-5, f"{name}: {error}"
            assert np.std(want) > 0 and np.isfinite(got).all()
        if bits is None:
            bits = [output.tobytes() for output in outputs]
        assert bits == [output.tobytes() for output in outputs], "the number of threads changes the result"
