"""TensorFlow.js gives the results that the layers of import/keras's tests must have, of files of Keras 2 and Keras 3.

usage: keras_peer_test.py SOURCE-FOLDER

The files and results are those of import/keras/testing/write_cases.py, which our importer is held against as well
(import/keras/CasesTest.cpp). Exits with 77 (skipped) where TensorFlow.js is missing.
"""
import collections
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from runner_client import Runner, distance

source = sys.argv[1]
SCRIPT = os.path.join(source, "src", "laboratory", "lab", "runners", "tensorflowjs", "Runner.mjs")
LIMIT = 1e-4
# Cases whose results differ, and why.
MASKS = "TensorFlow.js does not look at the mask"
DIFFERENT = {"Bidirectional_masked_2": MASKS, "Bidirectional_masked_3": MASKS, "GlobalAveragePooling1D_masked_2": MASKS,
             "GlobalAveragePooling1D_masked_3": MASKS}
LEAST = 250  # fewer agreements show that the runner stopped working


def compared(runner, path, folder):
    """-> "" if all results agree, "refused: ..." if TensorFlow.js does not run the model, otherwise the differences."""
    arrays = np.load(path[:path.rindex(".")] + ".npz")
    loaded = runner.ask(do="load", path=path)
    if not loaded.get("ok"):
        return "refused: " + loaded["error"].replace(path + ": ", "")
    files = {}
    for i, port in enumerate(loaded["inputs"]):
        files[port["name"]] = os.path.join(folder, "in%d.npy" % i)
        kind = {"f32": "f4", "i32": "i4", "bool": "?"}[port["type"]]
        np.save(files[port["name"]], arrays["input_%d" % i].astype(kind))
    ran = runner.run(files, folder)
    if not ran.get("ok"):
        return "refused: " + ran["error"]
    for i, port in enumerate(loaded["outputs"]):
        got, want = np.load(ran["outputs"][port["name"]]), arrays["output_%d" % i]
        far = distance(got, want.astype(got.dtype))
        if isinstance(far, str) or far > LIMIT:
            return "'%s' differs: %s" % (port["name"], far)
    return ""


def main():
    if not shutil.which("node") or not os.path.isdir(os.path.join(os.path.dirname(SCRIPT), "node_modules")):
        print("TENSORFLOW.JS IS NOT INSTALLED: make peers")
        sys.exit(77)
    refused, faults, agree = collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-B", os.path.join(source, "src", "model", "import", "keras", "testing", "write_cases.py"), folder], check=True)
        files = sorted(glob.glob(os.path.join(folder, "*.h5")) + glob.glob(os.path.join(folder, "*.keras")))
        runner = Runner("node", SCRIPT)
        for path in files:
            said, name = compared(runner, path, folder), os.path.basename(path)
            agree += not said
            if said.startswith("refused: "):
                refused[said[9:149]] += 1
            elif said and os.path.splitext(name)[0] not in DIFFERENT:
                faults.append("%s: %s" % (name, said))
    if agree < LEAST:
        faults.append("%d files agree, expected %d or more" % (agree, LEAST))
    print("%d of %d files agree, %d are refused" % (agree, len(files), sum(refused.values())))
    for why, times in refused.most_common():
        print("  %d refused: %s" % (times, why))
    print("\n".join(faults))
    sys.exit(bool(faults))


main()
