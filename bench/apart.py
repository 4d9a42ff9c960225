#!/usr/bin/env python3
"""Measures how often verdicts over runs without turns are wrong: `lathe ops diff`, `lathe store trend`, and the intervals of
medians in reports; writes the table of docs/measuring.md.

usage: apart.py LATHE --folder DIR [--label TEXT] [--cycles N] [--max-minutes M] [--judge LATHE] [--write PAGE]

A cycle is five runs of `lathe ops bench` over the same problems with the same provider: two equal ones (twins) and three whose
every run takes a known share longer (LATHE_INJECT_SLOWDOWN). Each run is a file DIR/LABEL-N-SHARE.json as soon as it is
finished; existing runs are not measured again, so a study may be interrupted at any time, or divided into slices of
--max-minutes. LABEL says under which load they were made. Afterwards all cycles of DIR are judged, by --judge if the
measuring program is an older one:

  ops diff   runs of one cycle: twins, and a twin against each slowed run; with files, and twice more: from a store that has
             them, and by lathe.ops.diff of the Python package
  medians    the same pairs: intervals of 95 % in the report that do not meet
  trend      windows of 12 runs, in the order of measuring, of the twins of each problem; the slowed ones end with the last
             four slowed runs in place of the twins. Windows of one problem overlap: their errors are not independent.

Shares have binomial intervals of 95 % (Clopper and Pearson).
"""
import argparse
import base64
import collections
import contextlib
import datetime
import json
import math
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

import marks

os.environ["LATHE_NO_RECORDS"] = "1"  # the same kernels on every machine
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROBLEMS = {"conv2d": ["ic16ih28oc32kh3ph1", "ic32ih28oc64kh1", "ic64ih14oc64kh3ph1", "ic3ih56oc32kh3sh2ph1", "ic64ih7oc128kh3ph1", "ic24ih28oc144kh1"],
            "gemm": ["m32n256k256", "m64n64k512", "m7n512k512"],
            "eltwise": ["1x64x28x28:relu", "64x768:gelu"],
            "softmax": ["256x128"]}
SHARES = [0.0, 0.0, 0.05, 0.10, 0.25]  # of the runs of a cycle
WINDOW, CHANGED = 12, 4
BEGIN = "<!-- bench/apart.py writes from here -->"


def measure(lathe, path, store, share, starts):
    """Measures one run over all problems. Returns its document, with the experiment in the store."""
    began = datetime.datetime.now(datetime.timezone.utc)
    with tempfile.TemporaryDirectory() as folder:
        suite, file = os.path.join(folder, "apart.csv"), os.path.join(folder, "run.json")
        with open(suite, "w") as lines:
            lines.write("suite,name,count,kind,problem\n")
            lines.writelines("apart,%s,1,%s,%s\n" % (text.replace(":", "_"), kind, text) for kind, texts in PROBLEMS.items() for text in texts)
        command = [lathe, "ops", "bench", "--problems", suite, "--suite", "apart", "--provider", "lathe", "--starts", str(starts), "--max-starts", str(starts),
                   "--max-seconds", "0.5", "--fresh", "--store", store, "--quiet", "--json", file]
        run(command, env={**os.environ, "LATHE_INJECT_SLOWDOWN": "%g" % share})
        rows = json.load(open(file))["rows"]
    with contextlib.closing(sqlite3.connect(store)) as database:
        experiments = [uuid for uuid, in database.execute("SELECT uuid FROM experiment ORDER BY id DESC LIMIT 1")]
    document = {"rows": rows, "share": share, "experiments": experiments, "began": began.isoformat(timespec="seconds"),
                "other_processors": sum(row.get("other_processors", 0) for row in rows) / len(rows)}
    with open(path + ".part", "w") as file:
        json.dump(document, file)
    os.rename(path + ".part", path)


def runs_of(folder):
    """{label: {cycle: [path of each run]}} for complete cycles."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for name in os.listdir(folder):
        if match := re.fullmatch(r"(.+)-(\d+)-(\d)\.json", name):
            found[match[1]][int(match[2])][int(match[3])] = os.path.join(folder, name)
    return {label: {cycle: [runs[i] for i in range(len(SHARES))] for cycle, runs in sorted(cycles.items()) if len(runs) == len(SHARES)}
            for label, cycles in found.items()}


def binomial(k, n, tail=0.025):
    """The interval of Clopper and Pearson for k of n, by bisection."""
    def at_least(p):  # probability of k or more
        return sum(math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(k, n + 1))

    def solve(above):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if above(middle) else (middle, high)
        return low
    return (0.0 if k == 0 else solve(lambda p: at_least(p) > tail)), (1.0 if k == n else solve(lambda p: at_least(p) - math.comb(n, k) * p ** k * (1 - p) ** (n - k) > 1 - tail))


def share_text(k, n):
    if not n:
        return "not measured"
    low, high = binomial(k, n)
    return "%d of %d, %.1f %% (%.1f to %.1f)" % (k, n, 100 * k / n, 100 * low, 100 * high)


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode not in (0, 1):
        sys.exit("apart.py: %s: %s" % (" ".join(command), done.stderr.strip()))
    return done.stdout


def unpack(column):
    data = base64.b64decode(column["data"])
    code, size = ("I", 4) if column["type"] == "u32" else ("d", 8)
    return struct.unpack("<%d%s" % (len(data) // size, code), data)


def verdicts(document):
    return {(point["problem"], point["variant"]): point["verdict"] for point in document["points"] if "verdict" in point}


def merged(documents):
    return {key: verdict for document in documents for key, verdict in verdicts(document).items()}


class Judge:
    """The verdicts of the programs on two runs, by each way of comparing."""

    def __init__(self, lathe, store, folder):
        self.lathe, self.store, self.folder = lathe, store, folder
        self.spreads, self.copy = {}, None

    def of_files(self, before, after):
        return merged([json.loads(run([self.lathe, "ops", "diff", before, after, "--json", "-"]))])

    def of_store(self, before, after):
        return merged(json.loads(run([self.lathe, "ops", "diff", *ids, "--store", self.store, "--json", "-"]))
                      for ids in zip(before["experiments"], after["experiments"]))

    def of_python(self, before, after):
        sys.path.insert(0, os.path.join(ROOT, "python"))
        os.environ["LATHE_LIBRARY_DIR"] = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(self.lathe))), "lib")
        import lathe
        return merged(dict(lathe.ops.diff(*ids, store=self.store)) for ids in zip(before["experiments"], after["experiments"]))

    def of_page(self, before, after):
        """The report of both runs, as the page's own code reads its verdicts under Node.js."""
        document = self.document([before, after])
        told = json.loads(run(["node", os.path.join(ROOT, "src", "laboratory", "report", "page", "tests", "judge.mjs"), document]))
        return {(one["problem"], one["variant"]): one["verdict"] for one in told if one["before"] in before["experiments"]}

    def document(self, runs):
        path = os.path.join(self.folder, "document.json")
        run([self.lathe, "report", "--experiment", ",".join(uuid for one in runs for uuid in one["experiments"]), "--store", self.store, "-o",
             os.path.join(self.folder, "report.html"), "--json", path])
        return path

    def medians(self, one):
        """{problem: low and high} for the points with an interval, not only a range."""
        if one["path"] in self.spreads:
            return self.spreads[one["path"]]
        document = json.load(open(self.document([one])))
        columns = {name: unpack(column) for name, column in document["points"]["columns"].items()}
        self.spreads[one["path"]] = {document["problems"][columns["problem"][i]]["text"]: (columns["low"][i], columns["high"][i])
                                     for i in range(document["points"]["count"]) if not columns["is_range"][i]}
        return self.spreads[one["path"]]

    def changes(self, runs):
        """{problem: positions of the changes} of `store trend` over only these runs."""
        if not self.copy:
            self.copy = os.path.join(self.folder, "copy.db")
            shutil.copyfile(self.store, self.copy)
        uuids = [uuid for one in runs for uuid in one["experiments"]]
        with contextlib.closing(sqlite3.connect(self.copy)) as database:
            # In the order of the runs: the slowed ones behind the others.
            for number, uuid in enumerate(uuids):
                database.execute("UPDATE point SET measured = ? WHERE experiment = (SELECT id FROM experiment WHERE uuid = ?)",
                                 ("2026-01-%02dT00:00:00.000000Z" % (number + 1), uuid))
            database.commit()
        told = json.loads(run([self.lathe, "store", "trend", "--experiment", ",".join(uuids), "--store", self.copy, "--json", "-"]))
        return {series["problem"]: [change["index"] for change in series["changes"]] for series in told["series"]}


def study(lathe, store, cycles):
    """Counts for one label, by name: (how many, of how many)."""
    counts, unlike = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(lathe, store, folder)
        cycles = [[{**json.load(open(path)), "path": path} for path in paths] for paths in cycles]
        for number, (first, second, *slowed) in enumerate(cycles):
            for before, after in [(first, second), *((twin, slow) for slow in slowed for twin in (first, second))]:
                name, share = "diff %g" % after["share"], after["share"]
                told = judge.of_files(before["path"], after["path"])
                for verdict in told.values():
                    counts[name, "all"] += 1
                    counts[name, "slower" if verdict == "slower" else "different" if verdict == "faster" else verdict] += 1
                if number < 3:  # the same samples, by all ways
                    for way in (judge.of_store, judge.of_python, judge.of_page):
                        counts["ways", "all"] += len(told)
                        other = way(before, after)
                        counts["ways", "alike"] += sum(other.get(key) == verdict for key, verdict in told.items())
                intervals = [judge.medians(before), judge.medians(after)]
                for problem in intervals[0].keys() & intervals[1].keys():
                    (low, high), (other_low, other_high) = intervals[0][problem], intervals[1][problem]
                    counts["median %g" % share, "all"] += 1
                    counts["median %g" % share, "disjoint"] += high < other_low or other_high < low
        twins = [run for cycle in cycles for run in cycle[:2]]
        for start in range(len(twins) - WINDOW + 1):
            for places in judge.changes(twins[start:start + WINDOW]).values():
                counts["trend 0", "all"] += 1
                counts["trend 0", "found"] += bool(places)
            for which, share in enumerate(SHARES[2:], 2):
                following = [cycle[which] for cycle in cycles[(start + WINDOW - CHANGED) // 2:]][:CHANGED]
                if len(following) < CHANGED:
                    continue
                for places in judge.changes(twins[start:start + WINDOW - CHANGED] + following).values():
                    counts["trend %g" % share, "all"] += 1
                    counts["trend %g" % share, "found"] += WINDOW - CHANGED in places
    return counts


def row(counts, command, share, wrong, name, words):
    n = counts[name, "all"]
    return "| `%s` | %s | %g %% | %s |\n" % (command, wrong, 100 * share, share_text(sum(counts[name, word] for word in words), n))


def table(label, counts, cycles):
    runs = [json.load(open(path)) for paths in cycles for path in paths]
    busy = sorted(one["other_processors"] for one in runs)
    text = "**%s**: %d cycles of %d runs of %d problems, %s to %s; other programs kept %.2f processors busy in the median run (%.2f to %.2f).\n\n" % (
        label, len(cycles), len(SHARES), sum(map(len, PROBLEMS.values())), runs[0]["began"][:16], runs[-1]["began"][:16], busy[len(busy) // 2], busy[0], busy[-1])
    text += "| command | counted | injected | share (binomial interval of 95 %) |\n|---|---|---|---|\n"
    text += row(counts, "ops diff", 0, "twins called different", "diff 0", ["slower", "different"])
    for share in SHARES[2:]:
        text += row(counts, "ops diff", share, "found", "diff %g" % share, ["slower"])
    text += row(counts, "report", 0, "intervals of medians that do not meet", "median 0", ["disjoint"])
    for share in SHARES[2:]:
        text += row(counts, "report", share, "the same", "median %g" % share, ["disjoint"])
    text += row(counts, "store trend", 0, "windows with a change", "trend 0", ["found"])
    for share in SHARES[2:]:
        text += row(counts, "store trend", share, "changes found at their place", "trend %g" % share, ["found"])
    return text + "\nThe store, Python and the page gave the same verdict as the files: %d of %d.\n" % (counts["ways", "alike"], counts["ways", "all"])


def main():
    parser = argparse.ArgumentParser(usage=re.search(r"usage: (.*?)\n\n", __doc__, re.S).group(1))
    parser.add_argument("lathe")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--label", default="quiet")
    parser.add_argument("--cycles", type=int, default=25)
    parser.add_argument("--starts", type=int, default=6)
    parser.add_argument("--max-minutes", type=float, default=0)
    parser.add_argument("--judge")
    parser.add_argument("--write", metavar="PAGE")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    began = time.monotonic()
    for cycle in range(options.cycles):
        for number, share in enumerate(SHARES):
            path = os.path.join(options.folder, "%s-%d-%d.json" % (options.label, cycle, number))
            if options.max_minutes and time.monotonic() - began > 60 * options.max_minutes:
                break
            if not os.path.exists(path):
                measure(options.lathe, path, os.path.join(options.folder, options.label + ".db"), share, options.starts)
    text = ""
    for label, cycles in sorted(runs_of(options.folder).items()):
        if cycles:
            paths = list(cycles.values())
            text += table(label, study(options.judge or options.lathe, os.path.join(options.folder, label + ".db"), paths), paths) + "\n"
    print(text)
    if options.write and text:
        marks.write(options.write, BEGIN, text.rstrip() + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("apart.py: interrupted; the same command goes on")
