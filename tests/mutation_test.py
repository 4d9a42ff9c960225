"""A package with one slightly wrong weight, a wrong pad or stride fails `lathe verify` against its network.

usage: mutation_test.py LATHE MUTATE NETWORK...

One weight of the first, the middle and the last layer moves by a tenth of the root mean square of
its tensor. `verify --all` compares kernel by kernel and must find it; the output says whether whole
outputs show it as well. A weight may be undetectable: the inputs of the run make its product vanish,
behind a ReLU for example, or it is one of thousands of terms. It is listed, and the next weight of
the layer is tried: of PLACES at least one must be found. network_test.py checks that the unchanged
network verifies.
"""
import json
import os
import subprocess
import sys
import tempfile

lathe, mutate, networks = sys.argv[1], sys.argv[2], sys.argv[3:]
LAYERS = ("first", "middle", "last")
PLACES = (50, 29, 77, 11, 91, 38, 63, 5, 84, 45, 70, 22, 96, 57, 33, 16)  # percent of the way through the layer's weights
failures, unseen = [], []


def mutated_and_verified(network, kind, folder, *flags):
    """(the change, exit code of verify, its report and text); None if the network has no place for this change."""
    package, report = os.path.join(folder, "m.lathe"), os.path.join(folder, "m.json")
    made = subprocess.run([mutate, network, kind, package], capture_output=True, text=True)
    if (kind == "stride" and made.returncode == 3) or (made.returncode == 2 and made.stderr.startswith(("no strided", "no padded"))):
        print(f"{network} {kind}: no such mistake: {made.stderr.strip()}")
        return None
    if made.returncode != 0:
        failures.append(f"{network} {kind}: mutate failed: {made.stderr.strip()}")
        return None
    checked = subprocess.run([lathe, "verify", f"zoo:{network}", "--package", package, "--seeds", "1", "--json", report, *flags],
                             capture_output=True, text=True)
    if checked.returncode not in (0, 1):
        failures.append(f"{network} {kind}: verify ended with {checked.returncode}:\n{checked.stdout}{checked.stderr}")
        return None
    with open(report) as file:
        return made.stdout.strip(), checked.returncode, json.load(file)


def check_weight(network, layer, folder):
    """True if a wrong weight of the layer is detected."""
    for place in PLACES:
        tried = mutated_and_verified(network, f"weight:{layer}:{place}", folder, "--all")
        if tried is None:
            return False
        what, code, report = tried
        if code == 1:
            outputs = "too" if not report["runs"][0]["passed"] else "not"
            print(f"{network} {layer}: seen in '{report.get('first_diverging_node')}', in the first output {outputs}: {what}")
            return True
        unseen.append(f"{network} {layer}: {what}")
    return False


with tempfile.TemporaryDirectory() as folder:
    for network in networks:
        for layer in LAYERS:
            if not check_weight(network, layer, folder):
                failures.append(f"{network}: none of {len(PLACES)} wrong weights of the {layer} layer is found")
        for kind in ("pad", "stride"):
            tried = mutated_and_verified(network, kind, folder)
            if tried is not None:
                print(f"{network} {kind}: exit code {tried[1]}")
                if tried[1] != 1:
                    failures.append(f"{network} {kind}: verify ended with {tried[1]}, expected 1")
print("\n".join([f"cannot be seen: {line}" for line in unseen] + failures))
sys.exit(1 if failures else 0)
