#!/usr/bin/python3
"""Networks of open sizes as PyTorch exports them: one package each, at several sizes, beside ONNX Runtime.

usage: dynamic_networks.py LATHE [--networks LIST] [--threads 1,2] [--starts N] [--seconds S] [--check-only]
                           [--write PAGE] [--max-minutes M] [--anew]

Every network of export_dynamic.py is compiled once, without any extent given; the package then runs at all sizes of the
network in one process of `lathe-runner`. A row is a network at a size. It passes when all outputs agree with ONNX
Runtime: relative L2 <= 1e-4 and max |difference| <= 1e-3 of max |value|. Detections agree as sets: every detection of ONNX Runtime
has one of ours of the same class, with score and box within 1e-3 of the largest, so that ties of scores may come in any
order; the relative L2 of all together is at most 1e-3, because a detector's weights are random and amplify rounding. References that the package calls are counted for each network.

Rows that pass are timed in turns: the sides change places after every repetition, the idle side is stopped, and both are
started --starts times (default 2) for --seconds (default 4) each. The time of a row is the median over all repetitions.

Rows are kept in build/bench/dynamic.json while the program is the same: an interrupted run goes on; --anew forgets them.
--write puts the table between the marks of PAGE. Exit code 1 where a row fails, 3 when rows are left, 77 without PyTorch or
ONNX Runtime.
"""
import argparse
import datetime
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

import marks
import measuring
import torch_models
from bench import fingerprint, run, write_whole

os.environ["LATHE_NO_RECORDS"] = "1"  # the same kernels on every machine
KEPT = pathlib.Path(__file__).resolve().parent.parent / "build" / "bench" / "dynamic.json"
BEGIN = "<!-- bench/dynamic_networks.py writes from here -->"
RELATIVE, MAXIMUM, DETECTION = 1e-4, 1e-3, 1e-3

IMAGES = [(batch, 3, 224, 224) for batch in (1, 3, 8, 17)]
SIZES = [(1, 3, height, width) for height, width in ((224, 224), (161, 203), (256, 384), (320, 240), (397, 301))]
PICTURES = [(3, 320, 320), (3, 241, 427), (3, 480, 360)]
SHAPES = {"resnet18": IMAGES, "vit_b_16": IMAGES, "swin_t": IMAGES,
          "transformer_encoder": [(batch, 64, 512) for batch in (1, 3, 8, 17)], "lstm": [(batch, 32, 128) for batch in (1, 3, 8, 17)],
          "deeplabv3_mobilenet_v3_large": SIZES, "fcn_resnet50": SIZES,
          "fasterrcnn_mobilenet_v3_large_320_fpn": PICTURES, "ssdlite320_mobilenet_v3_large": PICTURES,
          "retinanet_resnet50_fpn": PICTURES, "maskrcnn_resnet50_fpn": PICTURES}


def size(shape):
    return "x".join(map(str, shape))


def picture(shape):
    """Seeded stand-ins for photographs, smooth but for a little grain: detectors resize images, and the positions that runtimes
    round to float matter where neighbouring pixels differ a lot. Sequences of features are noise alone."""
    generator = numpy.random.default_rng(list(shape))
    data = generator.standard_normal(shape)
    if len(shape) < 4 and shape not in PICTURES:
        return data.astype(numpy.float32)
    coarse = generator.standard_normal((*shape[:-2], 9, 9))
    between = lambda count: numpy.maximum(0, 1 - numpy.abs(numpy.linspace(0, 8, count)[:, None] - numpy.arange(9)))
    data = 0.02 * data + between(shape[-2]) @ coarse @ between(shape[-1]).T
    return (data * 0.25 + 0.5 if len(shape) == 3 else data).astype(numpy.float32)


class Failure(Exception):
    pass


class Side:
    """A runner with a model, as docs/runner-protocol.md describes it."""

    def __init__(self, program, model, threads):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.name = "lathe" if model.endswith(".lathe") else "onnxruntime"
        self.ask(do="hello", protocol=1)
        self.ports = self.ask(do="load", path=os.path.abspath(model), threads=threads)["outputs"]

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failure("%s ended with code %s: %s" % (self.name, self.process.wait(), self.process.stderr.read()[-300:].strip()))
        answer = json.loads(line)
        if not answer["ok"]:
            raise Failure("%s: %s" % (self.name, answer["error"]))
        return answer

    def outputs(self, file):
        self.ask(do="inputs", files={"data": file})
        with tempfile.TemporaryDirectory() as folder:
            paths = self.ask(do="run", directory=folder)["outputs"]
            return [numpy.load(paths[port["name"]]) for port in self.ports]

    def seconds(self):
        """One timed run, while every other side is stopped."""
        return self.ask(do="time", warmup=0, repetitions=1)["samples_ns"][0] * 1e-9

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        self.resume()
        self.process.kill()
        self.process.wait()


def difference(ours, theirs):
    """-> (relative L2, largest |difference| over the largest |value|). Throws Failure if extents differ."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise Failure("%s %s, ONNX Runtime has %s %s" % (ours.dtype, list(ours.shape), theirs.dtype, list(theirs.shape)))
    if not (numpy.isfinite(ours).all() and numpy.isfinite(theirs).all()):
        raise Failure("an output is not finite")
    ours, theirs = ours.astype(numpy.float64), theirs.astype(numpy.float64)
    norm, largest = numpy.linalg.norm(theirs), numpy.abs(theirs).max(initial=0)
    if ours.size and not largest:
        raise Failure("an output is all zero")
    apart = ours - theirs
    return (float(numpy.linalg.norm(apart) / norm), float(numpy.abs(apart).max() / largest)) if ours.size else (0.0, 0.0)


def order(ours, theirs):
    """For each of their detections, the index of ours. Throws Failure if there is none."""
    (boxes, scores, labels), (their_boxes, their_scores, their_labels) = ours[:3], theirs[:3]
    if len(scores) != len(their_scores):
        raise Failure("%d detections, ONNX Runtime has %d" % (len(scores), len(their_scores)))
    near, far = DETECTION * their_scores.max(initial=1e-30), DETECTION * numpy.abs(their_boxes).max(initial=1e-30)
    free, chosen = numpy.ones(len(scores), bool), []
    for box, score, label in zip(their_boxes, their_scores, their_labels):
        apart = numpy.abs(boxes - box).max(axis=1)
        apart[~free | (labels != label) | (numpy.abs(scores - score) > near)] = numpy.inf
        best = int(apart.argmin())
        if apart[best] > far:
            raise Failure("no detection like %s of class %d, score %.6f" % (numpy.round(box, 2).tolist(), label, score))
        free[best] = False
        chosen.append(best)
    return chosen


def agreement(ours, theirs):
    """-> {relative_l2, max_difference} over all outputs, and {detections} of a detector. Throws Failure."""
    row = {}
    if len(theirs) > 1:
        chosen = order(ours, theirs)
        row["detections"] = len(chosen)
        ours = [array[chosen] for array in ours]
    pairs = [difference(*pair) for pair in zip(ours, theirs)]
    row["relative_l2"], row["max_difference"] = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    if row["relative_l2"] > (DETECTION if len(theirs) > 1 else RELATIVE) or row["max_difference"] > MAXIMUM:
        raise Failure("relative L2 %.1e, max |difference| %.1e" % (row["relative_l2"], row["max_difference"]))
    return row


def timed(sides, file, seconds):
    """Samples of both sides in seconds, in turns."""
    for side in sides:
        side.ask(do="inputs", files={"data": file})
        side.seconds()
        side.stop()
    samples, began = [[], []], time.monotonic()
    while time.monotonic() - began < seconds or len(samples[0]) < 3:
        for index in (0, 1) if len(samples[0]) % 2 else (1, 0):
            sides[index].resume()
            samples[index].append(sides[index].seconds())
            sides[index].stop()
    for side in sides:
        side.resume()
    return samples


class Network:
    """A network with its package and both runners' programs."""

    def __init__(self, lathe, name):
        self.lathe, self.name = lathe, name
        self.model = torch_models.exported_dynamic(name)
        self.package = str(pathlib.Path(self.model).with_suffix(".lathe"))
        self.bin = pathlib.Path(lathe).resolve().parent
        self.facts = {}

    def compile(self):
        code, checked, line = run(self.lathe, "check", self.model)
        if code:
            raise Failure("check: " + line)
        began = time.monotonic()
        code, _, line = run(self.lathe, "compile", self.model, "-o", self.package)
        if code:
            raise Failure("compile: " + line)
        self.facts = {"references": sorted({use["op"] for use in checked["references"]}), "calls": len(checked["references"]),
                      "kernels": checked["kernels"], "compile_seconds": time.monotonic() - began}

    def start(self, threads):
        return [Side(str(self.bin / "lathe-runner"), self.package, threads),
                Side(str(self.bin / "lathe-runner-onnxruntime"), self.model, threads)]

    def row(self, shape, options):
        """Checks, then times. -> a row; a failure is a text in it."""
        row = {"network": self.name, "shape": size(shape), "failure": "", "times": {}, "measured": str(datetime.date.today()),
               "commit": measuring.commit(), **self.facts}
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            numpy.save(file.name, picture(shape))
            for threads in options.threads:
                samples = [[], []]
                for number in range(1 if options.check_only else options.starts):
                    sides = []
                    try:
                        sides = self.start(threads)
                        if number == 0:
                            row.update(agreement(*[side.outputs(file.name) for side in sides]))
                        if not options.check_only:
                            samples = [a + b for a, b in zip(samples, timed(sides, file.name, options.seconds))]
                    except Failure as failure:
                        row["failure"] = str(failure)
                        return row
                    finally:
                        for side in sides:
                            side.close()
                if samples[0]:
                    row["times"][str(threads)] = [statistics.median(side) for side in samples]
        return row


def table(rows, options):
    text = "| network | input | detections | relative L2 | reference calls |"
    text += "".join(" Lathe, %d thread%s, ms | ONNX Runtime, ms | ratio |" % (count, "s" * (count > 1)) for count in options.threads) + "\n"
    text += "|---|---|---|---|---|" + "---|---|---|" * len(options.threads) + "\n"
    for row in rows:
        text += "| %s | %s | %s | %s | %s |" % (row["network"], row["shape"], row.get("detections", ""),
                                                "%.1e" % row["relative_l2"] if not row["failure"] else row["failure"].replace("|", "/"), row.get("calls", ""))
        for count in options.threads:
            pair = row["times"].get(str(count))
            text += " %.2f | %.2f | %.2f |" % (pair[0] * 1e3, pair[1] * 1e3, pair[1] / pair[0]) if pair else " - | - | - |"
        text += "\n"
    used = {row["network"]: row["references"] for row in rows if row.get("references")}
    text += "\nA ratio above 1 says that Lathe is faster. %s; %s; commit %s.\n" % (
        measuring.machine(), " to ".join(sorted({min(row["measured"] for row in rows), max(row["measured"] for row in rows)})),
        " and ".join(sorted({row["commit"] for row in rows})))
    if used:
        text += "\nReferences that the packages call:\n\n" + "".join("- %s: %s\n" % (name, ", ".join(ops)) for name, ops in used.items())
    return text


def measured(options, wanted, rows, keep):
    """Adds missing rows to `rows`. -> the number of rows that are left"""
    began, left = time.monotonic(), [key for key in wanted if key not in rows]
    network, failure = None, ""
    for number, (name, shape) in enumerate(list(left)):
        if options.max_minutes and time.monotonic() - began > 60 * options.max_minutes:
            return len(left) - number
        if network is None or network.name != name:
            network, failure = Network(options.lathe, name), ""
            try:
                network.compile()
            except Failure as problem:
                failure = str(problem)
        row = {"network": name, "shape": shape, "failure": failure, "times": {}, "measured": str(datetime.date.today()), "commit": measuring.commit()}
        rows[name, shape] = row if failure else network.row(tuple(map(int, shape.split("x"))), options)
        keep()
        row = rows[name, shape]
        times = "".join("  %s: %.2f ms, ONNX Runtime %.2f ms" % (count, pair[0] * 1e3, pair[1] * 1e3) for count, pair in row["times"].items())
        print("%d of %d  %s %s: %s%s" % (number + 1, len(left), name, shape, row["failure"] or "agrees", times), file=sys.stderr, flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lathe")
    parser.add_argument("--networks", default=",".join(SHAPES), help="names, separated by commas (default: all)")
    parser.add_argument("--threads", default="1,2", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--check-only", action="store_true")
    parser.add_argument("--write", metavar="PAGE")
    parser.add_argument("--max-minutes", type=float, default=0, help="after which no new row is begun (default: no limit)")
    parser.add_argument("--anew", action="store_true")
    options = parser.parse_args()

    names = options.networks.split(",")
    if unknown := [name for name in names if name not in SHAPES]:
        parser.error("unknown network '%s'; there are %s" % (unknown[0], ", ".join(SHAPES)))
    state = [fingerprint(options.lathe), options.threads, options.starts, options.seconds, options.check_only]
    kept = json.loads(KEPT.read_text()) if KEPT.exists() and not options.anew else {}
    rows = {(row["network"], row["shape"]): row for row in kept.get("rows", [])} if kept.get("state") == state else {}
    wanted = [(name, size(shape)) for name in names for shape in SHAPES[name]]

    def keep():
        write_whole(KEPT, json.dumps({"state": state, "rows": list(rows.values())}, indent=1))

    KEPT.parent.mkdir(parents=True, exist_ok=True)
    try:
        left = measured(options, wanted, rows, keep)
    except torch_models.NoTorch as error:
        print("dynamic_networks.py: %s" % error, file=sys.stderr)
        return 77
    chosen = [rows[key] for key in wanted if key in rows]
    text = table(chosen, options) if chosen else ""
    print(text)
    if left:
        print("%d of %d rows are left: the same command goes on" % (left, len(wanted)))
        return 3
    if options.write:
        marks.write(options.write, BEGIN, text)
    return 1 if any(row["failure"] for row in chosen) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("dynamic_networks.py: interrupted; the same command goes on")
