#!/usr/bin/env python3
"""Writes docs/generated/operators.md: ONNX operators with opsets, types and how they run.

usage: gen_operators_page.py RECORDS.json OPERATOR_SUPPORT OUTPUT [--check]

RECORDS.json is llvm-tblgen --dump-json of ops/Ops.td: names, summaries, attributes, ONNX mappings. OPERATOR_SUPPORT is the program
of tests/operators, which compiles a case of every operator in every type: it determines the types and how
operators run. ONNX operators without a record come from the tables of the importers. With --check the program compares OUTPUT with the
text and exits with 1 if they differ.
"""
import difflib
import glob
import json
import os
import re
import subprocess
import sys

from gen_ops import read

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FLOAT = ["f16", "bf16", "f32", "f64"]
INTEGER = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
CLASSES = [("any", FLOAT + INTEGER + ["bool", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"]), ("number", FLOAT + INTEGER),
           ("float", FLOAT), ("integer", INTEGER), ("f8", ["f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"])]

TYPES_TEXT = """`float` is f16, bf16, f32 and f64; `integer` is i8 to i64 and u8 to u64; `number` is either; `f8` are the four 8-bit floats; `any` is all of them and bool.
The types are those that the constraints of the operator admit. How it runs was determined by compiling one case in each of these types, for AVX2, with constant weights
(`tests/operators/cases.txt`); `compiled` names the kernel family. `lathe check` names every node of a model that is not compiled, with the reason.
"""

# Meaning of each way to run, the only text that is not in a record.
FAMILIES = {
    "contraction": "Convolutions and matrix products with packed weights, in blocked or row-major layout; element-wise operators that follow are computed in "
                   "registers. Weights of a convolution must be constant; inner extents must be static. 16-bit floats are summed in f32.",
    "pool": "Sliding windows over blocked or row-major tensors.",
    "lrn": "Local response normalisation across channels.",
    "softmax": "Softmax and its logarithm along any axis, exponentials kept in registers or in the result.",
    "normalize": "Normalisation of rows, groups or whole channels by their own mean and variance, with scale and bias.",
    "elementwise": "Any graph of these operators over one iteration shape becomes one loop; after a contraction, a pool or a reduction it is part of that kernel.",
    "reduction": "Sums, means, extremes and norms along any axes; a reduction is never split across threads.",
    "movement": "Operators that move elements, one per kernel; parameters such as pads are constants or extents.",
    "resize": "Nearest, linear and cubic interpolation of the spatial axes; weights are computed at compile time, or for open extents at the call.",
    "view": "No code: the result is the memory of the operand with other extents, or a copy if the layout of the operand requires it.",
    "folded": "Removed at compile time, because the value is known. Otherwise a kernel stores shapes, and the reference computes other values.",
    "indexed": "Reads or writes at positions in other tensors, or of windows. An index out of range is an error of the run.",
    "scan": "Running sums and products, extremes with their positions, and largest elements, one line along an axis at a time.",
    "selection": "Elements found by their values: positions that are not zero, boxes that are selected, distinct elements. Their number is an extent that the plan binds.",
    "recurrent": "Recurrent layers: a contraction computes the input's contribution to the gates of all steps, this kernel the steps.",
    "attention": "Scaled products, mask, softmax and the weighted sum of the values in one kernel.",
    "reference": "Plain loops over any shape and type, in a library that is loaded only if a package needs it.",
}


# ONNX operators that are replaced while the model is imported.
WITHOUT_RECORD = {
    "Constant": "a constant", "Identity": "its input", "Dropout": "its input, and a mask of ones if the mask is used",
    "If": "the branch that is taken; with a run-time condition nn.if", "Loop": "its iterations, unrolled, or nn.loop",
    "Scan": "its iterations, unrolled, or nn.loop", "SequenceMap": "its iterations, unrolled, or nn.loop",
}


def class_names(types):
    """The shortest list of classes and types."""
    left, names = set(types), []
    for name, members in CLASSES:
        if left.issuperset(members):
            names.append(name)
            left -= set(members)
    return ", ".join(names + [member for member in [*CLASSES[0][1], "string"] if member in left])


def admitted(outcomes):
    return [name for name, outcome in outcomes.items() if "invalid" not in outcome]


def outcome_text(outcome, op):
    parts = []
    if "kernels" in outcome:
        parts.append(f"compiled ({', '.join(outcome['kernels'])})")
    others = sorted(name for name in outcome.get("references", {}) if name != op)
    if len(outcome.get("references", {})) > len(others):
        parts.append("reference")
    if others:
        parts.append("reference of " + ", ".join(f"`{name}`" for name in others))
    return ", ".join(parts) or ("view" if "view" in outcome else "folded")


def runs(outcomes, op):
    by_text = {}
    for name in admitted(outcomes):
        by_text.setdefault(outcome_text(outcomes[name], op), []).append(name)
    if len(by_text) == 1:
        return next(iter(by_text))
    return "; ".join(f"{class_names(types)}: {text}" for text, types in sorted(by_text.items(), key=lambda item: (-len(item[1]), item[0])))


def ways(outcomes):
    """Families, view, folded and reference: every way in which the operator runs in some type other than the 8-bit floats."""
    found = set()
    for name in [name for name in admitted(outcomes) if not name.startswith("f8")]:
        outcome = outcomes[name]
        found.update(outcome.get("kernels", []), ["reference"] if "references" in outcome else [])
        found.update(way for way in ("view", "folded") if way in outcome)
    return found


def opsets(since, until):
    if since == 1 and until == 1000:
        return "all"
    return f"{since}-" if until == 1000 else f"{since}-{until}"


def importer_tables(folder):
    """Operators for which the importers have a function."""
    names = set()
    for path in sorted(glob.glob(os.path.join(folder, "*.cpp"))):
        if path.endswith("Test.cpp"):
            continue
        with open(path) as f:
            text = f.read()
        names.update(re.findall(r'\w\["([A-Z]\w+)"\] = ', text))
        names.update(re.findall(r'\{"([A-Z]\w+)", (?:&?import\w+|\[)', text))
    return names


def page(ops, importers, support):
    cell = lambda text: text.replace("|", "\\|")
    out = ["<!-- Written by dev/gen_operators_page.py from the operator records and what the compiler makes of each operator; do not edit. -->", "# Which operators are supported, and how do they run?\n",
           "The first table lists the ways to run, the second one every ONNX operator with opsets, types and the `nn` operator that it becomes; "
           "then each `nn` operator is described. Opsets 6 to 28 are read; opset 7 and later are tested with ONNX's conformance cases "
           "(`tests/conformance`).\n",
           TYPES_TEXT,
           "## How operators run\n", "| runs as | operators (in some type but f8) | what that means |", "|---|---|---|"]
    outcomes = support["operators"]
    way_of = {op.name: ways(outcomes[op.name]) for op in ops}
    for family in sorted(set().union(*way_of.values()), key=lambda name: (name in ("reference", "folded", "view"), name)):
        count = sum(family in way_of[op.name] for op in ops)
        out.append(f"| {family} | {count} | {cell(FAMILIES[family])} |")

    rows = {}
    for op in ops:
        for mapping in op.mappings:
            if mapping["formatName"] == "onnx":
                rows.setdefault(mapping["formatOp"], []).append((mapping["formatSince"], mapping["formatUntil"], op))
    out += ["\n## From ONNX\n", "| ONNX | opsets | becomes | types | runs as |", "|---|---|---|---|---|"]
    for name in sorted(set(rows) | importers):
        if name not in rows:
            passed = "a sequence, resolved while importing" if "Sequence" in name else "an optional, resolved while importing"
            what = WITHOUT_RECORD.get(name, passed)
            how = ""
            if name in support["composed"]:
                made = support["composed"][name]
                what = ", ".join(f"[`{op}`](#{op})" for op in made["operators"]) or "a constant"
                how = outcome_text(made, "")
            elif name not in WITHOUT_RECORD and "Sequence" not in name and "Optional" not in name:
                sys.exit(f"gen_operators_page.py: {name} has neither a record nor a model in tests/operators/OperatorSupport.cpp")
            out.append(f"| {name} | | {what} | | {how} |")
            continue
        maps = sorted(rows[name], key=lambda row: (row[0], row[1], row[2].name))
        first = min(since for since, _, _ in maps)
        last = max(until for _, until, _ in maps)
        targets = ", ".join(dict.fromkeys(f"[`{op.name}`](#{op.name})" for _, _, op in maps))
        kinds = ", ".join(dict.fromkeys(class_names(admitted(outcomes[op.name])) for _, _, op in maps))
        how = ", ".join(dict.fromkeys(runs(outcomes[op.name], op.name) for _, _, op in maps))
        out.append(f"| {name} | {opsets(first, last)} | {targets} | {kinds} | {how} |")

    out += ["\n## The nn dialect\n", "| operator | does | types | runs as |", "|---|---|---|---|"]
    for op in ops:
        out.append(f"| [`{op.name}`](#{op.name}) | {cell(op.summary)} | {class_names(admitted(outcomes[op.name]))} | {runs(outcomes[op.name], op.name)} |")
    out.append("\n# Reference\n\nOptional operands are marked `?`, repeated ones `...`. An operand that is usually constant stands beside the attribute that takes its value.\n")
    for op in ops:
        operands = ", ".join(n + ("..." if v else "?" if o else "") + (f" (or attribute `{s}`)" if s else "") for n, o, v, s in op.operands)
        results = ", ".join(n + ("..." if v else "") for n, v in op.results)
        out.append(f"## {op.name}\n\n{op.summary}.\n\n{operands} -> {results}\n")
        if op.description:
            out.append(op.description + "\n")
        if op.attrs:
            out += ["| attribute | kind | default |", "|---|---|---|"]
            out += [f"| `{n}` | {k} | {default_text(k, d)} |" for n, _, k, d in op.attrs] + [""]
    return "\n".join(out).rstrip() + "\n"


def default_text(kind, default):
    if default is None:
        return "required"
    text = default.strip('"')
    return {"{}": "empty", "std::numeric_limits<double>::infinity()": "inf", "-std::numeric_limits<double>::infinity()": "-inf",
            "INT64_MAX": "to the end"}.get(text, f"`{text}`" if kind == "string" else text)


def main():
    records, program, output = sys.argv[1:4]
    ran = subprocess.run([program, os.path.join(ROOT, "tests/operators/cases.txt")], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"{program}: exit code {ran.returncode}\n{ran.stderr}")
    text = page(read(records), importer_tables(os.path.join(ROOT, "src/model/import/onnx")), json.loads(ran.stdout))
    if "--check" not in sys.argv:
        with open(output, "w") as f:
            f.write(text)
        return
    with open(output) as f:
        kept = f.read()
    if kept != text:
        sys.stdout.writelines(difflib.unified_diff(kept.splitlines(True), text.splitlines(True), output, "what should be there"))
        sys.exit(f"{output} is not what the records and the compiler say: ninja operators-page writes it")


if __name__ == "__main__":
    main()
