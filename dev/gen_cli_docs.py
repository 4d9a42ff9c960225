#!/usr/bin/env python3
"""Writes docs/cli.md from what `lathe` says of itself, so that page and program cannot differ.

usage: gen_cli_docs.py LATHE OUTPUT [--check]

With --check compares OUTPUT with what would be written and exits with 1 when they differ.
"""
import re
import subprocess
import sys
import textwrap

import cli_description

NOT_LISTED = {"records ship"}  # what `make records` runs

INTRODUCTION = """<!-- Written by dev/gen_cli_docs.py from `lathe VERB --help`; do not edit. -->
# What are the commands and flags of lathe?

The help of every verb follows, as `lathe help VERB` prints it but for flags that an earlier verb has as well; [tasks.md](tasks.md) finds the verb for a task.

A `MODEL` is an ONNX, TFLite, TensorFlow or Keras file, the folder of a TensorFlow SavedModel, a model
as text (`.mlir`, from `--emit graph` or `--emit kernels`) or `zoo:NAME`; an `F.lathe` is a compiled
package. `run`, `bench`, `profile`, `compare`, `verify` and `inspect` take both. The verbs that run a
model compile it first and keep the package in `~/.cache/lathe` (or under `XDG_CACHE_HOME`), under a
hash of the model's content and the options.

A flag without effect is an error: a compilation flag on a package, `--zoo-batch` on a file,
`--batch` where no input has a symbolic first dimension, `--seed` where no input is random.

`--quiet` prints only errors; it changes neither `--json` nor exit codes. Tables fit the terminal or
`$COLUMNS`: less important columns are left out, long cells are shortened, and a last line says so;
`--wide` shows everything. Output to a pipe or a file is complete. Every verb that prints figures
takes `--json FILE` (`-` for standard output); each key has its unit: `median_ms`, `gflops`,
`peak_rss_bytes`, `ratio`.

| exit code | means |
|---|---|
| 0 | done; what was judged passed |
| 1 | negative verdict: outputs or models differ, outputs are mistrusted, or something is unsupported |
| 2 | wrong input or options: one line names file, node, expected and got |
| 3 | internal error: please report the line printed |
"""


def say(lathe, *arguments):
    result = subprocess.run([lathe, *arguments], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "COLUMNS": "120", "HOME": "/root"})
    if result.returncode != 0:
        sys.exit(f"{lathe} {' '.join(arguments)}: exit code {result.returncode}\n{result.stderr}")
    return result.stdout.strip().replace(lathe, "lathe")


def shortened(help_text, verb, known):
    """The help, in which flags with the same text as in an earlier verb are listed only by name. `known`: the first verb by
    entry."""
    def of(section):
        new, said = "", {}
        for entry in re.findall(r"^  -.*\n(?:   +.*\n)*", section[2], re.M):
            if entry.startswith("  -h,"):
                continue
            first = known.setdefault(entry, verb)
            if first == verb:
                new += entry
            else:
                said.setdefault(first, []).append(re.split(r"[ ,]", entry.strip())[0])
        for first, flags in said.items():
            new += textwrap.fill(f"same as in `lathe {first}`: {', '.join(flags)}", 120, initial_indent="  ", subsequent_indent="    ",
                                 break_on_hyphens=False) + "\n"
        return section[1] + new if new else ""
    return re.sub(r"^(\w+:\n)((?:  -.*\n(?:   +.*\n)*)+)", of, help_text.replace("\n\n\n", "\n\n"), flags=re.M)


def main():
    lathe, output = sys.argv[1], sys.argv[2]
    page, known = INTRODUCTION, {}
    for verb in (command.name for command in cli_description.Program(lathe).commands if command.name not in NOT_LISTED):
        page += f"\n## lathe {verb}\n\n```\n{shortened(say(lathe, *verb.split(), '--help'), verb, known)}\n```\n"
    if "--check" in sys.argv:
        if open(output, encoding="utf-8").read() != page:
            sys.exit(f"{output} is not what `lathe --help` says; write it anew: dev/gen_cli_docs.py build/release/bin/lathe docs/cli.md")
        return
    with open(output, "w", encoding="utf-8") as file:
        file.write(page)


main()
