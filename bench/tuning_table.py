#!/usr/bin/python3
"""Tunes networks one after another, and writes what that gained to docs/tuning-table.md.

usage: tuning_table.py LATHE [--models LIST] [--threads N] [--budget TIME] [--seconds S] [--write PAGE] [--page-only]

Every model of LIST (separated by commas; anything that `lathe tune` takes) is tuned for TIME (10m) on N threads (2), beginning
with an empty store of this program. The tuned package is timed in turns with the untuned one; then each is timed in turns with
ONNX Runtime, for at most S seconds (20).

A model that is done is kept below build/bench/tuning (or BENCH_FOLDER) while the program and the settings are the same. After an
interruption the same command goes on: the model that it met has the records so far and the rest of its time. The page is written
when no model is left, or of what is there with --page-only. Exit code 1 when a model has no figures.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import bench
import performance_page

del os.environ["LATHE_NO_RECORDS"]  # of bench.py: here the records are what is measured
MODELS = "zoo:alexnet,zoo:inception_v2,zoo:resnet18,zoo:resnet50,zoo:resnet101,zoo:densenet121,zoo:googlenet,zoo:mobilenet_v2"
FOLDER = pathlib.Path(os.environ.get("BENCH_FOLDER", bench.ROOT / "build" / "bench" / "tuning"))
LEAST = 30  # seconds for a model that was interrupted at its end


def seconds(text):
    """"90s", "5m", "1h" or a number of seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not match:
        sys.exit("tuning_table.py: --budget %s: expected a time such as 90s, 5m or 1h" % text)
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def fileName(model, threads):
    return "%s-%d" % (re.sub(r"[^\w.-]+", "-", model), threads)


class Spent:
    """Seconds that went into tuning a model, over interruptions."""

    def __init__(self, file):
        self.file, self.before = file, 0.0
        if file.exists():
            self.before = json.loads(file.read_text())["seconds"]
        self.began = time.monotonic()

    def now(self):
        return self.before + time.monotonic() - self.began

    def keep(self):
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps({"seconds": self.now()}))
        part.rename(self.file)


def watched(command, spent):
    """Runs a command and shows what it says of its progress. -> (exit code, its last line)"""
    lines = [""]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def forward():
        for line in process.stderr:
            lines[0] = line.strip()
            print("  " + lines[0], file=sys.stderr, flush=True)

    reader = threading.Thread(target=forward, daemon=True)
    reader.start()
    try:
        while process.poll() is None:
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                pass
            spent.keep()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    reader.join()
    return process.returncode, lines[0]


def besideOnnxRuntime(lathe, model, settings, *records):
    code, document, line = bench.run(lathe, "compare", model, "--with", "onnxruntime", "--threads", str(settings["threads"]),
                                     "--max-seconds", str(settings["seconds"]), *records)
    peers = document.get("peers") or [{}]
    if code or "ratio" not in peers[0]:
        failed = [side["failure"]["message"] for side in document.get("sides", []) if "failure" in side]
        return {"reason": (failed + [line])[0]}
    return {"peer": peers[0], "version": document["sides"][1]["version"], "other_processors": document.get("other_processors", 0)}


def tunedRow(lathe, model, settings, store, spent):
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        path = os.path.join(folder, "report.json")
        left = max(settings["budget"] - spent.now(), LEAST) if spent.before else settings["budget"]
        code, line = watched([lathe, "tune", model, "--threads", str(settings["threads"]), "--budget", "%.0fs" % left, "--compare",
                              "--store", str(store), "--json", path], spent)
        if code:
            return {"failure": line or "lathe tune: exit code %d" % code}
        report = json.load(open(path))
    return {"report": report, "minutes": spent.now() / 60,
            "before": besideOnnxRuntime(lathe, model, settings, "--no-records", "--no-store"),
            "after": besideOnnxRuntime(lathe, model, settings, "--store", str(store))}


def isKept(row):
    return not row["report"]["undone"] and any(task["gain"] for task in row["report"]["tasks"])


def speedText(row):
    peer = row["report"]["comparison"]["peers"][0]
    if "ratio" not in peer:
        return "the outputs differ"
    return "%.3f (%s) %s" % (peer["ratio"], performance_page.interval(peer), peer["verdict"])


def ratioCell(beside):
    if "peer" in beside:
        return "%.3f (%s) %s" % (beside["peer"]["ratio"], performance_page.interval(beside["peer"]), beside["peer"]["verdict"])
    return "not installed" if "is not installed" in beside["reason"] else "none, see below"


def isDisturbed(row):
    return any(performance_page.disturbed(part) for part in (row["report"]["comparison"], row["before"], row["after"]))


def timeRows(model, row):
    tuned, untuned = (side["time"] for side in row["report"]["comparison"]["sides"])
    cells = lambda time: ["%.3f" % time[key + "_ms"] for key in ("mean", "median", "max", "min", "std")]
    mark = " \\*" if isDisturbed(row) else ""
    rows = [[model + mark, "before", *cells(untuned), ratioCell(row["before"])]]
    rows.append(["", "after", *(cells(tuned) if isKept(row) else ["as before"] * 5), ratioCell(row["after"])])
    return rows


def searchRow(model, row):
    tasks = row["report"]["tasks"]
    failures = sum(int(count) for task in tasks for count in re.findall(r"(\d+) ", task["failed"] or ""))
    return [model, speedText(row) + ("" if isKept(row) else "; nothing is kept"), str(len(tasks)), str(sum(task["gain"] is not None for task in tasks)),
            str(sum(task["trials"] for task in tasks)), str(failures), "%.1f" % row["minutes"], row["report"]["ended"]]


def head(lathe, rows, settings):
    facts = performance_page.machine(lathe)
    done = [row for row in rows.values() if "report" in row]
    versions = sorted({beside["version"] for row in done for beside in (row["before"], row["after"]) if "version" in beside})
    lines = ["- **Machine**: %s, %s, %s; measured peak %s GFLOPS fp32 on one thread." % (
        facts.get("cpu", "?"), performance_page.plural(facts.get("hardware_threads", 0), "hardware thread"), facts.get("kernel", "?"), performance_page.peakOf(facts))]
    lines.append("- **Versions**: Lathe, commit %s%s." % (" and ".join(sorted({row["commit"] for row in done})) or "?",
                                                        "; ONNX Runtime " + " and ".join(versions) if versions else ""))
    if done:
        dates = sorted(row["finished"] for row in done)
        lines.append("- **Measured**: %s to %s; %d threads, %.0f min of tuning a network, %g s of timing beside ONNX Runtime." % (
            dates[0], dates[-1], settings["threads"], settings["budget"] / 60, settings["seconds"]))
    disturbedRows = sum(map(isDisturbed, done))
    if disturbedRows:
        lines.append("- **The machine was disturbed** during %d of %d rows, which are marked: other programs kept more than %g processors busy." % (
            disturbedRows, len(done), performance_page.DISTURBING))
    return "\n".join(lines) + "\n"


INTRODUCTION = """<!-- Written by bench/tuning_table.py; do not edit. -->
# What does tuning gain for whole networks?

`lathe tune` searched schedules for each network, one network after another, in a store that was empty
before the first ([tuning.md](tuning.md)). *before* is the package with the default schedules, *after* the
package with those that the search kept. Both were timed in turns, and each in turns with ONNX Runtime:
its time over Lathe's, above 1 where Lathe is faster, with a 95 % interval and a verdict
([measuring.md](measuring.md)).
"""


def page(lathe, rows, settings):
    """`rows`: by model, in order; a row without figures has `failure`."""
    times, searches, reasons, speeds = [], [], [], []
    for model, row in rows.items():
        if "failure" in row:
            reasons.append("%s was not tuned: %s" % (model, row["failure"]))
            continue
        times += timeRows(model, row)
        searches.append(searchRow(model, row))
        for when in ("before", "after"):
            if ratioCell(row[when]).startswith("none"):
                reasons.append("%s, %s: %s" % (model, when, row[when]["reason"]))
        if peerRatio := row["report"]["comparison"]["peers"][0].get("ratio"):
            speeds.append(peerRatio if isKept(row) else 1.0)
    parts = [INTRODUCTION, head(lathe, rows, settings), "## Times\n\n" +
             performance_page.table(["network", "package", "mean ms", "median ms", "max ms", "min ms", "std ms", "ONNX Runtime / Lathe"], times)]
    mean = "Geometric mean of the speedups: %.3f over %s; 1 where nothing is kept.\n\n" % (
        performance_page.geometricMean(speeds), performance_page.plural(len(speeds), "network")) if speeds else ""
    parts.append("## Searches\n\n" + mean + performance_page.table(
        ["network", "before / after, in turns", "tasks", "faster tasks", "trials", "failed trials", "minutes", "ended because"], searches))
    if reasons:
        parts.append("## No figures\n\n" + "".join("- %s\n" % reason for reason in reasons))
    return "\n".join(parts)


def measure(lathe, models, settings, program):
    """-> rows by model"""
    kept = bench.Rows(program, FOLDER)
    store = FOLDER / ("records-%s.db" % program)
    rows = {}
    for number, model in enumerate(models):
        name = fileName(model, settings["threads"])
        row = kept.get(name, settings)
        if not row:
            print("[%d/%d] %s" % (number + 1, len(models), model), flush=True)
            spent = Spent(FOLDER / ("%s-%s-%g.spent" % (name, program, settings["budget"])))
            row = tunedRow(lathe, model, settings, store, spent)
            kept.put(name, settings, row)
            row = json.loads((FOLDER / (name + ".json")).read_text())
            spent.file.unlink(missing_ok=True)
            print(row["failure"] if "failure" in row else speedText(row), flush=True)
        rows[model] = row
    return rows


def arguments():
    parser = argparse.ArgumentParser(usage=re.search(r"usage: (.*?)\n\n", __doc__, re.S).group(1))
    parser.add_argument("lathe")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--write", default=str(bench.ROOT / "docs" / "tuning-table.md"), metavar="PAGE")
    parser.add_argument("--page-only", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    settings = {"threads": options.threads, "budget": seconds(options.budget), "seconds": options.seconds}
    models, program = options.models.split(","), bench.fingerprint(options.lathe)
    if options.page_only:
        kept = bench.Rows(program, FOLDER)
        rows = {model: kept.get(fileName(model, options.threads), settings) or {"failure": "not measured"} for model in models}
    else:
        rows = measure(options.lathe, models, settings, program)
    pathlib.Path(options.write).write_text(page(options.lathe, rows, settings))
    print("%s is written" % options.write)
    return 1 if any("failure" in row for row in rows.values()) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("tuning_table.py: interrupted; the same command goes on")
