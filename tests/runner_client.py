"""Shared by the tests of runners: the messages of docs/runner-protocol.md."""
import json
import subprocess

import numpy as np


class Runner:
    """A runner's process, which is restarted after it ends."""

    def __init__(self, *command):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, **request):
        """-> the answer; an error is a text under "error"."""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.process.wait()
            self.__init__(*self.command)
            return {"error": "the runner ended"}
        return json.loads(line)

    def run(self, files, folder):
        """Binds a file to each input of the loaded model, and runs it. -> the last answer, with {name: file} as "outputs"."""
        bound = self.ask(do="inputs", files=files)
        return self.ask(do="run", directory=folder) if bound.get("ok") else bound


def distance(got, want):
    """Largest difference: for floats relative to the largest value, for integers in steps. Infinite if only one side is NaN."""
    if got.shape != want.shape and got.size == want.size == 1:
        got = got.reshape(want.shape)
    if got.shape != want.shape or got.dtype != want.dtype:
        return "%s %s, expected %s %s" % (got.dtype, got.shape, want.dtype, want.shape)
    other = (got != want) & ~((got != got) & (want != want))
    if not other.any():
        return 0
    if got.dtype.kind == "f":
        far = np.nan_to_num(np.abs(got[other].astype("f8") - want[other]), nan=np.inf, posinf=np.inf).max()
        return float(far / max(np.abs(want[np.isfinite(want)]).max(initial=0), 1e-6))
    return int(np.abs(got[other].astype("i8") - want[other].astype("i8")).max())
