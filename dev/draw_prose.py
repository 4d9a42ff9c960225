#!/usr/bin/env python3
"""Draws header comments and help texts at random, for a test of the prose (CONTRIBUTING.md, "Sentences").

usage: draw_prose.py [--comments N] [--helps N] [--seed S]

Prints each text with its place, without the code that it describes. Read one, write down what the code must do if
the text is right, then compare that with the code. The seed is printed, so a draw can be repeated.
"""
import argparse
import pathlib
import random
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
GENERATED = ("third_party/",)


def comments():
    """Every comment block and trailing comment of the headers: (place, text)."""
    files = subprocess.run(["git", "ls-files", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in files:
        if name.startswith(GENERATED):
            continue
        block, first = [], 0
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").split("\n") + [""], 1):
            if match := re.match(r"\s*///?(?!/) ?(.*)$", line):
                first = first if block else number
                block.append(match[1])
                continue
            if block and not " ".join(block).startswith("----"):
                yield f"{name}:{first}", "\n".join(block)
            block = []
            if match := re.match(r"\s*(\S.*?[;{,)])\s+// (.*)$", line):  # of a field: nothing says it without its name
                yield f"{name}:{number}", f"{match[1]}    // {match[2]}"


def helps():
    """All flags and arguments of all verbs, and the description of every verb: (place, text)."""
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    for verb, text in re.findall(r"^## (lathe [^\n]*)\n\n```\n(.*?)\n```", page, re.M | re.S):
        yield verb, text.split("\nUsage:")[0]
        for flag in re.findall(r"^  (\S.*(?:\n {4,}\S.*)*)", text.split("Examples:")[0], re.M):
            if not flag.startswith("-h,--help"):
                yield verb, re.sub(r"\s+", " ", flag)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comments", type=int, default=20)
    parser.add_argument("--helps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    draw = random.Random(arguments.seed)
    for kind, texts, count in (("comment", comments(), arguments.comments), ("help", helps(), arguments.helps)):
        texts = sorted(set(texts))
        for number, (place, text) in enumerate(draw.sample(texts, min(count, len(texts))), 1):
            print(f"\n[{kind} {number}] {place}\n{text}")


main()
