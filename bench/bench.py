#!/usr/bin/python3
"""Regenerates docs/performance.md: Lathe beside ONNX Runtime over whole networks and beside oneDNN over single convolutions; and
docs/predictions.md: predicted beside measured times of the kernels of these networks.

usage: bench.py LATHE [--page-only]          (`make bench` builds, installs the peers and runs it)
       bench.py LATHE --redraw               (draws the figures of the written pages again, without measuring: redraw.py)

Every package is verified against the reference before it is timed. Both sides of a ratio are timed in turns in one run, over
several starts of each. What is measured, by environment:

  BENCH_PARTS     networks batch bf16 memory predictions convolutions (all)
  BENCH_NETWORKS  names of bench/torch_models.py and zoo:NAME (the networks of the page)
  BENCH_SUITES    suites of shared/problems/conv2d.csv (the suites of the page)
  BENCH_THREADS   1 2
  BENCH_SECONDS   limit on timing a network (20), which ends as soon as its verdict is decided; a convolution has a twentieth of it
  BENCH_MINUTES   after which no new row is begun; the same command goes on another time (0: no limit)

Every finished row is kept below build/bench/performance (or BENCH_FOLDER) while the program and the settings are the same: an
interrupted run goes on where it was. The page is written when no row is left, or of what is there with --page-only; beside it
the medians of all rounds and every sample as archives of the store, and README's table anew.
Exit code 1 when a row has no ratio, 3 when rows are left.
"""
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import goals
import performance_page
import predictions_page
import readme_table
import redraw
import torch_models

os.environ["LATHE_NO_RECORDS"] = "1"  # what a search has found on this machine does not belong to the commit
ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = pathlib.Path(os.environ.get("BENCH_FOLDER", ROOT / "build" / "bench" / "performance"))

# The networks of the page: PyTorch's exports with what the zoo has in their stead, then the zoo's.
NETWORKS = {"resnet18": "resnet18", "resnet50": "resnet50", "resnet101": "resnet101", "densenet121": "densenet121", "googlenet": "googlenet",
            "inception_v3": "inception_v3", "vgg16": "vgg16", "alexnet": "alexnet", "squeezenet1_1": "squeezenet", "mobilenet_v2": "mobilenet_v2",
            "mobilenet_v3_large": "mobilenet_v3", "efficientnet_b0": "efficientnet_b0", "shufflenet_v2_x1_0": "shufflenet_v2", "mnasnet1_0": None,
            "vit_b_16": "vit_b_16", "swin_t": None, "convnext_tiny": None, "zoo:bert_base": None, "zoo:gpt2_small": None, "zoo:lstm": None}
SUITES = ["benchdnn/resnet50", "benchdnn/googlenet_v1", "benchdnn/googlenet_v2", "benchdnn/googlenet_v3", "benchdnn/vgg19", "benchdnn/densenet",
          "benchdnn/mobilenet_v1", "benchdnn/mobilenet_v1_depthwise"]
PROVIDERS = "lathe,onednn:auto,onednn:direct,onednn:winograd"
BATCHES = [1, 4, 16]
PARTS = ["networks", "batch", "bf16", "memory", "predictions", "convolutions"]


def words(name, usual):
    return os.environ.get(name, "").split() or usual


class Settings:
    def __init__(self):
        self.parts = words("BENCH_PARTS", PARTS)
        self.networks = words("BENCH_NETWORKS", list(NETWORKS))
        self.suites = words("BENCH_SUITES", SUITES)
        self.threads = [int(word) for word in words("BENCH_THREADS", ["1", "2"])]
        self.seconds = float(os.environ.get("BENCH_SECONDS", "") or 20)
        self.minutes = float(os.environ.get("BENCH_MINUTES", "") or 0)
        for part in self.parts:
            if part not in PARTS:
                sys.exit("bench.py: BENCH_PARTS: '%s' is none of %s" % (part, ", ".join(PARTS)))


def fingerprint(lathe):
    """A hash that changes when the program does."""
    folder = pathlib.Path(lathe).resolve().parent
    files = [folder / name for name in ("lathe", "lathe-runner", "lathe-runner-onnxruntime", "lathe-provider-lathe", "lathe-provider-onednn")]
    files += sorted(folder.glob("liblathe*.so")) + sorted((folder.parent / "lib").glob("liblathe_cli_compiler*.so"))
    digest = hashlib.sha256()
    for file in files:
        if file.exists():
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def commit():
    """The state of the source tree that the program is assumed to be built from, as far as git knows it."""
    git = lambda *words: subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs", ":!bench", ":!*.md")
    return (git("log", "-1", "--format=%h of %cs") or "?") + (", with changes" if changed else "")


def run(lathe, *arguments):
    """-> (exit code, what --json wrote or {}, the last line it printed)"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        result = subprocess.run([lathe, *arguments, "--json", path], capture_output=True, text=True)
        lines = (result.stdout + result.stderr).strip().splitlines() or ["exit code %d" % result.returncode]
        document = json.load(open(path)) if os.path.exists(path) else {}
        return result.returncode, document, lines[-1]


def model(network, batch=None):
    """-> (arguments that name the model, a description of it). Throws RuntimeError if there is no such model."""
    if network.startswith("zoo:"):
        return [network] + (["--zoo-batch", str(batch)] if batch else []), network
    try:
        if not batch:
            return [torch_models.exported(network)], network
        return [torch_models.exported(network, dynamic=True), "--shape", "data=%dx3x224x224" % batch], network
    except torch_models.NoTorch as error:
        substitute = NETWORKS.get(network)
        if not substitute:
            raise RuntimeError("not measured: %s" % error)
        return model("zoo:" + substitute, batch)


def verified(lathe, arguments, threads):
    """Compares the package with the reference in float64; `lathe compare` then states this. -> a reason not to time it, or ""."""
    code, document, line = run(lathe, "verify", *arguments, "--threads", str(threads), "--seeds", "1")
    return "" if code == 0 else "not timed, verification: " + line


def compared(lathe, arguments, threads, settings, peer="onnxruntime"):
    """Verifies our package, then times it and the peer."""
    if reason := verified(lathe, arguments, threads):
        return {"failure": reason}
    code, document, line = run(lathe, "compare", *arguments, "--with", peer, "--threads", str(threads), "--max-seconds", str(settings.seconds),
                               "--store", str(settings.store))
    reasons = [side["failure"]["message"] for side in document.get("sides", []) if "failure" in side]
    reasons += [output["reason"] for peer in document.get("peers", []) for output in peer["outputs"] if output.get("reason")]
    if not document.get("peers") or "ratio" not in document["peers"][0]:
        return {"failure": (reasons + [line])[0]}
    if not document["verified"]:
        return {"failure": "timed a package that is not the verified one: " + document["verification"]}
    return document


def network_row(lathe, network, threads, settings):
    arguments, form = model(network)
    return {"model_form": form, **compared(lathe, arguments, threads, settings)}


def batch_row(lathe, batch, threads, settings):
    arguments, form = model("resnet50", batch)
    return {"model_form": form, "batch": batch, **compared(lathe, arguments, threads, settings)}


def bf16Row(lathe, network, threads, settings):
    """Operands rounded to bf16 beside our own fp32. "unable" where this CPU has no products of bf16, which does not count as a failure."""
    arguments, form = model(network)
    if reason := verified(lathe, arguments, threads):
        return {"failure": reason}
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        package = os.path.join(folder, "fp32.lathe")
        made = subprocess.run([lathe, "compile", *arguments, "--threads", str(threads), "-o", package], capture_output=True, text=True)
        if made.returncode:
            return {"failure": (made.stderr.strip().splitlines() or ["compile failed"])[-1]}
        row = compared(lathe, [*arguments, "--precision", "bf16"], threads, settings, package)
    if "avx512bf16" in row.get("failure", ""):
        return {"unable": row["failure"]}
    if "peers" in row:
        row["relative_l2"] = max(output["relative_l2"] for output in row["peers"][0]["outputs"])
    return {"model_form": form, **row}


def field(number, value):
    """A field of a protobuf message."""
    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def nothing():
    """An ONNX file with one Relu on one element, to measure the memory of a process without a model."""
    port = lambda name: field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 1)))))
    node = field(1, "x") + field(2, "y") + field(4, "Relu")
    return field(1, 8) + field(8, field(2, 13)) + field(7, field(1, node) + field(2, "g") + field(11, port("x")) + field(12, port("y")))


class Failed(Exception):
    """A failure with the last line that a command printed."""


def must(lathe, *arguments):
    code, document, line = run(lathe, *arguments)
    if code:
        raise Failed(line)
    return document


def memory_row(lathe, network):
    """Largest resident sets: of `lathe run F.lathe`, compiled for speed and with --memory small, and of ONNX Runtime's runner, each
    with one run; beside what the package needs. network None: of a model that computes nothing."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        if network:
            arguments, form = model(network)
        else:
            arguments, form = [os.path.join(folder, "nothing.onnx")], "nothing"
            pathlib.Path(arguments[0]).write_bytes(nothing())
        row = {"model_form": form}
        try:
            for memory in ("any", "small"):
                package = os.path.join(folder, memory + ".lathe")
                row["source_bytes"] = must(lathe, "compile", *arguments, "-o", package, "--memory", memory)["source_constant_bytes"]
                needs = must(lathe, "bench", package, "--repetitions", "1", "--warm-up", "0", "--no-store")
                ran = must(lathe, "run", package, "--fill", "random")
                row[memory] = {"peak_rss_bytes": ran["peak_rss_bytes"],
                               **{key: needs[key] for key in ("constant_bytes", "arena_bytes", "live_bytes", "scratch_bytes")}}
            beside = must(lathe, "compare", *arguments, "--with", "onnxruntime", "--check-only", "--no-store")
            row["onnxruntime"] = {"peak_rss_bytes": beside["sides"][1]["peak_rss_bytes"]}
        except Failed as failed:
            return {"failure": str(failed)}
        return row


def prediction_row(lathe, network, threads):
    """The profile of the network: times and predictions of its kernels. Verifies the package first."""
    arguments, form = model(network)
    code, document, line = run(lathe, "profile", *arguments, "--threads", str(threads), "--no-store")
    return {"model_form": form, **document} if code == 0 and document else {"failure": line}


def write_whole(path, text):
    """Writes a file as a whole or not at all."""
    part = path.with_suffix(".part%d" % os.getpid())
    part.write_text(text)
    part.rename(path)


class Rows:
    """One JSON file per row. Files of another program, or of other settings of the same row, do not count."""

    def __init__(self, program, folder=FOLDER):
        folder.mkdir(parents=True, exist_ok=True)
        self.program, self.folder = program, folder

    def get(self, name, settings):
        file = self.folder / (name + ".json")
        if not file.exists():
            return None
        try:
            row = json.loads(file.read_text())
        except ValueError:
            return None
        return row if row.get("program") == self.program and row.get("settings") == settings and "failure" not in row else None

    def put(self, name, settings, row):
        row = {**row, "program": self.program, "commit": commit(), "settings": settings, "finished": datetime.datetime.now().isoformat(timespec="seconds")}
        write_whole(self.folder / (name + ".json"), json.dumps(row))


def convolutions(lathe, settings, program, minutes):
    """-> (rows left, a failure or "")"""
    log = FOLDER / "convolutions.jsonl"
    stamp = {"program": program, "seconds": settings.seconds}
    kept = FOLDER / "convolutions.stamp"
    if not kept.exists() or json.loads(kept.read_text()) != stamp:
        log.unlink(missing_ok=True)
        kept.write_text(json.dumps(stamp))
    problems = os.environ.get("LATHE_TEST_DATA", str(ROOT.parent / "shared")) + "/problems/conv2d.csv"
    arguments = ["ops", "bench", "conv2d", "--problems", problems, "--suite", ",".join(settings.suites), "--provider", PROVIDERS,
                 "--threads", ",".join(map(str, settings.threads)), "--max-seconds", str(settings.seconds / 20), "--log", str(log),
                 "--store", str(settings.store)]
    if minutes is not None:
        arguments += ["--max-minutes", "%.3f" % max(minutes, 0.001)]
    code, document, line = run(lathe, *arguments)
    if not document:
        print("convolutions: " + line, flush=True)
        return 0, line
    document["finished"] = datetime.datetime.now().isoformat(timespec="seconds")
    document["commit"] = commit()
    (FOLDER / "convolutions.json").write_text(json.dumps(document))
    for summary in document["summaries"]:
        if summary["kind"] == "all":
            mean = summary["geometric_mean"]  # none where no row has both times
            said = "no ratio to %s" % summary["peer"] if mean is None else "%.3f times as fast as %s" % (mean, summary["peer"])
            print("convolutions, %d threads: %d rows, %s" % (summary["threads"], summary["rows"], said), flush=True)
    return document["left"], "" if code == 0 else line


def tasks_of(lathe, settings):
    """-> [(name, key of the stored row, function that measures it)]"""
    tasks = []
    for threads in settings.threads:
        both = {"seconds": settings.seconds}
        if "networks" in settings.parts:
            tasks += [("network-%s-%d" % (network.replace(":", "-"), threads), both,
                       lambda network=network, threads=threads: network_row(lathe, network, threads, settings)) for network in settings.networks]
        if "batch" in settings.parts:
            tasks += [("batch-%d-%d" % (batch, threads), both, lambda batch=batch, threads=threads: batch_row(lathe, batch, threads, settings))
                      for batch in BATCHES]
        if "bf16" in settings.parts:
            tasks += [("bf16-%s-%d" % (network, threads), both, lambda network=network, threads=threads: bf16Row(lathe, network, threads, settings))
                      for network in goals.BF16]
        if "predictions" in settings.parts:
            tasks += [("predictions-%s-%d" % (network.replace(":", "-"), threads), {},
                       lambda network=network, threads=threads: prediction_row(lathe, network, threads)) for network in settings.networks]
    if "memory" in settings.parts:
        tasks.append(("memory", {}, lambda: memory_row(lathe, None)))
        tasks += [("memory-" + network.replace(":", "-"), {}, lambda network=network: memory_row(lathe, network)) for network in settings.networks]
    return tasks


def measure(lathe, settings, program):
    """-> (rows left, rows that failed)"""
    rows, tasks = Rows(program), tasks_of(lathe, settings)
    began, left, failed = time.monotonic(), 0, 0
    for number, (name, kept, work) in enumerate(tasks):
        if rows.get(name, kept):
            continue
        if settings.minutes and time.monotonic() - began > 60 * settings.minutes:
            left += 1
            continue
        print("[%d/%d] %s" % (number + 1, len(tasks), name), end=" ", flush=True)
        try:
            row = work()
        except RuntimeError as error:
            row = {"failure": str(error)}
        rows.put(name, kept, row)
        failed += "failure" in row
        print(row.get("failure") or performance_page.one_line(row), flush=True)
    if "convolutions" in settings.parts:
        minutes = settings.minutes - (time.monotonic() - began) / 60 if settings.minutes else None
        more, failure = convolutions(lathe, settings, program, minutes)
        left += more
        failed += bool(failure)
    return left, failed


def main():
    arguments = [word for word in sys.argv[1:] if word not in ("--page-only", "--redraw")]
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    if "--redraw" in sys.argv:
        redraw.redraw(arguments[0], ROOT / "docs")
        return 0
    lathe, settings = arguments[0], Settings()
    program = fingerprint(lathe)
    FOLDER.mkdir(parents=True, exist_ok=True)
    settings.store = FOLDER / ("samples-%s.db" % program)  # of this program only
    failed = 0
    if "--page-only" not in sys.argv:
        try:
            left, failed = measure(lathe, settings, program)
        except KeyboardInterrupt:
            print("\ninterrupted: finished rows are kept, the same command goes on", file=sys.stderr)
            return 130
        if left:
            print("%d rows left: the same command goes on" % left)
            return 3
    page = performance_page.write(ROOT, FOLDER, lathe, program, settings, BATCHES)
    readme_table.write(ROOT)
    predictions_page.write(ROOT, lathe, settings, {(network, threads): performance_page.load(FOLDER, program, "predictions-%s-%d" % (network.replace(":", "-"), threads))
                                                   for network in settings.networks for threads in settings.threads})
    print("%s is written" % page)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
