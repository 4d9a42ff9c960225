#!/usr/bin/env python3
"""Counts what has to be maintained: lines and tokens of the code outside tests, in revisions that are compared.

usage: count_lines.py [REVISION ...] [--json FILE] [--rooms]

REVISION is a commit, or `.` for the files on disk that git knows (the default). With two or more, the last line says what
the last has more or less than the first.

A line counts if it holds more than blanks and comments after clang-format with the style below, which does not depend on
the style of the tree. Python, CMake, shell, schemas and data have no formatter here: their lines count as they are. Documentation
strings of Python are comments. A token is a word, a number, a sign, or a word within a string: joined lines have as many.

Tests do not count: files with Test, Tests or Testing as a word of their name, and all below folders with such a name but for
programs that measure. Files that programs wrote do not either (package-lock.json, measurements below data/ and docs/), nor prose.
"""
import argparse
import collections
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tokenize

STYLE = "{BasedOnStyle: LLVM, ColumnLimit: 120, ReflowComments: false}"
LANGUAGES = {
    "C and C++": (".c", ".cpp", ".h", ".hpp"), "TypeScript": (".ts", ".mjs"), "TableGen": (".td",), "protobuf": (".proto",),  # clang-format's
    "FlatBuffers": (".fbs",), "Python": (".py",), "CMake": (".cmake", "CMakeLists.txt"), "shell": (".sh", ".bash", ".zsh", ".ci/run"),
    "Makefile": ("Makefile",), "style sheets": (".css",), "data": (".csv", ".json", ".toml", ".yaml", ".txt", ".in", ".map", ".ld")}
FORMATTED = ("C and C++", "TypeScript", "TableGen", "protobuf")
SLASHES = FORMATTED + ("FlatBuffers", "style sheets")  # comments as in C
TEST = re.compile(r"(^|/)(tests?|testing)/|(^|[/_])tests?(ing)?(_[^/]*)?\.\w+$|Test(s|ing)?(?![a-z])[^/]*$")
MEASURES = re.compile(r"Bench[A-Za-z]*\.\w+$|/(RankTasks|ScheduleTimer)\.\w+$")
WRITTEN = re.compile(r"^(data|docs)/|package-lock\.json$|THIRD-PARTY|LICENSE")

# A comment, a literal, a word, or a sign. A regular expression of TypeScript follows a sign that no operand ends with.
C_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>R"([^()\s]{0,16})\(.*?\)\3"|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    r'|(?<=[(,=:!&|?])\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+/)|(?P<other>[\w\']+|<<=|>>=|\.\.\.|->|::|[-+*/%&|^<>=!]=|&&|\|\||<<|\S)', re.S)
HASH_TOKEN = re.compile(r'(?P<comment>(?:(?<=\s)|^)#[^\n]*)|(?P<text>"(?:\\.|[^"\\])*")|(?P<other>[\w.$]+|\S)', re.M)


def language_of(path):
    if (TEST.search(path) and not MEASURES.search(path)) or WRITTEN.search(path):
        return None
    return next((name for name, ends in LANGUAGES.items() if path.endswith(ends)), None)


def words(text):
    return len(re.findall(r"\w+|[^\w\s]", text))


def scanned(pattern, text):
    """(lines, tokens) of code; `pattern` matches every comment, literal and other token."""
    rows, tokens, row, begun = set(), 0, 0, 0
    for match in pattern.finditer(text):
        row += text.count("\n", begun, match.start())
        begun = match.start()
        if match["comment"] is not None:
            continue
        tokens += words(match["text"]) if match["text"] is not None else 1
        rows.update(row + i for i, line in enumerate(match[0].split("\n")) if line.strip())
    return len(rows), tokens


def python(text):
    rows, tokens, before = set(), 0, tokenize.NEWLINE
    kept = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in (tokenize.COMMENT, tokenize.NL)]
    for token, following in zip(kept, kept[1:] + kept[-1:]):
        empty = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
        documentation = token.type == tokenize.STRING and following.type == tokenize.NEWLINE and \
            before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if not empty and not documentation:
            tokens += words(token.string) if token.type == tokenize.STRING else 1
            rows.update(token.start[0] + i for i, line in enumerate(token.string.split("\n")) if line.strip())
        before = token.type
    return len(rows), tokens


def count(folder, paths):
    """{language: [files, lines, tokens]} and the same by room."""
    formatted = [path for path in paths if language_of(path) in FORMATTED]
    batches = [formatted[i::2 * os.cpu_count()] for i in range(2 * os.cpu_count())]
    running = [subprocess.Popen(["clang-format-19", "-i", "--style=" + STYLE, *batch], cwd=folder) for batch in batches if batch]
    if any([process.wait() for process in running]):
        sys.exit("count_lines.py: clang-format-19 failed")
    languages, rooms = collections.defaultdict(lambda: [0, 0, 0]), collections.defaultdict(lambda: [0, 0, 0])
    for path in paths:
        language = language_of(path)
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            text = file.read()
        lines, tokens = python(text) if language == "Python" else scanned(C_TOKEN if language in SLASHES else HASH_TOKEN, text)
        for totals in (languages[language], rooms[path.split("/")[0]]):
            for i, value in enumerate((1, lines, tokens)):
                totals[i] += value
    return languages, rooms


def of_revision(revision):
    with tempfile.TemporaryDirectory() as folder:
        if revision == ".":
            known = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
            for path in filter(os.path.isfile, known):
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                shutil.copyfile(path, os.path.join(folder, path))
        else:
            archive = subprocess.run(["git", "archive", revision], capture_output=True, check=True).stdout
            tarfile.open(fileobj=io.BytesIO(archive)).extractall(folder)
        with open(os.path.join(folder, ".clang-format-ignore"), "w"):
            pass
        paths = [os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names
                 if not os.path.islink(os.path.join(where, name))]
        return count(folder, sorted(path for path in paths if language_of(path)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", nargs="*", default=["."], metavar="REVISION")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--rooms", action="store_true", help="by the first folder, not by language")
    options = parser.parse_args()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    counted = [of_revision(revision) for revision in options.revisions]
    tables = [counts[options.rooms] for counts in counted]
    print("%-16s" % "" + "".join("%34s" % revision[:32] for revision in options.revisions))
    print("%-16s" % "" + "%10s%12s%12s" % ("files", "lines", "tokens") * len(tables))
    totals = [[sum(column) for column in zip(*table.values())] for table in tables]
    for name in sorted(set().union(*tables), key=lambda name: -tables[0][name][1]) + ["all"]:
        cells = [total if name == "all" else table[name] for table, total in zip(tables, totals)]
        print("%-16s" % name + "".join("%10d%12d%12d" % tuple(cell) for cell in cells))
    if len(totals) > 1:
        (_, lines, tokens), (_, lines_now, tokens_now) = totals[0], totals[-1]
        print("%+d lines (%+.1f %%), %+d tokens (%+.1f %%)" % (lines_now - lines, 100 * (lines_now / lines - 1),
                                                              tokens_now - tokens, 100 * (tokens_now / tokens - 1)))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({revision: {"languages": counts[0], "rooms": counts[1]} for revision, counts in zip(options.revisions, counted)}, file, indent=1)


if __name__ == "__main__":
    main()
