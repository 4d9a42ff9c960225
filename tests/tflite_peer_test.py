"""TensorFlow Lite gives the results that our references give, on the models of import/tflite's tests.

usage: tflite_peer_test.py SOURCE-FOLDER TEST-PROGRAM...

The programs write every model that they evaluate, with inputs and results (LATHE_TFLITE_WRITE); the WebAssembly build of
TensorFlow Lite runs the same models (lab/runners/tflite). Every operator of docs/generated/tflite.md that no golden has must
have been compared, or stand in a table below with the reason. Exits with 77 (skipped) where TensorFlow Lite is missing.
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

source, programs = sys.argv[1], sys.argv[2:]
SCRIPT = os.path.join(source, "src", "laboratory", "lab", "runners", "tflite", "Runner.mjs")
# Operators of the models in shared/models/tflite, whose goldens are TensorFlow Lite's.
GOLDEN = set("""ADD ARG_MAX AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEQUANTIZE FULLY_CONNECTED MEAN QUANTIZE RESHAPE
RESIZE_BILINEAR SOFTMAX""".split())
# Operators that this build does not run, and why.
NEWER = "is newer than this build"
REFUSED = {"BITCAST": NEWER, "BITWISE_XOR": NEWER, "RIGHT_SHIFT": NEWER, "BROADCAST_TO": "has no kernel in this build", "CALL": "has no kernel in this build",
           "WHERE": "its result of 64 bits is not handed out"}
# Tests of 16 bits with scales that are powers of two. This build has the optimised rounding alone, so the same models with the
# reference rounding are no comparison.
OPTIMISED_ALONE = {"QuantizedWide.SigmoidsAreNearTheirFunctions", "QuantizedWide.SigmoidsMeetTheirTable"}
# Tests whose results differ, and why.
DIFFERENT = {"Window.HybridConvolutionQuantisesItsOperand": "XNNPACK multiplies float activations by quantised weights",
             "Quantized.QuotientsThatTensorFlowLiteLeavesUndefined": "by what the processor makes of shifts beyond 31 bits"}

# Quantised operators without a step of tolerance: their states add errors up.
EXACT = {"LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"}


def compared(runner, model, folder):
    """-> "" if all results agree, otherwise a description; "refused: ..." if TensorFlow Lite does not run the model."""
    loaded = runner.ask(do="load", path=model["model"])
    if not loaded.get("ok"):
        return "refused: " + loaded["error"]
    wanted = {port["name"] for port in loaded["inputs"]}
    given = {one["name"]: one["file"] for one in model["inputs"]}
    if wanted - set(given):
        return "refused: inputs %s have other names" % sorted(wanted - set(given))
    zeros = {one["name"]: one["zero"] for one in model["inputs"]}
    for name in set(given) - wanted:  # a variable, which begins with the real number zero
        if (np.load(given[name]) != zeros[name]).any():
            return "refused: '%s' does not begin with zero" % name
    ran = runner.run({name: given[name] for name in wanted}, folder)
    if not ran.get("ok"):
        return "refused: " + ran["error"]
    outputs = {one["name"]: one["file"] for one in model["outputs"]}
    if set(ran["outputs"]) - set(outputs):  # of another signature
        return "refused: outputs %s have other names" % sorted(set(ran["outputs"]) - set(outputs))
    for name, file in ran["outputs"].items():
        far = distance(np.load(file), np.load(outputs[name]))
        # A step of quantised values: XNNPACK rounds ties otherwise. It computes no LSTM.
        whole = 0 if EXACT & set(model["operators"]) else 1
        limit = whole if np.load(file).dtype in (np.int8, np.uint8, np.int16) else 1e-2 if "QUANTIZE" in model["operators"] else 1e-4
        if isinstance(far, str) or far > limit:
            return "'%s' differs: %s" % (name, far)
    return ""


def main():
    if not shutil.which("node") or not os.path.isdir(os.path.join(os.path.dirname(SCRIPT), "node_modules")):
        print("TENSORFLOW LITE IS NOT INSTALLED: make peers")
        sys.exit(77)
    agree, refusals, faults = collections.Counter(), collections.defaultdict(set), []
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            subprocess.run([program], env={**os.environ, "LATHE_TFLITE_WRITE": folder}, stdout=subprocess.DEVNULL, check=True)
        runner = Runner("node", SCRIPT)
        for file in sorted(glob.glob(os.path.join(folder, "*.json"))):
            model = json.load(open(file))
            said = compared(runner, model, folder)
            if not said:
                agree.update(set(model["operators"]))
            elif said.startswith("refused: "):
                for operator in model["operators"]:
                    refusals[operator].add(said[9:])
            elif model["test"] not in DIFFERENT and not (model["test"] in OPTIMISED_ALONE and model["rounding"] == "reference"):
                faults.append("%s (%s): %s" % (model["test"], ", ".join(model["operators"]), said))
    page = open(os.path.join(source, "docs", "generated", "tflite.md"), encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page if line.startswith("| ")]
    imported = {row[0] for row in rows[1:] if not row[1].startswith("no")}
    REFUSED.update({operator: NEWER for operator in imported if operator.startswith("STABLEHLO_")})
    for operator in sorted(imported - GOLDEN - set(agree) - set(REFUSED)):
        why = "; ".join(sorted(refusals[operator])) or "no test has a model of it"
        faults.append("%s was not compared: %s" % (operator, why))
    for operator in sorted(set(REFUSED) & set(agree)):
        faults.append("%s was compared: take it from the table" % operator)
    print("%d of %d operators agree: %s" % (len(agree), len(imported), ", ".join(sorted(agree))))
    print("\n".join(faults))
    sys.exit(bool(faults))


main()
