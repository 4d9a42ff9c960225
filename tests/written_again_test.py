"""Exported and staged files come back: operators of every format.

usage: written_again_test.py PROGRAM LATHE SOURCE-FOLDER BUILD-FOLDER RULES FORMAT [--all] TEST-PROGRAM|FOLDER...

FORMAT is tflite or tensorflow, of which the test programs of the importer write their models (LATHE_TFLITE_WRITE and its like), keras,
whose cases a script writes, or onnx with folders of conformance cases. Of each operator there is one case; --all takes all of them,
and runs each exported file in ONNX Runtime where it is installed. PROGRAM is tests/WrittenAgain.cpp. Staged sources run as Python.
Exits with 77 (skipped) without test data.
"""
import collections
import contextlib
import glob
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

arguments = [word for word in sys.argv[1:] if word != "--all"]
program, lathe, source, build, rules, kind, *places = arguments
every = "--all" in sys.argv
sys.path.insert(0, os.path.join(source, "python"))
os.environ["LATHE_LIBRARY_DIR"] = os.path.join(build, "lib")


def cases_of_programs(folder):
    """(operators, model, inputs in order)"""
    for test in places:
        subprocess.run([test], env={**os.environ, f"LATHE_{kind.upper()}_WRITE": folder}, stdout=subprocess.DEVNULL, check=True)
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as file:
            case = json.load(file)
        yield case["operators"], case["model"], [np.load(one["file"]) for one in case["inputs"] if os.path.exists(one["file"])]


def cases_of_keras(folder):
    script = os.path.join(source, "src", "model", "import", "keras", "testing", "write_cases.py")
    subprocess.run([sys.executable, "-B", script, folder], check=True)
    for path in sorted(glob.glob(os.path.join(folder, "*.npz"))):
        model = next(path[:-4] + end for end in (".h5", ".keras") if os.path.exists(path[:-4] + end))
        arrays = np.load(path)
        # What a case is about stands before its first number.
        yield [re.split(r"_\d", os.path.basename(path)[:-4])[0]], model, [arrays[f"input_{i}"] for i in range(sum(name.startswith("input_") for name in arrays))]


def cases_of_onnx(_):
    for path in sorted(path for place in places for path in glob.glob(os.path.join(place, "*", "model.onnx"))):
        name = os.path.basename(os.path.dirname(path))
        yield [re.sub(r"^test_", "", name).split("_")[0]], path, []


def chosen(cases):
    """All cases, or the cases with an operator that no earlier case has."""
    seen = set()
    for operators, model, inputs in cases:
        if every or set(operators) - seen:
            seen |= set(operators)
            yield model, inputs


def run_source(path):
    """Builds the graph of a staged source like `python3 net.py net.mlir`."""
    stem = path[:-3]
    spec = importlib.util.spec_from_file_location("staged", path)
    module = importlib.util.module_from_spec(spec)
    sys.argv[1:], errors = [stem + ".mlir"], io.StringIO()
    from lathe.builder import main
    spec.loader.exec_module(module)
    weights = stem + ".safetensors"
    with contextlib.redirect_stderr(errors):
        try:
            main(os.path.basename(stem), module.build, path, os.path.basename(weights) if os.path.exists(weights) else None)
        except SystemExit:
            raise RuntimeError(errors.getvalue().strip()) from None


def in_onnxruntime(number, model, inputs, folder):
    """"" if ONNX Runtime gives the same outputs as Lathe for the exported file; otherwise a description."""
    from runner_client import Runner, distance
    exported, out = os.path.join(folder, f"{number}.onnx"), os.path.join(folder, f"{number}.out")
    if not os.path.exists(exported):
        return "not exported"
    runner = Runner(os.path.join(os.path.dirname(lathe), "lathe-runner-onnxruntime"))
    loaded = runner.ask(do="load", path=exported)
    if not loaded.get("ok"):
        return "not loaded: " + loaded["error"]
    files = {}
    for port, array in zip(loaded["inputs"], inputs):
        files[port["name"]] = os.path.join(folder, f"{number}.in.{len(files)}.npy")
        np.save(files[port["name"]], array)
    os.makedirs(out, exist_ok=True)
    ran = runner.run(files, out)
    if not ran.get("ok"):
        return "not run: " + ran["error"]
    given = [word for name, file in files.items() for word in ("-i", f"{name}={file}")]
    ours = os.path.join(out, "ours.npz")
    done = subprocess.run([lathe, "run", model, *given, "-o", ours, "--no-cache", "-O", "0", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        return "not run here: " + done.stderr.strip()
    with np.load(ours) as arrays:
        for name, file in ran["outputs"].items():
            far = distance(np.load(file), arrays[name]) if name in arrays else "has another name"
            if isinstance(far, str) or far > (1 if np.load(file).dtype.kind in "iu" else 1e-3):
                return f"'{name}' differs: {far}"
    return ""


# What ONNX Runtime 1.30 does not do with valid files, by the begin of its message.
LIMITS = re.compile(r"not loaded: (\w+: )?(Could not find an implementation|This is an invalid model. Error: Duplicate)")


def main():
    failures = []
    with tempfile.TemporaryDirectory() as written, tempfile.TemporaryDirectory() as folder:
        makers = {"keras": cases_of_keras, "onnx": cases_of_onnx}
        cases = list(chosen(makers.get(kind, cases_of_programs)(written)))
        if not cases:
            print("NO TEST DATA")
            sys.exit(77)
        with open(os.path.join(folder, "list"), "w") as file:
            for number, (model, inputs) in enumerate(cases):
                arrays = os.path.join(folder, f"{number}.npz") if inputs else ""
                if inputs:
                    np.savez(arrays, **{str(i): array for i, array in enumerate(inputs)})
                file.write(f"{model}\t{arrays}\n")
        done = subprocess.run([program, rules, os.path.join(folder, "list"), folder], capture_output=True, text=True)
        print(done.stdout)
        if done.returncode:
            failures.append(done.stderr or f"{program}: exit code {done.returncode}")
        sources = sorted(glob.glob(os.path.join(folder, "*.py")))
        for path in sources:
            try:
                run_source(path)
            except Exception as error:  # a SyntaxError of the source, or an error of the builder
                failures.append(f"{cases[int(os.path.basename(path)[:-3])][0]}: its source: {error}")
        again = subprocess.run([program, folder], capture_output=True, text=True)
        if again.returncode:
            failures.append(again.stdout + again.stderr)
        print(f"{len(sources)} sources of {len(cases)} models build the same graph" if not failures else "")
        if every and kind != "onnx":
            counts = collections.Counter()
            for number, (model, inputs) in enumerate(cases):
                said = in_onnxruntime(number, model, inputs, folder)
                if "is not installed" in said:
                    print("NO ONNX RUNTIME")
                    break
                known = not said or said == "not exported" or LIMITS.match(said)
                counts[said.split(":")[0] if known else "fault"] += 1
                if not known:
                    failures.append(f"{model} in ONNX Runtime: {said}")
            print("in ONNX Runtime:", dict(counts))
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


main()
