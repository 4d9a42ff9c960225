#!/usr/bin/env python3
"""Writes docs/cli.md from what `lathe` says of itself, so that page and program cannot differ.

usage: gen_cli_docs.py LATHE OUTPUT [--check]

With --check compares OUTPUT with what would be written and exits with 1 when they differ.
"""
import subprocess
import sys

VERBS = ["check", "inspect", "compile", "run", "bench", "profile", "verify", "extract", "segments", "compare", "ops", "ops bench", "ops problems", "ops analyze", "ops diff",
         "store", "store list", "store show", "store tuning", "store export", "store import", "store merge", "store path", "machine", "zoo"]

INTRODUCTION = """<!-- Written by dev/gen_cli_docs.py from `lathe VERB --help`; do not edit. -->
# The command line

A `MODEL` is an ONNX file, a model as text (`.mlir`, from `--emit graph` or `--emit kernels`) or `zoo:NAME`; an `F.lathe` is a compiled package. `run`, `bench`, `profile`, `compare`,
`verify` and `inspect` take both. The verbs that run a model compile it first and keep the package in `~/.cache/lathe` (`XDG_CACHE_HOME` is respected) under a hash of its content and the
options.

A flag that a verb, a model or another flag leaves nothing to do is an error: the choices of the compilation on a package, `--zoo-batch` on a file, `--batch` where no input has a
symbolic first dimension, `--seed` where no input is random. A zoo network is built with another batch by `--zoo-batch`.

`--quiet` prints nothing but errors; `--json` and exit codes stay.

Tables fit the terminal, or `$COLUMNS`: columns of less importance are left out, long cells shortened, and a last line says which; `--wide` shows everything. Output to a pipe or file is whole.

Every verb that prints figures takes `--json FILE` (`-` for standard output); the unit is in each key: `median_ms`, `gflops`, `peak_rss_bytes`, `ratio`.

| exit code | means |
|---|---|
| 0 | done; where something was judged, it passed |
| 1 | the verdict is no: outputs differ or are mistrusted, something is unsupported |
| 2 | the input is wrong: one line says what, with file, node, expected and got |
| 3 | a mistake inside Lathe: please report the line printed |
"""


def say(lathe, *arguments):
    result = subprocess.run([lathe, *arguments], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "COLUMNS": "120", "HOME": "/root"})
    if result.returncode != 0:
        sys.exit(f"{lathe} {' '.join(arguments)}: exit code {result.returncode}\n{result.stderr}")
    return result.stdout.strip().replace(lathe, "lathe")


def main():
    lathe, output = sys.argv[1], sys.argv[2]
    page = INTRODUCTION
    for verb in VERBS:
        page += f"\n## lathe {verb}\n\n```\n{say(lathe, *verb.split(), '--help')}\n```\n"
    if "--check" in sys.argv:
        if open(output, encoding="utf-8").read() != page:
            sys.exit(f"{output} is not what `lathe --help` says; write it anew: dev/gen_cli_docs.py build/release/bin/lathe docs/cli.md")
        return
    with open(output, "w", encoding="utf-8") as file:
        file.write(page)


main()
