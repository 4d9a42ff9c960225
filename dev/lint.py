#!/usr/bin/python3
"""Include walls, formatting, and clang-tidy over the lines that changed.

usage: dev/lint.py [COMMIT | all]

COMMIT   the commit since which a line counts as changed. Default: the last commit that continuous integration passed in this clone
         (refs/ci/passed, which .ci/run writes); without it the last tag; without a tag the commit before the last one.
all      all lines of all sources

clang-tidy reads each source by itself, as build/single compiles it. It stops after ten minutes (LINT_SECONDS=N; never with `all`); the
last line says how many of how many sources it has read. Sources with the most changed lines come first. A header is read with the
source of its name. Exit code: 1 for a finding.
"""
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

BEGIN = time.monotonic()
os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BUILD = "build/single"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def base():
    """The commit, and what it is; "" without one."""
    passed, tag = output("git", "rev-parse", "-q", "--verify", "refs/ci/passed"), output("git", "describe", "--tags", "--abbrev=0")
    before = output("git", "rev-parse", "-q", "--verify", "HEAD~1")
    if passed:
        return passed, "the last commit that passed"
    if tag:
        return tag, "the last tag"
    return before, "the commit before the last one, as there is no tag" if before else "no tag and no earlier commit"


def changed_lines(commit):
    """Ranges of changed lines by file, a moved file's own changes alone."""
    ranges, path = collections.defaultdict(list), ""
    for line in output("git", "diff", "-U0", "-M", "--diff-filter=d", commit, "--", "*.cpp", "*.h").splitlines():
        if line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            if count:
                ranges[path].append([first, first + count - 1])
    return ranges


def compiled():
    """Sources that the build compiles; makes the headers and precompiled headers that they include."""
    if not os.path.exists(f"{BUILD}/build.ninja"):
        subprocess.run(["cmake", "--preset", "single"], stdout=subprocess.DEVNULL, check=True)
    targets = re.findall(r"^(cmake_object_order_depends_target_\w+|\S*cmake_pch\.h\w*\.pch):", output("ninja", "-C", BUILD, "-t", "targets", "all"), re.M)
    subprocess.run(["ninja", "-C", BUILD, "--quiet", *targets], check=True)
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as file:
        return {os.path.relpath(entry["file"]) for entry in json.load(file)}


def tidy(source, lines, end):
    """Exit code and text; None where no time is left."""
    left = end - time.monotonic()
    if left <= 0:
        return None
    filters = [f"--line-filter={json.dumps([{'name': name, 'lines': of} for name, of in lines.items()])}"] if lines else []
    try:
        done = subprocess.run(["clang-tidy-19", "-p", BUILD, "--quiet", "--warnings-as-errors=*", *filters, source], capture_output=True,
                              text=True, check=False, timeout=left)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    commit, name = (wanted, "") if wanted else base()
    lines = {} if wanted == "all" or not commit else changed_lines(commit)
    files = output("git", "ls-files", "*.cpp", "*.h").splitlines() if wanted == "all" else list(lines)
    bad = subprocess.run([sys.executable, "dev/check_walls.py"], check=False).returncode
    if files:
        bad |= subprocess.run(["clang-format-19", "--dry-run", "--Werror", *files], check=False).returncode
    since = "" if wanted == "all" else f" changed since {commit or name}" + (f" ({name})" if commit and name else "")
    sources = {re.sub(r"\.h$", ".cpp", path) for path in files}
    if sources:
        sources &= compiled()
    count = lambda path: sum(last - first + 1 for header in (path, re.sub(r"\.cpp$", ".h", path)) for first, last in lines.get(header, []))
    end = BEGIN + float(os.environ.get("LINT_SECONDS", 1e6 if wanted == "all" else 600))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda source: tidy(source, lines, end), sorted(sources, key=lambda path: (-count(path), path))))
    for result in filter(None, results):
        if result[0]:
            print(result[1])
            bad = 1
    print(f"clang-tidy: {sum(result is not None for result in results)} of {len(sources)} sources{since}")
    sys.exit(1 if bad else 0)


main()
