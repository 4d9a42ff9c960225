#!/usr/bin/env python3
"""Writes docs/generated/operators.md from the operator records: source format and opset x types x compiled or reference.

usage: gen_operators_page.py RECORDS.json IMPORTERS_FOLDER OUTPUT [--check]

RECORDS.json is llvm-tblgen --dump-json of ops/Ops.td. Operators of the format that no record maps are found in the tables of the
importers in IMPORTERS_FOLDER. With --check compares OUTPUT with what would be written and exits with 1 when they differ.
"""
import difflib
import glob
import os
import re
import sys

from gen_ops import read

TYPES = [
    (r"_c\d+: [^:]*?\bfloating-point\b(?! operands)", "float"),
    (r"_c\d+: [^:]*?\b(?:has|have|are|is a) (?:numbers?)\b(?! or bool)", "number"),
    (r"_c\d+: [^:]*?\bintegers\b", "integer"),
    (r"_c\d+: (?:x is|they are) bool", "bool"),
    (r"_c\d+: \w and \w are i8 or u8", "i8, u8"),
]
# Where the constraints of a record do not say: what its shape function demands.
FAMILY_TYPES = {"softmax": "float", "normalize": "float", "lrn": "float", "pool": "number", "recurrent": "float", "attention": "float"}
OPERATOR_TYPES = {"prelu": "number", "mod": "number", "bit_shift": "integer", "hardmax": "float",
                  "roi_align": "float", "non_max_suppression": "float"}

TYPES_TEXT = """`float` is f16, bf16, f32 and f64; `integer` is i8 to i64 and u8 to u64; `number` is either; `any` adds bool and the 8-bit floats. The types are those
that the operator's numbered constraints admit, and the reference computes all of them. A kernel is compiled for as many of them as its family takes
(below); `lathe check` names every node that is not compiled, with the reason.
"""

# What a kernel family takes: the only text here that is not in a record.
FAMILIES = {
    "contraction": "Convolutions and matrix products with packed weights, in blocked or row-major layout; element-wise operators that follow are computed in "
                   "registers. Weights of a convolution must be constant; inner extents must be known when compiling. f32, f64, and 16-bit floats with f32 sums; integers as they are.",
    "pool": "Sliding windows over blocked or row-major tensors. Any number, but no average of integers.",
    "lrn": "Local response normalisation across channels. Floating-point.",
    "softmax": "Softmax and its logarithm along any axis, exponentials kept in registers or in the result. Floating-point.",
    "normalize": "Normalisation of rows, groups or whole channels by their own mean and variance, with scale and bias. Floating-point.",
    "elementwise": "Any graph of these operators over one iteration shape becomes one loop; after a contraction, a pool or a reduction it is part of that kernel. "
                   "Numbers and bool; the transcendental functions in f16, bf16 and f32.",
    "reduction": "Sums, means, extremes and norms along any axes; a reduction is never split across threads. Numbers.",
    "movement": "Elements in other places, one operator a kernel. Any type whose elements are whole bytes; parameters such as pads must be constant.",
    "resize": "Nearest, linear and cubic interpolation of the spatial axes with weights computed when compiling.",
    "view": "No code: the result is the operand's memory under other extents. A copy where the operand's layout forbids that.",
    "fold": "Gone before kernels are formed: folded into constants, into other operators or into the plan's shape arithmetic. What remains of shapes is stored by a kernel, of others computed by the reference.",
    "indexed": "Elements read or written where other tensors say. An index out of range is the nearest one inside, where the reference reports an error. "
               "Any type whose elements are whole bytes.",
    "scan": "Running sums and products, extremes with their positions, the largest elements: one line along an axis at a time. Numbers.",
    "recurrent": "Recurrent layers: the gates of all steps as one contraction, then the recurrence.",
    "attention": "Scaled products, mask, softmax and the weighted sum of the values in one kernel.",
    "reference": "Plain loops over any shape and type, in the library that a package loads only when it needs it.",
}


# Operators of the format that leave no operator of their own.
WITHOUT_RECORD = {
    "Constant": "a constant", "Identity": "its input", "Dropout": "its input, and a mask of ones where it is used",
    "If": "the branch that is taken; where only the run tells which, both and a choice", "Loop": "its steps, one after another",
    "Scan": "its steps, one after another", "SequenceMap": "its steps, one after another",
}


def types(op):
    found = [name for pattern, name in TYPES if re.search(pattern, " ".join(op.description.split()))]
    return found[0] if found else OPERATOR_TYPES.get(op.name, FAMILY_TYPES.get(op.lowering, "any"))


def runs(op):
    return op.lowering if op.lowering in ("view", "fold", "reference") else f"compiled ({op.lowering})"


def opsets(since, until):
    if since == 1 and until == 1000:
        return "all"
    return f"{since}-" if until == 1000 else f"{since}-{until}"


def importer_tables(folder):
    """Operators the importers have a function of their own for."""
    names = set()
    for path in sorted(glob.glob(os.path.join(folder, "*.cpp"))):
        if path.endswith("Test.cpp"):
            continue
        with open(path) as f:
            text = f.read()
        names.update(re.findall(r'\w\["([A-Z]\w+)"\] = ', text))
        names.update(re.findall(r'\{"([A-Z]\w+)", (?:&?import\w+|\[)', text))
    return names


def page(ops, importers):
    cell = lambda text: text.replace("|", "\\|")
    out = ["<!-- Written by dev/gen_operators_page.py from the operator records; do not edit. -->", "# Operators\n",
           "Which operators of ONNX are read, in which opsets and types, and how they run; then what each operator of the nn dialect does. "
           "Opsets 6 to 28 are read; opset 7 and later are held against ONNX's own conformance cases (`tests/conformance`).\n",
           TYPES_TEXT,
           "## How operators run\n", "| runs as | operators | what that means |", "|---|---|---|"]
    for family in sorted({op.lowering for op in ops}, key=lambda name: (name in ("reference", "fold", "view"), name)):
        count = sum(op.lowering == family for op in ops)
        out.append(f"| {family} | {count} | {cell(FAMILIES.get(family, ''))} |")

    rows = {}
    for op in ops:
        for mapping in op.mappings:
            if mapping["formatName"] == "onnx":
                rows.setdefault(mapping["formatOp"], []).append((mapping["formatSince"], mapping["formatUntil"], op))
    out += ["\n## From ONNX\n", "| ONNX | opsets | becomes | types | runs as |", "|---|---|---|---|---|"]
    for name in sorted(set(rows) | importers):
        if name not in rows:
            passed = "a sequence, resolved while importing" if "Sequence" in name else "an optional, resolved while importing"
            what = WITHOUT_RECORD.get(name, passed if "Sequence" in name or "Optional" in name else "composed of other operators")
            out.append(f"| {name} | | {what} | | |")
            continue
        maps = sorted(rows[name], key=lambda row: (row[0], row[1], row[2].name))
        first = min(since for since, _, _ in maps)
        last = max(until for _, until, _ in maps)
        targets = ", ".join(dict.fromkeys(f"[`{op.name}`](#{op.name})" for _, _, op in maps))
        kinds = ", ".join(dict.fromkeys(types(op) for _, _, op in maps))
        how = ", ".join(dict.fromkeys(runs(op) for _, _, op in maps))
        out.append(f"| {name} | {opsets(first, last)} | {targets} | {kinds} | {how} |")

    out += ["\n## The nn dialect\n", "| operator | does | types | runs as |", "|---|---|---|---|"]
    for op in ops:
        out.append(f"| [`{op.name}`](#{op.name}) | {cell(op.summary)} | {types(op)} | {runs(op)} |")
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
    records, importers, output = sys.argv[1:4]
    ops = read(records)
    text = page(ops, importer_tables(importers))
    if "--check" not in sys.argv:
        with open(output, "w") as f:
            f.write(text)
        return
    with open(output) as f:
        kept = f.read()
    if kept != text:
        sys.stdout.writelines(difflib.unified_diff(kept.splitlines(True), text.splitlines(True), output, "the records"))
        sys.exit(f"{output} is not what the records say: ninja operators-page writes it")


if __name__ == "__main__":
    main()
