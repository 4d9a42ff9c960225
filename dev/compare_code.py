#!/usr/bin/python3
"""Compares the machine code that two programs generate, byte by byte.

usage: compare_code.py OLD NEW [--models LIST] [--minutes M] [--seed N] [--jobs N] [--kept FILE]

OLD and NEW are `lathe` programs. Every model is compiled with `--emit asm` for every machine of TARGETS, with the options of
OPTIONS one set at a time. With --minutes a random part of these cases, drawn from --seed, is compared, and how many of how
many is printed. What a program wrote is kept as a hash in FILE (default build/compare_code.json) by program, model and
options: a run that was interrupted goes on. A case in which both programs fail with the same message counts as equal.
Exit code 1 where code differs; nothing is run.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time

TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "znver4", "sapphirerapids", "aarch64-linux-gnu")
OPTIONS = ("", "-O 0", "-O 1", "-O 2", "-O 4", "--exact-math", "--memory small", "--precision bf16", "--threads 2", "--threads 8",
           "--layout nchw", "--layout nhwc", "--references-only")


def contents(program):
    """A hash of the program and of the library that contains its compiler."""
    made = hashlib.sha256(program.read_bytes())
    for library in sorted((program.resolve().parent.parent / "lib").glob("**/liblathe_cli_compiler.so")):
        made.update(library.read_bytes())
    return made.hexdigest()[:16]


def written(program, model, target, options):
    """The hash of the program's output for the case, or its error message."""
    command = [program, "compile", model, "--target", target, *options.split(), "--no-records", "--emit", "asm", "--quiet"]
    made = subprocess.run(command, capture_output=True, env={**os.environ, "LATHE_NO_WAIT": "1"}, check=False)
    if made.returncode not in (0, 2):
        return f"exit code {made.returncode}: {made.stderr[-300:].decode(errors='replace')}"
    return hashlib.sha256(made.stdout or made.stderr).hexdigest()[:24] + (" refused" if made.returncode else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--models", help="paths and zoo:NAME with commas between (default: the zoo)")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--kept", type=pathlib.Path, default="build/compare_code.json")
    given = parser.parse_args()
    models = given.models.split(",") if given.models else [
        "zoo:" + line.split()[0] for line in subprocess.check_output([given.new, "zoo", "--list"], text=True).splitlines()[1:]]
    cases = [(model, target, options) for model in models for target in TARGETS for options in OPTIONS]
    random.Random(given.seed).shuffle(cases)
    kept = json.loads(given.kept.read_text()) if given.kept.exists() else {}
    programs = {path: contents(pathlib.Path(path)) for path in (given.old, given.new)}
    end = time.monotonic() + given.minutes * 60

    def compared(case):
        if time.monotonic() > end:
            return None
        results = []
        for path, program in programs.items():
            key = " ".join((program, *case))
            if key not in kept:
                kept[key] = written(path, *case)
            results.append(kept[key])
        return results

    counts = {"equal": 0, "refused": 0, "different": 0, "not compared": 0}
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for case, results in zip(cases, pool.map(compared, cases)):
            if not results:
                counts["not compared"] += 1
                continue
            same = results[0] == results[1] and "exit code" not in results[0]
            counts["different" if not same else "refused" if "refused" in results[0] else "equal"] += 1
            if not same:
                print("different:", *case, "|", *results, flush=True)
            if sys.stderr.isatty():
                print(f"\r{sum(counts.values())} of {len(cases)}", end="", file=sys.stderr)
            given.kept.parent.mkdir(parents=True, exist_ok=True)
            given.kept.write_text(json.dumps(dict(kept), indent=0))
    print(", ".join(f"{count} {what}" for what, count in counts.items()), f"of {len(cases)} cases")
    sys.exit(counts["different"] > 0)


if __name__ == "__main__":
    main()
