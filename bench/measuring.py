#!/usr/bin/env python3
"""How often the laboratory is wrong: prints the table of docs/measuring.md.

usage: measuring.py LATHE [--problems N] [--repetitions N] [--max-seconds S] [--json FILE]

`lathe ops bench` times our provider against itself under other names: `twin`, which is the same, and providers whose every
run takes a known share longer (LATHE_INJECT_SLOWDOWN). A verdict other than same or ambiguous of the twin is a false alarm;
`faster` of ours against a slowed one is a find.
"""
import argparse
import json
import os
import stat
import subprocess
import sys
import tempfile

PROBLEMS = [("conv2d", ["ic64ih56oc64kh3ph1", "ic256ih14oc256kh3ph1", "ic512ih7oc512kh3ph1", "ic3ih224oc64kh7sh2ph3", "ic256ih56oc64kh1",
                        "ic1024ih14oc256kh1", "ic192ih28oc96kh1", "ic16ih28oc32kh5ph2", "ic160ih17oc192kh7kw1ph3pw0", "ic128ih28oc128kh3ph1"]),
            ("depthwise", ["ic64ih112kh3ph1", "ic512ih14kh3ph1", "ic240ih28kh5ph2sh2"]),
            ("gemm", ["m128n768k768", "m384n1024k1024", "m35n2560k2560", "m7n3072k1024"]),
            ("fc", ["mb1ic2048oc1000", "mb1ic4096oc4096"]),
            ("matmul", ["12x128x64:12x64x128", "12x128x128:12x128x64"]),
            ("pool", ["ic64ih112kh3sh2ph1:max", "ic192ih28kh3ph1:avg"]),
            ("softmax", ["1536x128", "128x1000"]),
            ("layer_norm", ["128x768", "3136x96"]),
            ("eltwise", ["1x64x112x112:relu", "128x3072:gelu", "1x256x56x56:1x256x56x56:add"]),
            ("transpose", ["1x64x56x56:0,2,3,1", "768x768:1,0"])]
SLOWDOWNS = {"twin": 0.0, "slow2": 0.02, "slow5": 0.05, "slow10": 0.10}


def providers(lathe, folder):
    """Our provider under each name, as files the laboratory finds."""
    ours = os.path.join(os.path.dirname(os.path.abspath(lathe)), "lathe-provider-lathe")
    for name, share in SLOWDOWNS.items():
        os.makedirs(os.path.join(folder, name))
        path = os.path.join(folder, name, "provider")
        with open(path, "w") as file:
            file.write("#!/bin/sh\nLATHE_INJECT_SLOWDOWN=%s exec %s\n" % (share, ours))
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def verdicts(lathe, options):
    """(peer, verdict, ratio, problem, threads, processors that others used) of every row."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        providers(lathe, folder)
        columns = ",".join(["lathe:auto"] + [name + ":auto" for name in SLOWDOWNS])
        for kind, texts in PROBLEMS:
            report = os.path.join(folder, "report.json")
            command = [lathe, "ops", "bench", kind, *texts[: options.problems], "--provider", columns, "--threads", options.threads, "--repetitions", str(options.repetitions),
                       "--max-seconds", str(options.max_seconds), "--no-store", "--json", report]
            done = subprocess.run(command, env={**os.environ, "LATHE_PROVIDERS": folder}, stdout=subprocess.DEVNULL)
            if done.returncode:
                sys.exit("measuring.py: %s: exit code %d" % (" ".join(command), done.returncode))
            for row in json.load(open(report))["rows"]:
                for verdict in row["verdicts"]:
                    found.append({"problem": row["operator"] + " " + row["text"], "threads": row["threads"], "peer": verdict["peer"], "verdict": verdict["verdict"],
                                  "ratio": verdict["ratio"], "low": verdict["ratio_low"], "high": verdict["ratio_high"], "other_processors": row.get("other_processors", 0.0),
                                  "rounds_ns": {point["provider"]: point["rounds_ns"] for point in row["points"]}})
    return found


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0])
    parser.add_argument("lathe")
    parser.add_argument("--problems", type=int, default=100, help="of each kind at most")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--max-seconds", type=float, default=10)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = verdicts(options.lathe, options)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file)
    print("| injected | points | called different | faster | same | ambiguous | median ratio |\n|---|---|---|---|---|---|---|")
    for name, share in SLOWDOWNS.items():
        of = [row for row in rows if row["peer"] == name]
        count = {word: sum(row["verdict"] == word for row in of) for word in ("faster", "slower", "same", "ambiguous")}
        different = count["faster"] + count["slower"]
        ratios = sorted(row["ratio"] for row in of)
        print("| %.0f %% | %d | %d (%.1f %%) | %d | %d | %d | %.4f |" % (share * 100, len(of), different, 100 * different / len(of), count["faster"], count["same"],
                                                                          count["ambiguous"], ratios[len(ratios) // 2]))
    disturbed = sum(row["other_processors"] > 0.15 for row in rows)
    print("\n%d of %d rows were measured while other programs kept more than 0.15 processors busy." % (disturbed, len(rows)))


main()
