#!/usr/bin/env python3
"""Turns the operator records (llvm-tblgen --dump-json of ops/Ops.td) into the plain C++ beside them.

usage: gen_ops.py RECORDS.json OUTDIR

Writes into OUTDIR
  Attrs.inc       one attribute struct per operator
  AttrsMethods.inc  member functions of the structs, for one source file: compiled in every file they cost a second each
  Registry.inc    OpRecord table with declarations of the shape functions
  References.inc  table of reference functions
  Lowerings.inc   table of scalar lowering expressions of element-wise operators
The documentation of the same records is written by gen_operators_page.py.
"""
import json
import os
import re
import sys


def main():
    records, out = sys.argv[1], sys.argv[2]
    ops = read(records)
    os.makedirs(out, exist_ok=True)
    write(out, "Attrs.inc", attrs_inc(ops))
    write(out, "AttrsMethods.inc", attrs_methods_inc(ops))
    write(out, "Registry.inc", registry_inc(ops))
    write(out, "References.inc", references_inc(ops))
    write(out, "Lowerings.inc", lowerings_inc(ops))


def read(records):
    """The operators of a dump of the records, by name."""
    with open(records) as f:
        db = json.load(f)
    ops = [Op(name, rec, db) for name, rec in db.items()
           if isinstance(rec, dict) and "NnOp" in rec.get("!superclasses", []) and not rec.get("!anonymous")]
    return sorted(ops, key=lambda op: op.name)


# Attribute kinds of ops/Base.td: base attribute -> (C++ type, kind name)
KINDS = {
    "I64Attr": ("int64_t", "int64"),
    "F64Attr": ("double", "double"),
    "BoolAttr": ("bool", "bool"),
    "StrAttr": ("std::string", "string"),
    "DenseI64ArrayAttr": ("std::vector<int64_t>", "int64s"),
    "DenseF64ArrayAttr": ("std::vector<double>", "doubles"),
    "NnElementType": ("ElementType", "type"),
}


class Op:
    def __init__(self, record_name, rec, db):
        self.name = rec["opName"]
        self.camel = re.sub(r"^Nn_|Op$", "", record_name)
        self.summary = rec.get("summary", "").strip()
        self.description = "\n".join(line.strip() for line in rec.get("description", "").strip().split("\n"))
        self.lowering = rec["lowering"]
        self.tolerance = rec["tolerance"]
        self.flops = rec["flops"] or "product(out[0]->dims)"
        self.infer = rec["inferFunction"] or "infer" + self.camel
        self.infer_generic = bool(rec["inferFunction"])
        self.reference = rec["referenceFunction"] or "run" + self.camel
        self.reference_generic = bool(rec["referenceFunction"])
        self.takes_values = bool(rec["takesValues"])
        self.axes = rec["benchmarkAxes"]
        self.family = rec["!locs"][0].split(".td")[0].split("/")[-1].lower()  # ops/conv/Conv.td -> conv
        static = {db[d["def"]]["staticOperand"]: db[d["def"]]["staticAttribute"] for d in rec["staticOperands"]}
        self.mappings = [{**m, "formatName": name, "formatOp": op} for m in (db[d["def"]] for d in rec["mappings"])
                         for name, names in ((m["formatName"], m["formatOps"]), ("tflite", m["tfliteOps"])) for op in names]
        self.operands, self.attrs = [], []
        for arg, arg_name in rec["arguments"]["args"]:
            kind = db[arg["def"]]
            classes = kind.get("!superclasses", [])
            if "Attr" in classes:
                base = arg["def"]
                default = None
                if "DefaultValuedAttr" in classes or "DefaultValuedOptionalAttr" in classes:
                    base, default = kind["baseAttr"]["def"], kind["defaultValue"]
                if base not in KINDS:
                    sys.exit(f"{record_name}: attribute '{arg_name}' has kind {base}, expected one of {', '.join(KINDS)}")
                self.attrs.append((arg_name, *KINDS[base], default))
            else:
                self.operands.append((arg_name, "Optional" in classes, "Variadic" in classes, static.pop(arg_name, "")))
        if static:
            sys.exit(f"{record_name}: staticOperands names no operand: {', '.join(static)}")
        self.results = [(n, "Variadic" in db[r["def"]].get("!superclasses", [])) for r, n in rec["results"]["args"]]


def write(folder, name, text):
    path = os.path.join(folder, name)
    if not os.path.exists(path) or open(path).read() != text:
        with open(path, "w") as f:
            f.write(text)


HEADER = "// Written by dev/gen_ops.py from the operator records; do not edit.\n"


def quote(text):
    return json.dumps(text)


def attrs_inc(ops):
    out = [HEADER, "namespace lathe {\n"]
    for op in ops:
        out.append(f"/// nn.{op.name}: {op.summary}")
        out.append(f"struct {op.camel}Attrs final : Attrs {{")
        for name, cpp, kind, default in op.attrs:
            init = {"type": "ElementType::invalid"}.get(kind, default if default is not None else "{}")
            if kind == "string":
                init = default if default and default.startswith('"') else quote(default or "")
            out.append(f"  {cpp} {name} = {init};")
        out.append("  void visit(AttrVisitor &visitor) override;")
        out.append("  std::unique_ptr<Attrs> clone() const override;")
        out.append("  std::unique_ptr<Attrs> defaults() const override;")
        out.append("};\n")
    return "\n".join(out + ["} // namespace lathe\n"])


def attrs_methods_inc(ops):
    out = [HEADER, "namespace lathe {\n"]
    for op in ops:
        struct = f"{op.camel}Attrs"
        visits = " ".join(f'visitor.field("{name}", {name});' for name, *_ in op.attrs)
        out.append(f"void {struct}::visit([[maybe_unused]] AttrVisitor &visitor) {{ {visits} }}")
        out.append(f"std::unique_ptr<Attrs> {struct}::clone() const {{ return std::unique_ptr<Attrs>(new {struct}(*this)); }}")
        out.append(f"std::unique_ptr<Attrs> {struct}::defaults() const {{ return std::unique_ptr<Attrs>(new {struct}); }}")
    return "\n".join(out + ["\n} // namespace lathe\n"])


def registry_inc(ops):
    out = [HEADER, "namespace lathe {\n"]
    for fn in sorted({op.infer for op in ops if op.infer_generic}):
        out.append(f"InferResult {fn}(const Attrs &, const InferInputs &);")
    for op in ops:
        if not op.infer_generic:
            out.append(f"InferResult {op.infer}(const {op.camel}Attrs &, const InferInputs &);")
    out.append("\nnamespace {")
    rows = []
    for op in ops:
        c = op.camel

        def array(kind, suffix, items):
            if not items:
                return "{}"
            out.append(f"constexpr {kind} {suffix}{c}[] = {{{', '.join(items)}}};")
            return f"{suffix}{c}"

        b = lambda x: "true" if x else "false"
        operands = array("OperandRecord", "operands", [f'{{"{n}", {b(o)}, {b(v)}, "{s}"}}' for n, o, v, s in op.operands])
        results = array("const char *", "results", [quote(n) for n, _ in op.results])
        attrs = array("AttrRecord", "attrs", [f'{{"{n}", "{k}", {quote(d or "")}}}' for n, _, k, d in op.attrs])
        maps = []
        for i, m in enumerate(op.mappings):
            renames = "{}"
            if m["formatRenames"]:
                out.append(f"constexpr const char *renames{c}{i}[] = {{{', '.join(map(quote, m['formatRenames']))}}};")
                renames = f"renames{c}{i}"
            maps.append(f'{{"{m["formatName"]}", "{m["formatOp"]}", {m["formatSince"]}, {m["formatUntil"]}, {b(m["formatDirect"])}, {renames}}}')
        mappings = array("FormatMapping", "mappings", maps)
        axes = array("const char *", "axes", list(map(quote, op.axes)))
        cast = "a" if op.infer_generic else f"static_cast<const {c}Attrs &>(a)"
        rows.append(
            f'  {{"{op.name}", "{op.family}", {quote(op.summary)}, "{op.lowering}", {op.tolerance}, {operands}, {results}, '
            f'{b(any(v for _, v in op.results))}, {b(op.takes_values)}, {attrs}, {mappings}, {axes},\n'
            f'   []() -> std::unique_ptr<Attrs> {{ return std::unique_ptr<Attrs>(new {c}Attrs); }},\n'
            f'   [](const Attrs &a, const InferInputs &in) {{ return checkedResults("{op.name}", {op.infer}({cast}, checkedInputs("{op.name}", {operands}, in, {b(op.takes_values)}))); }},\n'
            f'   []([[maybe_unused]] const Attrs &attrs, [[maybe_unused]] const InferInputs &in, [[maybe_unused]] const InferInputs &out) -> Dim {{\n'
            f'     [[maybe_unused]] auto &a = static_cast<const {c}Attrs &>(attrs); return {op.flops}; }}}},')
    out.append("const OpRecord records[] = {")
    out += rows
    out.append("};\n} // namespace\n} // namespace lathe\n")
    return "\n".join(out)


def references_inc(ops):
    out = [HEADER, "namespace lathe {\n"]
    for fn in sorted({op.reference for op in ops if op.reference_generic}):
        out.append(f"void {fn}(const Attrs &, ReferenceCall &);")
    for op in ops:
        if not op.reference_generic:
            out.append(f"void {op.reference}(const {op.camel}Attrs &, ReferenceCall &);")
    out.append("\nnamespace {\nconst ReferenceEntry entries[] = {")
    for op in ops:
        cast = "a" if op.reference_generic else f"static_cast<const {op.camel}Attrs &>(a)"
        out.append(f'  {{"{op.name}", [](const Attrs &a, ReferenceCall &call) {{ runPrepared("{op.name}", a, call, '
                   f'[](const Attrs &a, ReferenceCall &call) {{ {op.reference}({cast}, call); }}); }}}},')
    return "\n".join(out + ["};\n} // namespace\n} // namespace lathe\n"])


def lowerings_inc(ops):
    ops = [op for op in ops if op.lowering == "elementwise"]
    out = [HEADER, "namespace lathe {\n"]
    for op in ops:
        out.append(f"mlir::Value lower{op.camel}(ScalarBuilder &, const {op.camel}Attrs &, mlir::ValueRange);")
    out.append("\nnamespace {\nconst ScalarLowering entries[] = {")
    for op in ops:
        out.append(f'  {{"{op.name}", [](ScalarBuilder &b, const Attrs &a, mlir::ValueRange in) {{ '
                   f'return lower{op.camel}(b, static_cast<const {op.camel}Attrs &>(a), in); }}}},')
    return "\n".join(out + ["};\n} // namespace\n} // namespace lathe\n"])


if __name__ == "__main__":
    main()
