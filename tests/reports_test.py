#!/usr/bin/env python3
"""Cases after public bug reports (LATHE_TEST_DATA/reports) on every road of a model:  reports_test.py LATHE SOURCE BUILD CASES [--failed] [PATTERN]

Every case is a folder with a model, inputs and the outputs that NumPy computed from the specification. It is run at -O 0 and -O 3, by
the references, with --exact-math, as package and as graph text, exported to ONNX and loaded back, staged as Python and built again, and
judged by `verify`; an ONNX file also runs with all extents of its inputs open. A road fails where a value, a shape or a name differs, or
where Lathe refuses the model, but open extents may be refused with the node and a reason.

--failed   only the cases of tests/reports.txt, which an earlier version got wrong or refused
PATTERN    only the cases whose names contain it

Cases that the specification leaves open ("ambiguous" in their meta.json) are run and do not count. Exit code 77 without the cases.
"""
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from onnx_writer import varint

LATHE, SOURCE, BUILD, CASES = sys.argv[1:5]
WORDS = sys.argv[5:]
PATTERN = "".join(word for word in WORDS if word != "--failed")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.join(SOURCE, "python"), "PYTHONDONTWRITEBYTECODE": "1",
               "LATHE_LIBRARY_DIR": os.path.join(BUILD, "lib")}


# What Lathe refuses with a reason, until it does not; docs/onnx.md, docs/control-flow.md and docs/tensorflow.md have the limits.
REFUSED = {
    # A limit of Lathe: the value of input 'c' decides whether the output has rank 0 or rank 2. Lathe fixes the rank of every value when
    # it compiles a model.
    "if_ranks_differ_False": "its branches give an output of rank 0 and 2",
    # A limit of the file: it ends with the nodes 't' and 'f' of the branches. No node has the name of the output 'y', and no Merge says
    # which Switch belongs to which result.
    "tf_cond_v1_True": "a part of control flow that is no branch and no while loop",
}
# Flags that a case needs to be read. An input with a default value that the case overrides: a package or a file has it as an input only
# where it is named. An input without a shape: the user states it, as the error says.
FLAGS = {"min_default_input": ["--override", "s"], "dyn_rank_unknown": ["--shape", "x=3x4"]}


class Refused(Exception):
    pass


def lathe(*arguments, codes=(0,)):
    return command(LATHE, *arguments, codes=codes)


def command(*words, codes=(0,)):
    try:
        done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        raise Refused("more than 300 s") from None
    text = (done.stdout + done.stderr).decode(errors="replace").strip()
    if done.returncode not in codes:
        raise Refused(f"exit code {done.returncode}: {text[-300:]}")
    return text


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.name = os.path.basename(folder)
        with open(os.path.join(folder, "meta.json")) as file:
            self.meta = json.load(file)
        self.model = os.path.join(folder, self.meta["model"])
        self.options = self.meta["opts"]
        self.inputs = []
        for i, name in enumerate(self.meta["inputs"]):
            self.inputs += ["-i", f"{name}={folder}/in{i}.npy"]
        self.flags = FLAGS.get(self.name, [])

    @property
    def ambiguous(self):
        return "ambiguous" in self.options

    def outputs(self, temporary, model, *flags):
        """Runs the model (a file of any kind) on the inputs, and returns what is wrong with its outputs."""
        path = os.path.join(temporary, "outputs.npz")
        lathe("run", model, *self.inputs, "-o", path, "--quiet", *flags)
        with np.load(path) as arrays:
            return self.compare({name: arrays[name] for name in arrays.files})

    def compare(self, arrays):
        wrong = []
        for i, name in enumerate(self.meta["outputs"]):
            expected = np.load(f"{self.folder}/exp{i}.npy")
            got = arrays.get(name)
            if got is None and len(arrays) == len(self.meta["outputs"]):
                got = list(arrays.values())[i]
                if name is not None and self.meta["model"] != "model.h5":  # weights of HDF5 do not say what outputs are called
                    wrong.append(f"output '{name}' has another name")
            problem = "is missing" if got is None else self.difference(got, expected)
            if problem:
                wrong.append(f"output '{name}' {problem}")
        return "; ".join(wrong)

    def difference(self, got, expected):
        if got.shape != expected.shape:
            return f"has shape {got.shape}, expected {expected.shape}"
        if not expected.size:
            return ""
        step = self.options.get("qtol")
        if expected.dtype.kind != "f":
            worst = int(np.abs(got.astype(np.int64) - expected.astype(np.int64)).max()) if step else int((got != expected).any())
            return f"differs by {worst} in {int((got != expected).sum())} of {expected.size}" if worst > (step or 0) else ""
        got, expected = got.astype(float), expected.astype(float)
        finite = np.isfinite(expected)
        if not np.array_equal(got[~finite], expected[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
            return "has NaN or infinity in other places"
        if not finite.any():
            return ""
        largest = np.abs(expected[finite]).max()
        bound = 0.11 * step if step else self.options.get("tol", 1e-4) * max(largest, 1e-30)
        off = np.abs(got - expected)[finite].max()
        return f"is off by {off:.3g} of {largest:.3g}" if off > bound else ""


def run_with(*flags):
    return lambda case, temporary: case.outputs(temporary, case.model, *case.flags, *flags)


def written(suffix, *words):
    """Tests a path of the model through a file that another verb writes."""
    def road(case, temporary):
        path = os.path.join(temporary, "written" + suffix)
        lathe(words[0], case.model, "-o", path, "--quiet", *case.flags, *words[1:])
        return case.outputs(temporary, path)
    return road


def staged(case, temporary):
    source, text = os.path.join(temporary, "net.py"), os.path.join(temporary, "net.mlir")
    lathe("stage", case.model, "-o", source, "--quiet", *case.flags)
    command(sys.executable, source, text)
    return case.outputs(temporary, text)


def fields(data):
    """The fields of a protobuf message: number, wire type, value (bytes of messages and texts)."""
    at = 0

    def number_here():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value
    while at < len(data):
        number, kind = divmod(number_here(), 8)
        if kind == 0:
            yield number, kind, number_here()
        else:
            size = {1: 8, 5: 4}.get(kind) or number_here()
            yield number, kind, data[at:at + size]
            at += size


def message(parts):
    """The bytes of fields that fields() gives."""
    return b"".join(varint(number * 8 + kind) + (varint(value) if kind == 0 else varint(len(value)) * (kind == 2) + value)
                    for number, kind, value in parts)


def with_open_extents(model):
    """The bytes of an ONNX file, whose inputs and outputs have symbols as extents; initializers stay what they are."""
    graph = next(value for number, _, value in fields(model) if number == 7)
    fixed = {value for number, _, tensor in fields(graph) if number == 5 for each, _, value in fields(tensor) if each == 8}
    symbols = itertools.count()

    def changed(data, path):
        if not path:  # a dimension
            return message([(2, 2, b"open%d" % next(symbols))])
        return message([(number, kind, changed(value, path[1:]) if number == path[0] else value) for number, kind, value in fields(data)])

    def value_info(data):
        name = next(value for number, _, value in fields(data) if number == 1)
        return data if name in fixed else changed(data, (2, 1, 2, 1))  # type, tensor type, shape, dimension
    graph = message([(number, kind, value_info(value) if number in (11, 12) else value) for number, kind, value in fields(graph) if number != 13])
    return message([(number, kind, graph if number == 7 else value) for number, kind, value in fields(model)])


# How an error names what it is about.
PLACE = r"(node \d+ '.*' \(\w+, opset \d+\)|not supported: '.*' \(\w+, opset \d+\)|input '.*': expected|input '.*' has no shape)"


def opened(case, temporary):
    """Opens all extents of the inputs: the result is right, or refused with the node and a reason."""
    if not case.model.endswith(".onnx"):
        return ""
    folder = shutil.copytree(os.path.dirname(case.model), os.path.join(temporary, "open"))  # with its external data
    path = os.path.join(folder, os.path.basename(case.model))
    with open(case.model, "rb") as file:
        model = with_open_extents(file.read())
    with open(path, "wb") as file:
        file.write(model)
    try:
        return case.outputs(temporary, path)
    except Refused as refused:
        return "" if re.match(rf"exit code 2: lathe run: {re.escape(path)}: {PLACE}", str(refused)) else str(refused)


def verified(case, _):
    """Outputs that prove nothing (constant, all zero) are mistrusted, with exit code 1. This is fine: the cases are small, and other
    paths judge them."""
    text = lathe("verify", case.model, *case.inputs, "--seeds", "0", *case.flags, codes=(0, 1))
    return "" if re.search("^(verified|not verified: mistrusted)", text, re.M) else text[-300:]


ROADS = {
    "-O 0": run_with("-O", "0"),
    "-O 3": run_with("-O", "3"),
    "--reference": run_with("--reference"),
    "--exact-math": run_with("--exact-math"),
    "package": written(".lathe", "compile"),
    "graph text": written(".mlir", "compile", "--emit", "graph"),
    "export": written(".onnx", "export"),
    "stage": staged,
    "verify": verified,
    "open": opened,
}


def check(case):
    """The roads that fail, with what is wrong, and the number of those that are refused as REFUSED says."""
    failed, refusals = [], 0
    for name, road in ROADS.items():
        with tempfile.TemporaryDirectory() as temporary:
            try:
                wrong = road(case, temporary)
            except Refused as refused:
                wrong = str(refused)
        if wrong and case.name in REFUSED and REFUSED[case.name] in wrong:
            refusals += 1
        elif wrong:
            failed.append((name, wrong))
    if case.name in REFUSED and not refusals:
        failed.append(("all roads", "runs now: take it out of REFUSED"))
    return case, failed, refusals


def cases():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "reports.txt")) as file:
        listed = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    folders = [os.path.join(CASES, part, "cases", name) for part in ("fail", "open")
               for name in sorted(os.listdir(os.path.join(CASES, part, "cases")))]
    names = {os.path.basename(folder) for folder in folders}
    assert listed <= names, f"tests/reports.txt lists cases that do not exist: {sorted(listed - names)}"
    # A case of both parts is one case.
    chosen = {os.path.basename(folder): folder for folder in folders
              if PATTERN in os.path.basename(folder) and ("--failed" not in WORDS or os.path.basename(folder) in listed)}
    return [Case(folder) for folder in chosen.values()]


def main():
    if not os.path.isdir(CASES):
        print(f"skipped: no test data: {CASES} is not there")
        return 77
    chosen = cases()
    with tempfile.TemporaryDirectory() as home:
        ENVIRONMENT.update(XDG_CACHE_HOME=os.path.join(home, "cache"), XDG_DATA_HOME=os.path.join(home, "data"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(check, chosen))
    for case, failed, _ in results:
        for road, wrong in failed:
            print(f"{'ambiguous' if case.ambiguous else 'FAILED'} {case.name}, {road}: {wrong}")
    counted = [(failed, refusals) for case, failed, refusals in results if not case.ambiguous]
    bad = sum(1 for failed, _ in counted if failed)
    refused = sum(1 for failed, refusals in counted if refusals and not failed)
    print(f"{len(counted)} cases on {len(ROADS)} roads ({len(results) - len(counted)} ambiguous ones do not count):")
    print(f"{len(counted) - bad - refused} passed, {bad} failed, {refused} refused on some road with the reason in REFUSED")
    return 1 if bad else 0


sys.exit(main())
