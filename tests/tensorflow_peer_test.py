"""TensorFlow.js and OpenCV give the results that our references give, on the graphs of import/tensorflow's tests.

usage: tensorflow_peer_test.py SOURCE-FOLDER OPENCV-RUNNER TEST-PROGRAM...

The programs write every graph that they evaluate, with inputs and results (LATHE_TENSORFLOW_WRITE); the runners `tensorflowjs`
and `opencv` run the same graphs. Exits with 77 (skipped) where TensorFlow.js is missing; where OpenCV is, it is said.
"""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from runner_client import Runner, distance

source, opencv, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
SCRIPT = os.path.join(source, "src", "laboratory", "lab", "runners", "tensorflowjs", "Runner.mjs")
LIMIT = 1e-4
# Tests whose results differ, by runner, and why.
CASE = "Graph/Operators.ComputeWhatTensorFlowDoes/"
DIFFERENT = {"tensorflowjs": {"Branch.WithItsPivots": "it computes constants of both branches, whatever they wait for",
                              CASE + "band": "a number of diagonals below 0 means none to it",
                              CASE + "one_hot": "the graph does not say the type, for which it takes int32",
                              CASE + "remainder_with_the_dividend_s_sign": "it takes the divisor's sign",
                              CASE + "rows_chosen": "it chooses elements where the condition has fewer axes",
                              "FakeQuant.ARangeForEveryChannel": "it gives the operand as it is",
                             "FakeQuant.RangesOfAllKinds": "it gives the operand as it is",
                             "Loop.AnArrayGrowsElementByElement": "the size of an array is what was written, not what it was made with",
                             "Operators.TheFactorOfDropoutMayComeWithTheRun": "it drops elements, where ours are NaN for factors but 1"},
             "opencv": {"Convolution.DilationsAndExplicitPads": "it reads no explicit padding",
                        CASE + "bias": "it adds along the second axis of three"}}
# Fewer agreements than these show that a runner stopped working.
LEAST = {"tensorflowjs": 80, "opencv": 15}


def compared(runner, model, folder):
    """-> "" if all results agree, "refused: ..." if the runtime does not run the graph, otherwise the differences."""
    loaded = runner.ask(do="load", path=model["model"])
    if not loaded.get("ok"):
        return "refused: " + loaded["error"]
    given = {one["name"]: one["file"] for one in model["inputs"]}
    ran = runner.run({port["name"]: given.get(port["name"], "none") for port in loaded["inputs"]}, folder)
    if not ran.get("ok"):
        return "refused: " + ran["error"]
    for one in model["outputs"]:
        if one["name"] not in ran["outputs"]:
            return "refused: output '%s' has another name" % one["name"]
        got, want = np.load(ran["outputs"][one["name"]]), np.load(one["file"])
        if got.shape == (want.size, 1) and want.ndim == 1:  # OpenCV's arrays have two axes or more
            got = got[:, 0]
        far = distance(got, want)
        if isinstance(far, str) or far > LIMIT:
            return "'%s' differs: %s" % (one["name"], far)
    return ""


def judged(name, runner, models, folder):
    """Prints the result of one runtime; returns what is wrong."""
    agree, refused, faults, count = set(), collections.Counter(), [], 0
    for model in models:
        said = compared(runner, model, folder)
        if not said:
            count += 1
            agree.update(model["operators"])
        elif said.startswith("refused: "):
            refused[said[9:149]] += 1
        elif model["test"] not in DIFFERENT[name]:
            faults.append("%s: %s (%s): %s" % (name, model["test"], ", ".join(model["operators"]), said))
    if count < LEAST[name]:
        faults.append("%s: %d graphs agree, expected %d or more" % (name, count, LEAST[name]))
    print("%s: %d of %d graphs agree, %d are refused; operators: %s" % (name, count, len(models), sum(refused.values()), ", ".join(sorted(agree))))
    for why, times in refused.most_common():
        print("  %d refused: %s" % (times, why))
    return faults


def damaged(folder):
    """Returns what is wrong with the error for a table of variables that ends inside a number."""
    prefix = os.path.join(folder, "variables")
    with open(prefix + ".index", "wb") as file:
        file.write(b"\xff" * 48)
    code = "import { Bundle } from '%s'; new Bundle('%s');" % (os.path.join(os.path.dirname(SCRIPT), "Bundle.mjs"), prefix)
    done = subprocess.run(["node", "--input-type=module", "-e", code], capture_output=True, text=True, timeout=60)
    return [] if prefix + ".index: ends inside of a number" in done.stderr else ["a damaged table of variables: %s" % done]


def main():
    if not shutil.which("node") or not os.path.isdir(os.path.join(os.path.dirname(SCRIPT), "node_modules")):
        print("TENSORFLOW.JS IS NOT INSTALLED: make peers")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            subprocess.run([program], env={**os.environ, "LATHE_TENSORFLOW_WRITE": folder}, stdout=subprocess.DEVNULL, check=True)
        models = [json.load(open(file)) for file in sorted(glob.glob(os.path.join(folder, "*.json")))]
        faults = damaged(folder)
        faults += judged("tensorflowjs", Runner("node", SCRIPT), models, folder)
        if os.path.exists(opencv):
            faults += judged("opencv", Runner(opencv), models, folder)
        else:
            print("OPENCV IS NOT INSTALLED: dev/setup.sh bench")
    print("\n".join(faults))
    sys.exit(bool(faults))


main()
