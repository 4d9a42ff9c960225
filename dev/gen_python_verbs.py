#!/usr/bin/env python3
"""Writes the functions of the Python package for the verbs (python/lathe/verbs) from `lathe VERB --describe`, so that flags
and keyword arguments cannot differ.

usage: gen_python_verbs.py LATHE FOLDER [--check]

With --check compares the files in FOLDER with what would be written and exits with 1 when they differ.
"""
import keyword
import os
import re
import sys
import textwrap

import cli_description

RESULTS = {"compile": "Compilation", "run": "RunResult", "verify": "VerifyResult", "bench": "BenchResult", "profile": "ProfileResult",
           "compare": "CompareResult", "tune": "TuneResult", "quantize": "QuantizeResult", "evaluate": "EvaluateResult",
           "sweep": "SweepResult", "stage": "StageResult", "segments": "SegmentsResult", "check": "CheckResult",
           "inspect": "InspectResult", "zoo": "ZooResult", "machine": "MachineResult", "records list": "RecordsResult",
           "records best": "RecordsResult", "store list": "StoreListResult"}
WRITERS = ("compile", "export", "extract", "quantize", "stage")  # whose purpose is a file: `output` is the second argument
NO_FUNCTIONS = {"completion", "serve"}  # a script for shells, and a server that runs until Ctrl-C and prints its address
HAND_WRITTEN = "_process.py"  # in the same folder
WIDTH = 150
NOTE = "Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."
EVERYWHERE = {"quiet", "wide"}
COMMON = "Other arguments: as for `compile`."


def name_of(flag):
    name = "level" if flag == "-O" else flag.lstrip("-").replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def type_of(option):
    """The type of a keyword argument."""
    if not option.takes_value:
        return "bool"
    if choices := re.match(r"TEXT:\{(.*?)\}", option.type):
        return "Literal[" + ", ".join(f'"{choice}"' for choice in choices[1].split(",")) + "]"
    if option.type.startswith("INPUT"):
        return "Arrays"
    if is_pair(option):
        return "Pairs"
    if option.repeats or option.type.endswith("...") or "," in option.default:
        return "Texts"
    if "SIZE" in option.type:
        return "str | int"
    if re.match(r"[A-Z]:INT|N(:|$)|UINT|INT", option.type):
        return "int"
    if option.type.startswith("FLOAT"):
        return "float"
    return "Path" if re.search(r"FILE|DIR|PATH|\.", option.word) else "str"


def is_pair(option):
    return re.match(r"[A-Z]+=[A-Z]", option.type) is not None


class Verb:
    """A verb as it describes itself. `flags`: option by name of the argument."""

    def __init__(self, command):
        self.verb, self.summary = command.name, command.summary.strip()
        self.positionals = [(name_of(option.positional.lower()), option.repeats, option.required) for option in command.positionals]
        self.flags, self.has_json = {}, any("--json" in option.names for option in command.flags)
        for option in command.flags:
            flag = next((name for name in option.names if name.startswith("--")), option.names[0])
            if flag not in ("--help", "--json"):
                name = name_of(flag)
                name += "_" * any(name == positional for positional, _, _ in self.positionals)
                self.flags[name] = option
        given = {name for name, _, _ in self.positionals}
        if self.name in given | self.flags.keys() or "output" in given:  # lathe.verbs._process.execute relies on that
            sys.exit(f"dev/gen_python_verbs.py: lathe {self.verb}: an argument has the name of the verb, or is called output")

    @property
    def name(self):
        name = self.verb.split()[-1].replace("-", "_")
        return name + "_" if keyword.iskeyword(name) else name

    def parameters(self):
        given = []
        for name, several, required in self.positionals:
            kind = "Path | Sequence[Path]" if several else "Path"
            given.append(f"{name}: {kind}" if required else f"{name}: {kind} | None = None")
        if self.verb in WRITERS:
            given.append("output: Path | None = None")
        given.append("*")
        for name, option in self.flags.items():
            if not (name == "output" and self.verb in WRITERS):
                given.append(f"{name}: {type_of(option)} | None = None")
        return given + ["progress: Progress | None = None"]

    def text(self, known):
        kind = f"results.{RESULTS.get(self.verb, 'Result')}"
        unbroken = ", ".join(one.replace(" ", "\0") for one in self.parameters())
        head = textwrap.fill(unbroken, WIDTH - len(self.name) - 5, break_long_words=False, break_on_hyphens=False).replace("\0", " ")
        signature = f"def {self.name}(" + head.replace("\n", "\n" + " " * (len(self.name) + 5)) + f") -> {kind}:"
        own = {name: option.help for name, option in self.flags.items() if known.get(name) != option.help and name not in EVERYWHERE}
        lines = [textwrap.indent(self.summary, "    ").strip()]
        if own:
            lines.append("")
            lines += [textwrap.fill(f"{name}: {text}", WIDTH, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)
                      for name, text in own.items()]
        if len(own) < len(self.flags.keys() - EVERYWHERE):
            lines += ["    " + COMMON]
        document = '    """' + "\n".join(lines).replace("\\", "\\\\") + '\n    """'
        return f"{signature}\n{document}\n    return execute({self.name}, locals())\n"


def module(title, functions):
    body = "\n\n".join(functions)
    needed = [name for name in ("Arrays", "Pairs", "Path", "Progress", "Texts") if re.search(rf": {name}\b|\| {name}\b|\[{name}\b", body)]
    typing = [name for name in ("Literal", "Sequence") if name + "[" in body]
    return (f'"""{title} {NOTE}"""\nfrom __future__ import annotations\n\n' + (f"from typing import {', '.join(typing)}\n\n" if typing else "")
            + f"from lathe import results\nfrom lathe.verbs._process import {', '.join(needed)}, execute\n\n\n" + body)


def files(lathe):
    """{path in the folder: text}."""
    program = cli_description.Program(lathe)
    verbs = [verb for verb, _ in program.verbs if verb not in NO_FUNCTIONS]
    groups = {command.name for command in program.groups()}
    every = {verb: [Verb(command) for command in program.leaves() if command.words[0] == verb] for verb in verbs}
    known = {name: option.help for name, option in every["compile"][0].flags.items()}
    made, imports, names, pairs = {}, [], [], {}
    for verb, found in every.items():
        name = verb.replace("-", "_")
        title = f"The verbs of `lathe {verb}`." if verb in groups else f"`lathe {verb}`."
        made[name + ".py"] = module(title, [one.text({} if verb == "compile" else known) for one in found])
        imports.append(f"from lathe.verbs import {name}" if verb in groups else f"from lathe.verbs.{name} import {name}")
        names.append(name)
        for one in found:
            pairs.update({name: option.word for name, option in one.flags.items() if is_pair(option)})
    listed = textwrap.fill(", ".join(f'"{name}"' for name in sorted(names)), WIDTH - 12).replace("\n", "\n           ")
    made["__init__.py"] = f'"""The verbs as functions. {NOTE}"""\n' + "\n".join(sorted(imports)) + f"\n\n__all__ = [{listed}]\n"
    silent = ", ".join(f'"{one.verb}"' for found in every.values() for one in found if not one.has_json)
    made["_pairs.py"] = (f'"""What `lathe` calls the values of flags that take pairs, and verbs without --json. {NOTE}"""\nPAIRS = {{\n'
                            + "".join(f'    "{flag}": "{spelled}",\n' for flag, spelled in sorted(pairs.items())) + f"}}\nWITHOUT_JSON = {{{silent}}}\n")
    return made


def main():
    lathe, folder = sys.argv[1], sys.argv[2]
    made = files(lathe)
    stale = {name for name in os.listdir(folder) if name.endswith(".py") and name != HAND_WRITTEN} - set(made)
    if "--check" in sys.argv:
        for name, text in made.items():
            path = os.path.join(folder, name)
            if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
                stale.add(name)
        if stale:
            sys.exit(f"{folder}: {', '.join(sorted(stale))}: not what lathe says of itself; write them anew: dev/gen_python_verbs.py "
                     f"build/release/bin/lathe python/lathe/verbs")
        return
    for name in stale:
        os.remove(os.path.join(folder, name))
    for name, text in made.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


main()
