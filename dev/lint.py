#!/usr/bin/python3
"""Include walls, formatting, and clang-tidy over the lines that changed.

usage: dev/lint.py [COMMIT | all]

COMMIT   lines that differ from this commit count as changed. Default: the last commit that continuous integration passed in
         this clone (refs/ci/passed, which .ci/run writes), else the last tag, else the commit before the last one
all      read all lines of all sources, however long it takes

clang-tidy reads each source by itself, as the preset `single` compiles it, those with the most changed lines first, and a
header with the source of its name. After ten minutes (LINT_SECONDS=N) from the start of this script it stops. The last line
says how many of how many sources it has read. Exit code: 1 for a finding.
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
BUILD, COMMANDS = "build/single", "build/single/lint"
WANTED = sys.argv[1] if len(sys.argv) > 1 else ""
END = BEGIN + float(os.environ.get("LINT_SECONDS") or 600)


def run(*command, **more):
    """Ends the command when the time is over (TimeoutExpired)."""
    left = None if WANTED == "all" else max(0, END - time.monotonic())
    return subprocess.run(command, text=True, timeout=left, **more)


def git(*arguments):
    return subprocess.run(["git", *arguments], text=True, capture_output=True, check=False).stdout.strip()


def base():
    """The commit ("": none, as in a clone of one commit), and why it is this one."""
    for why, commit in (("the last that passed", git("rev-parse", "-q", "--verify", "refs/ci/passed")),
                        ("the last tag", git("describe", "--tags", "--abbrev=0")),
                        ("there is no tag", git("rev-parse", "-q", "--verify", "HEAD~1"))):
        if commit:
            return commit, why
    return "", "there is no earlier commit"


def changed_lines(commit):
    """Ranges of changed lines by file. A file that has moved counts with its own changes alone."""
    ranges, path = collections.defaultdict(list), ""
    for line in git("diff", "-U0", "-M", "--diff-filter=d", commit, "--", "*.cpp", "*.h").splitlines():
        if line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            if count:
                ranges[path].append([first, first + count - 1])
    return ranges


def prepare():
    """Makes the headers that sources include and compile commands without precompiled headers; returns the sources."""
    if not os.path.exists(f"{BUILD}/build.ninja"):
        run("cmake", "--preset", "single", stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=True)
    targets = run("ninja", "-C", BUILD, "-t", "targets", "all", capture_output=True, check=True).stdout
    run("ninja", "-C", BUILD, "--quiet", *re.findall(r"^(\S+\.(?:h|hpp|inc)): CUSTOM_COMMAND", targets, re.M), stdout=subprocess.DEVNULL, check=True)
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as file:
        entries = {os.path.relpath(entry["file"]): entry for entry in reversed(json.load(file))}  # one of each source
    for entry in entries.values():
        entry["command"] = re.sub(r"-Xclang -include-pch -Xclang \S+", "", entry["command"])
    os.makedirs(COMMANDS, exist_ok=True)
    with open(f"{COMMANDS}/compile_commands.json", "w", encoding="utf-8") as file:
        json.dump(list(entries.values()), file)
    return set(entries)


def tidy(source, lines):
    """Exit code and text; None for a source that was not read."""
    wanted = [f"--line-filter={json.dumps([{'name': name, 'lines': of} for name, of in lines.items()])}"] if lines else []
    try:
        done = run("clang-tidy-19", "-p", COMMANDS, "--quiet", "--warnings-as-errors=*", *wanted, source, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        return None, ""
    if done.returncode < 0:
        return None, f"{source}: signal {-done.returncode} ended clang-tidy"
    return done.returncode, done.stdout.strip() or done.stderr.strip()


def main():
    commit, why = (WANTED, "") if WANTED else base()
    lines = changed_lines(commit) if commit and commit != "all" else {}
    files = git("ls-files", "*.cpp", "*.h").splitlines() if commit == "all" else list(lines)
    bad = any([subprocess.run([sys.executable, script, "."], check=False).returncode for script in ("dev/check_walls.py", "tests/format_test.py")])
    sources = {re.sub(r"\.h$", ".cpp", path) for path in files}
    read = 0
    try:
        sources &= prepare() if sources else set()
        count = {source: sum(last - first + 1 for path in (source, source[:-3] + "h") for first, last in lines.get(path, []))
                 for source in sources}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for code, text in pool.map(lambda source: tidy(source, lines), sorted(sources, key=lambda source: (-count[source], source))):
                read += code is not None
                bad |= bool(code)
                if code != 0 and text:
                    print(text, flush=True)
    except subprocess.TimeoutExpired as error:
        print(f"no time is left after {' '.join(error.cmd[:3])}")
    print(f"clang-tidy: {read} of {len(sources)} sources" + ("" if commit in ("", "all") else f" changed since {commit}") + (f" ({why})" if why else ""))
    sys.exit(1 if bad else 0)


main()
