#!/usr/bin/env python3
"""Writes the typed functions of the builder, one an operator, from the operator records.

usage: gen_builder.py RECORDS.json PYTHON.py CPP.hpp

PYTHON.py holds class Operators, which python/lathe/builder.py derives from; CPP.hpp the options and members of
lathe::builder::Graph, which include/lathe/builder.hpp includes. A name that is a keyword of either language ends in an
underscore in both.
"""
import keyword
import sys

import gen_ops

CPP_KEYWORDS = set("""alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const constexpr continue
decltype default delete do double else enum explicit export extern false float for friend goto if inline int long mutable namespace new
noexcept not nullptr operator or private protected public register requires return short signed sizeof static struct switch template this
throw true try typedef typeid typename union unsigned using virtual void volatile while xor""".split())
# What the hand-written part of a graph is called.
TAKEN = {"input", "output", "weight", "constant", "at", "branch", "loop", "write", "compile", "prefix", "integers", "reals", "weights",
         "convert_layout"}
NOTE = {"name", "types", "extents"}
CPP_TYPES = {"int64": "int64_t", "double": "double", "bool": "bool", "string": "std::string", "type": "std::string", "int64s": "std::vector<int64_t>",
             "doubles": "std::vector<double>"}


def main():
    records, python, cpp = sys.argv[1:]
    ops = gen_ops.read(records)
    for op in ops:
        check(op)
    for path, text in ((python, python_text(ops)), (cpp, cpp_text(ops))):
        with open(path, "w") as file:
            file.write(text)


def spelled(name):
    return name + "_" if keyword.iskeyword(name) or name in CPP_KEYWORDS else name


def check(op):
    names = [name for name, *_ in op.operands] + [name for name, *_ in op.attrs]
    twice = {name for name in names if names.count(name) > 1} | NOTE.intersection(names)
    optional = [optional for _, optional, _, _ in op.operands]
    variadic = [variadic for _, _, variadic, _ in op.operands]
    if twice or op.name in TAKEN or optional != sorted(optional) or any(variadic[:-1]) or (any(variadic) and any(optional)):
        sys.exit(f"nn.{op.name}: the builder has no function for such a record ({', '.join(sorted(twice)) or op.name})")


def python_default(kind, default):
    if kind == "type":
        return "None"
    if kind in ("int64s", "doubles"):
        return "()"
    if kind == "string":
        return default or '""'
    if kind == "bool":
        return {"true": "True", "false": "False"}[default]
    special = {"INT64_MAX": str(2**63 - 1), "INT64_MIN": str(-2**63)}
    if "infinity" in default:
        return f'float("{"-" if default.startswith("-") else ""}inf")'
    return special.get(default, default)


def single(op):
    return len(op.results) == 1 and not op.results[0][1]


def python_text(ops):
    out = ['"""Operators of the builder. Written by dev/gen_builder.py from the operator records; do not edit."""', "", "",
           "class Operators:", '    """One function an operator (docs/generated/operators.md). An operand is a value, or the name of a weight."""']
    for op in ops:
        required = [name for name, optional, _, _ in op.operands if not optional]
        absent = [name for name, optional, _, _ in op.operands if optional]
        parameters = ["self"] + [spelled(n) for n in required] + [f"{spelled(n)}=None" for n in absent] + ["*"]
        parameters += [f"{spelled(n)}={python_default(kind, default)}" for n, _, kind, default in op.attrs]
        parameters += ['name=""', "types=None", "extents=None"]
        operands = "".join(f"{'*' if variadic else ''}{spelled(n)}, " for n, _, variadic, _ in op.operands)
        attributes = "".join(f'("{n}", "{kind}", {spelled(n)}), ' for n, _, kind, _ in op.attrs)
        out += ["", f"    def {spelled(op.name)}({', '.join(parameters)}):", f'        """{op.summary}"""',
                f'        return self._operator("{op.name}", ({operands}), ({attributes}), (name, types, extents), {single(op)})']
    return "\n".join(out) + "\n"


def cpp_default(kind, default):
    if kind == "double" and "infinity" in default:
        return default
    return "" if default in (None, "{}", '""') else default


def cpp_text(ops):
    out = ["// Operators of the builder. Written by dev/gen_builder.py from the operator records; do not edit.", "// Included by lathe/builder.hpp alone.", "",
           "namespace lathe::builder {", ""]
    for op in ops:
        out.append(f"struct {op.camel}Options {{")
        out += [f"  Operand {spelled(name)} = {{}};" for name, optional, _, _ in op.operands if optional]
        for name, _, kind, default in op.attrs:
            text = cpp_default(kind, default)
            out.append(f"  {CPP_TYPES[kind]} {spelled(name)} = {text or '{}'};")
        out += ["  std::string name = {};", "  Texts types = {}, extents = {};", "};"]
    out += ["", "/// A graph, with one function an operator (docs/generated/operators.md).", "class Graph : public GraphBase<Graph> {", "public:",
            "  using GraphBase::GraphBase;"]
    for op in ops:
        required = [(name, variadic) for name, optional, variadic, _ in op.operands if not optional]
        parameters = [f"{'const Operands &' if variadic else 'const Operand &'}{spelled(name)}" for name, variadic in required]
        parameters.append(f"const {op.camel}Options &options = {{}}")
        if any(variadic for _, variadic in required):
            lists = ", ".join(f"{{{spelled(n)}}}" for n, v in required if not v)
            operands = f"joined({{{lists}}}, {spelled(required[-1][0])})"
        else:
            operands = "{" + ", ".join([spelled(n) for n, _ in required] + [f"options.{spelled(n)}" for n, optional, _, _ in op.operands if optional]) + "}"
        attributes = ", ".join(f'{{"{n}", options.{spelled(n)}{", true" if kind == "type" else ""}}}' for n, _, kind, _ in op.attrs)
        out += ["", f"  /// {op.summary}", f"  {'Value' if single(op) else 'Values'} {spelled(op.name)}({', '.join(parameters)}) const {{",
                f'    return operate("{op.name}", {operands}, {{{attributes}}}, {{options.name, options.types, options.extents}}){".only()" if single(op) else ""};', "  }"]
    return "\n".join(out + ["};", "", "} // namespace lathe::builder", ""])


if __name__ == "__main__":
    main()
