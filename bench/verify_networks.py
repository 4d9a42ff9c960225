#!/usr/bin/python3
"""Whole networks, as PyTorch exports them and from the zoo: compiled without a reference call, outputs as ONNX Runtime's.

usage: verify_networks.py LATHE [--batches 1,3,8] [--anew] [NETWORK...]

NETWORK is a torchvision name, zoo:NAME, "torch" or "zoo" (all of them); without any, everything. Of PyTorch's, batch 1 is a
static export, batch 3 a file with an open batch fixed by --shape, batch 8 the same file with its batch left open until
it runs. A row passes with no reference call, relative L2 <= 1e-4 and max |difference| <= 1e-3 of max |value|.
Results are kept in build/bench/verify.json while the program is the same, so that an interrupted run goes on; --anew
forgets them. Exit code 77 where ONNX Runtime or PyTorch is missing.
"""
import argparse
import json
import os
import pathlib
import sys

import torch_models
from bench import fingerprint, run, write_whole

KEPT = pathlib.Path(__file__).resolve().parent.parent / "build" / "bench" / "verify.json"


def model_arguments(network, batch):
    """-> (arguments of both verbs, arguments of `compare` only, how the batch is given)"""
    if network.startswith("zoo:"):
        return [network] + (["--zoo-batch", str(batch)] if batch != 1 else []), [], "static"
    if batch == 1:
        return [torch_models.exported(network)], [], "static"
    size = 299 if network == "inception_v3" else 224
    if batch == 8:
        return [torch_models.exported(network, dynamic=True)], ["--batch", "8"], "open"
    return [torch_models.exported(network, dynamic=True), "--shape", "data=%dx3x%dx%d" % (batch, size, size)], [], "--shape"


def verify(lathe, network, batch):
    """-> a row: {references, relative_l2, max_difference, form, failure}"""
    row = {"network": network, "batch": batch, "references": [], "failure": ""}
    both, compare_only, row["form"] = model_arguments(network, batch)
    code, checked, line = run(lathe, "check", *both)
    if code:
        row["failure"] = "check: " + line
        return row
    row["references"] = ["%s %s: %s" % (use["op"], use["node"], use["reason"]) for use in checked["references"]]
    row["kernels"], row["conversions"] = checked["kernels"], checked["layout_conversions"]
    if row["references"]:
        row["failure"] = "%d reference calls" % len(row["references"])
    code, compared, line = run(lathe, "compare", *both, *compare_only, "--with", "onnxruntime", "--check-only", "--no-store",
                               "--relative", "1e-4", "--maximum", "1e-3", "--threads", str(os.cpu_count() or 1))
    if "node_modules" in line or "make peers" in line:
        print("verify_networks.py: %s" % line, file=sys.stderr)
        sys.exit(77)
    outputs = compared["peers"][0]["outputs"] if compared.get("peers") else []
    if outputs:
        row["relative_l2"] = max(output["relative_l2"] for output in outputs)
        row["max_difference"] = max(output["max_difference"] for output in outputs)
    mistrusted = [output["name"] + " is " + output["mistrust"] for output in outputs if output.get("mistrust")]
    if code or not outputs:
        reasons = [output["reason"] for output in outputs if output.get("reason")]
        failures = [side["failure"]["message"] for side in compared.get("sides", []) if "failure" in side]
        row["failure"] = "; ".join(filter(None, [row["failure"], (failures + reasons + [line])[0]]))
    elif mistrusted:
        row["failure"] = "; ".join(filter(None, [row["failure"], mistrusted[0]]))
    return row


def zoo_names(lathe):
    code, listed, line = run(lathe, "zoo", "--list")
    if code:
        sys.exit("verify_networks.py: lathe zoo --list: " + line)
    return ["zoo:" + entry["name"] for entry in listed["networks"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lathe")
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--batches", default="1,3,8")
    parser.add_argument("--anew", action="store_true")
    options = parser.parse_intermixed_args()

    networks = []
    for name in options.networks or ["torch", "zoo"]:
        networks += torch_models.NETWORKS if name == "torch" else zoo_names(options.lathe) if name == "zoo" else [name]
    program = fingerprint(options.lathe)
    KEPT.parent.mkdir(parents=True, exist_ok=True)

    def load():
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        return kept["rows"] if kept.get("program") == program else {}

    table = "%-30s %5s %-8s %8s %7s %10s %10s %11s  %s"
    print(table % ("network", "batch", "form", "kernels", "convert", "references", "rel. L2", "max |diff|", "verdict"), flush=True)
    passed = total = 0
    for network in networks:
        for batch in map(int, options.batches.split(",")):
            key = "%s %d" % (network, batch)
            row = None if options.anew else load().get(key)
            if row is None:
                try:
                    row = verify(options.lathe, network, batch)
                except torch_models.NoTorch as error:
                    print("verify_networks.py: %s" % error, file=sys.stderr)
                    sys.exit(77)
                except RuntimeError as error:
                    row = {"network": network, "batch": batch, "form": "-", "references": [], "failure": str(error)}
                rows = load()  # others may have written meanwhile
                rows[key] = row
                write_whole(KEPT, json.dumps({"program": program, "rows": rows}, indent=1))
            number = lambda name, form: form % row[name] if name in row else "-"
            print(table % (network, batch, row["form"], number("kernels", "%d"), number("conversions", "%d"), len(row["references"]),
                           number("relative_l2", "%.1e"), number("max_difference", "%.1e"), row["failure"] or "ok"), flush=True)
            for use in row["references"]:
                print("    reference: " + use)
            passed += not row["failure"]
            total += 1
    print("%d of %d pass" % (passed, total))
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
