#!/usr/bin/env python3
"""Writes the functions of the Python package for the verbs (python/lathe/verbs) from what `lathe` says of itself, so that flags
and keyword arguments cannot differ.

usage: gen_python_verbs.py LATHE FOLDER [--check]

With --check compares the files in FOLDER with what would be written and exits with 1 when they differ.
"""
import keyword
import os
import re
import subprocess
import sys
import textwrap

RESULTS = {"compile": "Compilation", "run": "RunResult", "verify": "VerifyResult", "bench": "BenchResult", "profile": "ProfileResult",
           "compare": "CompareResult", "tune": "TuneResult", "quantize": "QuantizeResult", "evaluate": "EvaluateResult",
           "sweep": "SweepResult", "stage": "StageResult", "segments": "SegmentsResult", "check": "CheckResult",
           "inspect": "InspectResult", "zoo": "ZooResult", "machine": "MachineResult", "records list": "RecordsResult",
           "records best": "RecordsResult", "store list": "StoreListResult"}
ABSENT = ("completion", "serve")  # for a terminal: the script of a shell, and a server that says its address and runs until Ctrl-C
WRITERS = ("compile", "export", "extract", "quantize", "stage")  # whose purpose is a file: `output` is the second argument
WIDTH = 150
COLUMN = 34  # of a help, where texts begin
NOTE = "Written by dev/gen_python_verbs.py from the help of `lathe`; do not edit."
EVERYWHERE = {"quiet", "wide"}
COMMON = "Other arguments are those of `compile`."


def say(lathe, *arguments):
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "120", "HOME": "/root"}
    done = subprocess.run([lathe, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{lathe} {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def verbs_in(text):
    """Names of the verbs that a help lists."""
    return re.findall(r"^  ([a-z-]+) {2,}\S", text.partition("Verbs:")[2].partition("\n\n")[0], re.M)


def name_of(flag):
    name = "level" if flag == "-O" else flag.lstrip("-").replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def type_of(spelled):
    """The type of a keyword argument, from how the help spells the flag: "TEXT:{a,b}=a", "NAME=DIMS ..."."""
    words = re.sub(r"( ?REQUIRED| ?Excludes:.*)", "", spelled)
    if not words:
        return "bool"
    if choices := re.match(r"TEXT:\{(.*?)\}", words):
        return "Literal[" + ", ".join(f'"{choice}"' for choice in choices[1].split(",")) + "]"
    if words.startswith("INPUT"):
        return "Arrays"
    if "=" in words.split(":")[0] and re.match(r"[A-Z]+=[A-Z]", words):
        return "Pairs"
    if words.endswith("...") or re.match(r"(TEXT|STRING)=.*,", words):
        return "Texts"
    kind = re.match(r"(\w+):", words)
    base = kind[1] if kind else words.split("=")[0]
    if "SIZE" in words:
        return "str | int"
    if re.match(r"[A-Z]:INT|N(:|$)|UINT|INT", words):
        return "int"
    if re.match(r"FLOAT", words):
        return "float"
    return "Path" if re.search(r"FILE|DIR|PATH|\.", base) else "str"


class Verb:
    """A verb as its help describes it."""

    def __init__(self, lathe, verb):
        self.verb = verb
        text = say(lathe, *verb.split(), "--help")
        self.summary = text.partition("\nUsage:")[0].strip()
        positionals = text.partition("Positionals:")[2].partition("Options:")[0]
        self.positionals = [(name_of(match[1].lower()), "..." in match[2], "REQUIRED" in match[2])
                            for match in re.finditer(r"^  (\w+) (?:TEXT|FILE)((?: \.\.\.)?(?: REQUIRED)?)", positionals, re.M)]
        options = re.split(r"\n\n|\nExit code", text.partition("Options:")[2])[0]
        self.flags, self.has_json = {}, "  --json " in options
        for line in re.split(r"\n(?=  -)", "\n" + options.strip("\n"))[1:]:
            head, _, text = line.partition("\n") if "\n" in line else (line[:COLUMN], "", line[COLUMN:])
            flag, _, spelled = head.strip().partition(" ")
            flag = next((part for part in flag.split(",") if part.startswith("--")), flag)
            if flag not in ("--help", "--json"):
                name = name_of(flag)
                name += "_" * any(name == positional for positional, _, _ in self.positionals)
                self.flags[name] = (spelled.strip(), " ".join(text.split()))

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
        for name, (spelled, _) in self.flags.items():
            if not (name == "output" and self.verb in WRITERS):
                given.append(f"{name}: {type_of(spelled)} | None = None")
        return given + ["progress: Progress | None = None"]

    def text(self, known):
        kind = f"results.{RESULTS.get(self.verb, 'Result')}"
        unbroken = ", ".join(one.replace(" ", "\0") for one in self.parameters())
        head = textwrap.fill(unbroken, WIDTH - len(self.name) - 5, break_long_words=False, break_on_hyphens=False).replace("\0", " ")
        signature = f"def {self.name}(" + head.replace("\n", "\n" + " " * (len(self.name) + 5)) + f") -> {kind}:"
        own = {name: text for name, (_, text) in self.flags.items() if known.get(name) != text and name not in EVERYWHERE}
        lines = [textwrap.indent(self.summary, "    ").strip()]
        if own:
            lines.append("")
            lines += [textwrap.fill(f"{name}: {text}", WIDTH, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)
                      for name, text in own.items()]
        if len(own) < len(self.flags.keys() - EVERYWHERE):
            lines += ["    " + COMMON]
        document = '    """' + "\n".join(lines).replace("\\", "\\\\") + '\n    """'
        names = "".join(f'"{name}", ' for name, _, _ in self.positionals)
        names = names.rstrip() if len(self.positionals) == 1 else names.rstrip(", ")
        return f"{signature}\n{document}\n    return execute(\"{self.verb}\", {kind}, ({names}), locals())\n"


def module(title, functions):
    body = "\n\n".join(functions)
    needed = [name for name in ("Arrays", "Pairs", "Path", "Progress", "Texts") if re.search(rf": {name}\b|\| {name}\b|\[{name}\b", body)]
    typing = [name for name in ("Literal", "Sequence") if name + "[" in body]
    return (f'"""{title} {NOTE}"""\nfrom __future__ import annotations\n\n' + (f"from typing import {', '.join(typing)}\n\n" if typing else "")
            + f"from lathe import results\nfrom lathe._process import {', '.join(needed)}, execute\n\n\n" + body)


def files(lathe):
    """{path in the folder: text}."""
    verbs = [verb for verb in verbs_in(say(lathe, "--help")) if verb not in ABSENT]
    groups = {verb: verbs_in(say(lathe, verb, "--help")) for verb in verbs}
    every = {verb: [Verb(lathe, f"{verb} {inner}") for inner in groups[verb]] if groups[verb] else [Verb(lathe, verb)] for verb in verbs}
    known = {name: text for name, (_, text) in every["compile"][0].flags.items()}
    made, imports, names, pairs = {}, [], [], {}
    for verb, found in every.items():
        name = verb.replace("-", "_")
        title = f"The verbs of `lathe {verb}`." if groups[verb] else f"`lathe {verb}`."
        made[name + ".py"] = module(title, [one.text({} if verb == "compile" else known) for one in found])
        imports.append(f"from lathe.verbs import {name}" if groups[verb] else f"from lathe.verbs.{name} import {name}")
        names.append(name)
        for one in found:
            pairs.update({flag: re.split(r"[ :]", spelled)[0] for flag, (spelled, _) in one.flags.items() if type_of(spelled) == "Pairs"})
    listed = textwrap.fill(", ".join(f'"{name}"' for name in sorted(names)), WIDTH - 12).replace("\n", "\n           ")
    made["__init__.py"] = f'"""The verbs as functions. {NOTE}"""\n' + "\n".join(sorted(imports)) + f"\n\n__all__ = [{listed}]\n"
    silent = ", ".join(f'"{one.verb}"' for found in every.values() for one in found if not one.has_json)
    made["../_pairs.py"] = (f'"""What the help calls the values of flags that take pairs, and verbs without --json. {NOTE}"""\nPAIRS = {{\n'
                            + "".join(f'    "{flag}": "{spelled}",\n' for flag, spelled in sorted(pairs.items())) + f"}}\nWITHOUT_JSON = {{{silent}}}\n")
    return made


def main():
    lathe, folder = sys.argv[1], sys.argv[2]
    made = files(lathe)
    stale = {name for name in os.listdir(folder) if name.endswith(".py")} - set(made)
    if "--check" in sys.argv:
        for name, text in made.items():
            path = os.path.join(folder, name)
            if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
                stale.add(name)
        if stale:
            sys.exit(f"{folder}: {', '.join(sorted(stale))}: not what the help of lathe says; write them anew: dev/gen_python_verbs.py "
                     f"build/release/bin/lathe python/lathe/verbs")
        return
    for name in stale:
        os.remove(os.path.join(folder, name))
    for name, text in made.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


main()
