"""A package with one wrong weight, pad or stride fails `lathe verify` against the network it was meant to be.

usage: mutation_test.py LATHE MUTATE NETWORK...
"""
import json
import os
import subprocess
import sys
import tempfile

lathe, mutate, networks = sys.argv[1], sys.argv[2], sys.argv[3:]
failures = []


def verify(network, package, report):
    return subprocess.run([lathe, "verify", f"zoo:{network}", "--package", package, "--seeds", "1", "--json", report],
                          capture_output=True, text=True)


with tempfile.TemporaryDirectory() as folder:
    package, report = os.path.join(folder, "m.lathe"), os.path.join(folder, "m.json")
    for network in networks:
        for kind in ("none", "weight", "pad", "stride"):
            made = subprocess.run([mutate, network, kind, package], capture_output=True, text=True)
            if kind == "stride" and made.returncode == 3:
                print(f"{network} {kind}: the network is invalid then: {made.stderr.strip()}")
                continue
            if made.returncode == 2 and made.stderr.startswith(("no strided", "no padded")):
                print(f"{network} {kind}: {made.stderr.strip()}")
                continue
            if made.returncode != 0:
                failures.append(f"{network} {kind}: mutate failed: {made.stderr.strip()}")
                continue
            checked = verify(network, package, report)
            wanted = 0 if kind == "none" else 1
            print(f"{network} {kind}: exit code {checked.returncode}")
            if checked.returncode != wanted:
                failures.append(f"{network} {kind}: verify ended with {checked.returncode}, expected {wanted}:\n"
                                f"{checked.stdout}{checked.stderr}")
print("\n".join(failures))
sys.exit(1 if failures else 0)
