#!/usr/bin/python3
"""Measures networks for `lathe predict` on this machine, writes the archive that it learns from, and says how good it is.

usage: predict_eval.py LATHE STUDY FOLDER STEP... [--networks N] [--families F,...] [--batches 1,4,8] [--threads 1,2]
                       [--seconds S] [--jobs N] [--named FAMILY=MODEL ...] [--no-zoo] [--out FILE] [--page FILE] [--busy]

Steps, each of which goes on where it was interrupted:

  prepare   writes the networks of predict_networks.py as ONNX files below FOLDER, compiles each for every number of threads, and
            verifies it. Measures nothing, so other programs may run; --jobs processes at a time (default: all processors).
  measure   times every verified package: `lathe bench` for S seconds at most (default 0.4), and 20 runs of `lathe profile`. One
            process at a time. Rows that other programs have disturbed (more than 0.15 processors) are measured again, three times
            at most. Needs a quiet machine.
  archive   writes what was measured to --out (default: the archive of this kind of machine in data/predictions). --busy: takes
            disturbed rows, too, for trials.
  evaluate  runs `study latency` on that file, and writes what it prints to --page (default: predicted-latencies.md in docs/notes).

--networks: of each family (17). A full run has about 1270 rows: `prepare` takes about a second each, `measure` 0.7 s each.
The networks of the zoo and those of --named take no part in any fit: they are predicted without networks of their family.
STUDY is the program `study` (dev/bench/).
"""
import argparse
import concurrent.futures
import datetime
import gzip
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

import predict_networks

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_OTHERS = 0.15  # processors
ZOO = {"vgg": ["alexnet", "vgg16", "vgg19"], "resnet": ["resnet18", "resnet34", "resnet50", "resnet101"],
       "densenet": ["densenet121"], "inception": ["googlenet", "inception_v2", "inception_v3"], "squeezenet": ["squeezenet"],
       "mobilenet": ["mobilenet_v1", "mobilenet_v2", "mobilenet_v3", "efficientnet_b0", "shufflenet_v2"],
       "transformer": ["vit_b_16", "bert_base", "gpt2_small"], "unet": ["unet"], "recurrent": ["lstm"]}


class Row:
    """A network with a batch and a number of threads."""

    def __init__(self, settings, name, family, batch, threads, model, held_out):
        self.name, self.family, self.batch, self.threads, self.model, self.held_out = name, family, batch, threads, model, held_out
        self.key = f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}-b{batch}-t{threads}"
        self.file = settings.folder / "rows" / (self.key + ".json")
        self.package = settings.folder / "packages" / (self.key + ".lathe")

    def state(self):
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def keep(self, state):
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(state))
        part.rename(self.file)
        return state


class Progress:
    def __init__(self, what, count):
        self.what, self.count, self.done, self.start = what, count, 0, time.monotonic()

    def step(self):
        self.done += 1
        terminal, last = sys.stderr.isatty(), self.done == self.count
        if not terminal and self.done % 50 and not last:
            return
        left = (time.monotonic() - self.start) / self.done * (self.count - self.done)
        line = f"{self.what}: {self.done} of {self.count}, about {left / 60:.0f} min left"
        print(f"\r{line}   " if terminal else line, end="" if terminal and not last else "\n", file=sys.stderr, flush=True)


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def lathe_json(settings, *arguments):
    """The JSON of a verb, or None with the message."""
    done = run(settings.lathe, *arguments, "--json", "-")
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, (done.stderr.strip().splitlines() or ["failed"])[-1])


def rows_of(settings):
    rows = []
    for number in range(settings.networks):
        for family in settings.families:
            for batch in settings.batches:
                path = settings.folder / "models" / f"{family}{number}-b{batch}.onnx"
                rows += [Row(settings, f"{family}{number}", family, batch, threads, path, False) for threads in settings.threads]
    named = [(family, f"zoo:{name}") for family, names in ZOO.items() for name in names if not settings.no_zoo]
    named += [tuple(text.split("=", 1)) for text in settings.named]
    for family, model in named:
        rows += [Row(settings, model.rpartition("/")[2], family, 1, threads, model, True) for threads in settings.threads]
    return rows


def prepare_row(settings, row):
    if not row.held_out:
        number = int(row.name[len(row.family):])
        own = row.model.with_suffix(f".{row.threads}.part")  # another process may write the same network
        predict_networks.write(str(own), row.family, number, row.batch)
        own.rename(row.model)
    made = run(settings.lathe, "compile", row.model, "-o", row.package, "--threads", row.threads, "--no-records", "--quiet")
    if made.returncode:
        return row.keep({"dropped": f"does not compile: {made.stderr.strip()}"})
    verdict, reason = lathe_json(settings, "verify", row.model, "--package", row.package, "--threads", row.threads, "--seeds", "1")
    if verdict is None:
        row.package.unlink()
        return row.keep({"dropped": f"is not verified: {reason}"})
    return row.keep({"prepared": True})


def prepare(settings, rows):
    for part in ("rows", "packages", "models"):
        (settings.folder / part).mkdir(parents=True, exist_ok=True)
    left = [row for row in rows if not row.state()]
    progress = Progress("prepare", len(left))
    with concurrent.futures.ThreadPoolExecutor(settings.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(prepare_row, settings, row) for row in left]):
            done.result()
            progress.step()
    report_dropped(rows)


def report_dropped(rows):
    for row in rows:
        if "dropped" in row.state():
            print(f"{row.key}: {row.state()['dropped']}")


def busy_seconds():
    """Processor time that all programs have used, and that the finished children of this one have used."""
    fields = [int(word) for word in open("/proc/stat").readline().split()[1:]]
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    all_busy = sum(fields[:3]) + sum(fields[5:8])  # without idle and waiting
    return all_busy / os.sysconf("SC_CLK_TCK"), own.ru_utime + own.ru_stime


def measure_once(settings, row):
    """The measured row, or {"dropped": reason}."""
    bench, reason = lathe_json(settings, "bench", row.package, "--threads", row.threads, "--max-seconds", settings.seconds, "--no-store")
    if bench is None or not bench["verified"]:
        return {"dropped": f"bench: {reason or bench['verification']}"}
    profile, reason = lathe_json(settings, "profile", row.package, "--threads", row.threads, "--repetitions", "20", "--no-store")
    if profile is None or not profile["verified"]:
        return {"dropped": f"profile: {reason or profile['verification']}"}
    kernels = []
    for one in profile["rows"]:
        if one["kind"] != "kernel" or not one["predicted_cycles"]:
            return {"dropped": f"nobody predicts {one['kind']} {one['name']}"}
        kernels.append([one["schedule"].partition("/")[0], *(round_to(one[key]) for key in ("flops", "bytes", "predicted_cycles")),
                        round_to(one["time_ms"] * 1e-3), round_to(one["constant_bytes"])])
    return {"seconds": bench["wall"]["median_ms"] * 1e-3, "kernels": kernels, "target": bench["target"]}


def round_to(number, digits=5):
    return float(f"{number:.{digits}g}")


def measure_row(settings, row):
    for attempt in range(3):
        begin, (all_before, own_before) = time.monotonic(), busy_seconds()
        state = measure_once(settings, row)
        all_after, own_after = busy_seconds()
        state["others"] = (all_after - all_before - (own_after - own_before)) / (time.monotonic() - begin)
        if "dropped" in state or state["others"] <= MOST_OTHERS or settings.busy:
            break
    row.keep(state)
    if "dropped" in state or state["others"] <= MOST_OTHERS or settings.busy:
        row.package.unlink()  # packages of a thousand networks take gigabytes


def measured(settings, row):
    state = row.state()
    return "seconds" in state and (settings.busy or state["others"] <= MOST_OTHERS)


def measure(settings, rows):
    run(settings.lathe, "machine")  # the clock is known beforehand, not from the runs
    left = [row for row in rows if row.package.exists() and "dropped" not in row.state() and not measured(settings, row)]
    progress = Progress("measure", len(left))
    for row in left:
        measure_row(settings, row)
        progress.step()
    report_dropped(rows)
    disturbed = [row.key for row in rows if "seconds" in row.state() and not measured(settings, row)]
    if disturbed:
        print(f"disturbed by other programs, measure again: {', '.join(disturbed)}")


def archive(settings, rows):
    about, reason = lathe_json(settings, "predict", "zoo:alexnet", "--no-records")
    machine, why = lathe_json(settings, "machine")
    if about is None or machine is None:
        sys.exit(f"predict_eval.py: {reason or why}")
    out = pathlib.Path(settings.out or ROOT / "data" / "predictions" / about["points_file"])
    version = run(settings.lathe, "--version").stdout.strip()
    header = {"lathe_predictions": 1, "machine": about["machine"], "vector_bits": about["vector_bits"], "version": version,
              "measured": datetime.date.today().isoformat(), "facts": machine["facts"]}
    lines = [header]
    for row in rows:
        if not measured(settings, row):
            continue
        state = row.state()
        line = {"network": row.name, "family": row.family, "batch": row.batch, "threads": row.threads,
                "seconds": round_to(state["seconds"]), "kernels": state["kernels"]}
        lines.append(line | ({"held_out": True} if row.held_out else {}))
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(out, "wb") as file, gzip.GzipFile("", "wb", mtime=0, fileobj=file) as packed:  # equal content, equal bytes
        packed.write("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode())
    print(f"{out}: {len(lines) - 1} measured runs of {len({line['network'] for line in lines[1:]})} networks")
    return out


def evaluate(settings):
    out = settings.out
    if not out:
        about, _ = lathe_json(settings, "predict", "zoo:alexnet", "--no-records")
        out = ROOT / "data" / "predictions" / about["points_file"]
    done = run(settings.study, "latency", out)
    if done.returncode:
        sys.exit(done.stderr)
    print(done.stdout)
    if settings.page != "-":
        page = pathlib.Path(settings.page or ROOT / "docs" / "notes" / "predicted-latencies.md")
        page.write_text("<!-- Written by dev/predict_eval.py; do not edit. -->\n" + done.stdout)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("lathe")
    parser.add_argument("study")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("steps", nargs="+", choices=["prepare", "measure", "archive", "evaluate"])
    parser.add_argument("--networks", type=int, default=17)
    numbers = lambda text: [int(word) for word in text.split(",")]
    parser.add_argument("--families", type=lambda text: text.split(","), default=list(predict_networks.FAMILIES))
    parser.add_argument("--batches", type=numbers, default=[1, 4, 8])
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--named", nargs="*", default=[])
    parser.add_argument("--no-zoo", action="store_true")
    parser.add_argument("--out", default="")
    parser.add_argument("--page", default="")
    parser.add_argument("--busy", action="store_true")
    settings = parser.parse_args()
    settings.lathe, settings.study = os.path.abspath(settings.lathe), os.path.abspath(settings.study)
    for family in settings.families:
        if family not in predict_networks.FAMILIES:
            sys.exit(f"predict_eval.py: --families {family}: expected some of {', '.join(predict_networks.FAMILIES)}")
    rows = rows_of(settings)
    for step in settings.steps:
        if step == "evaluate":
            evaluate(settings)
        else:
            {"prepare": prepare, "measure": measure, "archive": archive}[step](settings, rows)


if __name__ == "__main__":
    main()
