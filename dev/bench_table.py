#!/usr/bin/env python3
"""usage: bench_table.py FOLDER NETWORK...   The table of dev/bench.sh, from what `lathe compare --json` wrote."""
import json, math, pathlib, sys


def row(folder, network):
    """-> (cells, ratio or None)"""
    file = folder / (network.replace(":", "-") + ".json")
    if not file.exists():
        said = file.with_suffix(".txt")
        lines = said.read_text().strip().splitlines() if said.exists() else []
        return ["-", "-", "-", "failed: " + (lines[-1] if lines else str(said))], None
    result = json.loads(file.read_text())
    result = result.get("comparison", result)
    peer, sides = result["peers"][0], result["sides"]
    failures = [side["failure"]["message"] for side in sides if "failure" in side]
    if "ratio" not in peer:
        reasons = [output["reason"] for output in peer["outputs"] if "reason" in output]
        return ["-", "-", "-", (failures + reasons + ["no answer"])[0]], None
    cells = ["%.3f" % side["time"]["median_ms"] for side in sides[:2]]
    cells += ["%.3f" % peer["ratio"], "%s (%.3f to %.3f)" % (peer["verdict"], peer["ratio_low"], peer["ratio_high"])]
    if result.get("other_processors", 0) > 0.15:  # lab/Compare.h: disturbingProcessors
        cells[-1] += ", disturbed"
    return cells, peer["ratio"]


def main():
    folder, networks = pathlib.Path(sys.argv[1]), sys.argv[2:]
    table = "%-34s %12s %16s %8s  %s"
    print(table % ("network", "lathe ms", "onnxruntime ms", "ratio", "verdict (95 % interval)"))
    ratios = []
    for network in networks:
        cells, ratio = row(folder, network)
        print(table % (network, *cells))
        ratios += [ratio] if ratio else []
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(table % ("geometric mean", "", "", "%.3f" % mean, "of %d networks; above 1, lathe is the faster" % len(ratios)))
    return 0 if len(ratios) == len(networks) else 1


sys.exit(main())
