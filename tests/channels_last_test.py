"""A Keras network with the channels last and first: the same kernels, but for one transpose of the picture.

usage: channels_last_test.py LATHE NETWORK
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

from onnxruntime_runner import run

lathe, network = sys.argv[1:]
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "model", "import", "keras", "testing", "networks.py")
SIZE = 299 if network == "inception_v3" else 224


def kernels(folder, shape, *options):
    """The number of kernels of the network with this family, schedule and these shapes."""
    model, package, report = (os.path.join(folder, name) for name in ("m.h5", "m.lathe", "m.json"))
    subprocess.run([sys.executable, "-B", SCRIPT, *options, network, model], check=True)
    run(lathe, "compile", model, "--shape", "input=" + shape, "-o", package)
    run(lathe, "inspect", package, "--json", report)
    plan = json.load(open(report))["plans"][0]
    assert not plan["reference_calls"], plan["reference_calls"]
    return collections.Counter((each["family"], each["schedule"], each["shapes"]) for each in plan["kernels"])


with tempfile.TemporaryDirectory() as folder:
    first, last = f"1x3x{SIZE}x{SIZE}", f"1x{SIZE}x{SIZE}x3"
    want, got = kernels(folder, first, "--channels-first"), kernels(folder, last)
    assert len(want) > 20 and not want - got, want - got
    more = list((got - want).elements())
    assert [(family, shapes) for family, _, shapes in more] == [("movement", f"{last} -> {first}")], more
