"""Shared by the tests of imported networks: calls of lathe, and of ONNX Runtime."""
import os
import subprocess
import sys

import numpy as np

from runner_client import Runner

LIMIT = 1e-4  # relative L2 of floats


def run(lathe, *arguments):
    result = subprocess.run([lathe, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"lathe {' '.join(arguments)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class OnnxRuntime:
    """ONNX Runtime in one process for any number of models (docs/runner-protocol.md)."""

    def __init__(self, lathe):
        self.runner = Runner(os.path.join(os.path.dirname(lathe), "lathe-runner-onnxruntime"))

    def installed(self):
        hello = self.runner.ask(do="hello", protocol=1)
        if not hello.get("ok"):
            print(f"NO ONNX RUNTIME: {hello['error']}")
        return bool(hello.get("ok"))

    def run(self, model, inputs, folder):
        """The outputs by name, or a text with the reason why there are none."""
        for request in ({"do": "load", "path": model}, {"do": "inputs", "files": inputs}, {"do": "run", "directory": folder}):
            answer = self.runner.ask(**request)
            if not answer.get("ok"):
                return answer.get("error", "no answer")
        return {name: np.load(path) for name, path in answer["outputs"].items()}


def onnxruntime(lathe, model, inputs, folder):
    """The outputs of ONNX Runtime by name; nothing if it is missing."""
    runtime = OnnxRuntime(lathe)
    if not runtime.installed():
        return None
    results = runtime.run(model, inputs, folder)
    assert not isinstance(results, str), (model, results)
    return results


def expect_equal(name, got, want):
    """Integers must be equal; floats may differ by LIMIT. Refuses floats that prove little: all equal, or all but one zero."""
    assert got.shape == want.shape and got.dtype == want.dtype, (name, got.shape, want.shape, got.dtype, want.dtype)
    if got.dtype.kind != "f":
        assert np.array_equal(got, want), (name, got, want)
        print(f"{name}: {got.size} integers are those of ONNX Runtime")
        return
    got, want = got.astype("f8"), want.astype("f8")
    assert want.std() > 0, f"{name} is constant"
    assert want.size == 1 or np.abs(want).max() < 0.99 * np.linalg.norm(want), f"{name} is but one number"
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    print(f"{name}: relative L2 {error:.2e} beside ONNX Runtime, at most {LIMIT:g}")
    assert error <= LIMIT
