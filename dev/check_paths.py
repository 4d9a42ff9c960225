#!/usr/bin/env python3
"""Finds names of files of this tree that no longer exist: in pages, comments, scripts and messages, and in links of pages.

usage: check_paths.py [ROOT]

A name is a word with a slash that begins with a folder of the tree and ends in a source's extension or a slash. It is looked
for from the top of the tree, from the floors below src/ (as in an #include), and from the folder of the file that names it.
`*`, `<...>` and words like NAME stand for anything, {a,b} for each. A link of a page leads from
the page to a file, and to a heading if it names one.
"""
import fnmatch
import functools
import os
import re
import subprocess
import sys

TEXTS = (".md", ".cpp", ".h", ".hpp", ".c", ".py", ".ts", ".mjs", ".sh", ".td", ".fbs", ".proto", ".cmake", ".in", ".txt", "Makefile", ".ci/run", ".clang-tidy")
ENDINGS = "cpp|h|hpp|c|py|ts|mjs|sh|td|fbs|proto|cmake|md|txt|csv|map|ld|html|css"
# Names that a text uses as an example, and files that no checkout has.
EXEMPT = re.compile(r"_test\.py$|^CHANGELOG\.md$|^tests/installed\.txt$")
ELSEWHERE = re.compile(r"node_modules|^build/|^dist/|^(lib|share|bin|usr|etc)/|/\.\.\.")


def known(root):
    files = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
    files = [file for file in files if file and os.path.exists(os.path.join(root, file))]
    places = set(files)
    for file in files:
        while file := os.path.dirname(file):
            places.add(file)
    return files, places, places | {name.split("/", 2)[2] for name in places if re.match(r"src/\w+/.", name)}


def expanded(name):
    match = re.search(r"\{([^{}]*,[^{}]*)\}", name)
    return [each for word in match[1].split(",") for each in expanded(name[:match.start()] + word + name[match.end():])] if match else [name]


def exists(name, names, folder):
    for start in ("", folder):
        path = os.path.normpath(os.path.join(start, name.rstrip("/")))
        if path in names or path.startswith("..") or path == ".":
            return True
        pattern = re.sub(r"<[^<>]*>|\b[A-Z]{2,}\b", "*", path)
        if "*" in pattern and any(fnmatch.fnmatch(each, pattern) for each in names):
            return True
    return False


@functools.cache
def headings(path):
    """Anchors of a page, as GitHub makes them."""
    with open(path, encoding="utf-8") as file:
        titles = re.findall(r"^#+ +(.*?) *$", re.sub(r"^```.*?^```", "", file.read(), flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w -]", "", re.sub(r"\]\([^)]*\)", "", title).lower()).replace(" ", "-") for title in titles}


def leads(root, places, path, link):
    file, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
    return target in places | {"."} and (not anchor or not target.endswith(".md") or anchor in headings(os.path.join(root, target)))


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
    files, places, names = known(root)
    tops = "|".join(sorted({re.escape(name.split("/")[0]) for name in names if "/" in name}, key=len, reverse=True))
    spoken = re.compile(r"(?<![\w./$%%}~:@\"'+-])((?:\.\./)*(?:%s)/(?:[\w.*{},<>+-]+/)*(?:[\w.*{},<>+-]*[\w*}>]\.(?:%s)\b|[\w*{},<>+-]*(?=/(?![\w.*{<]))/))" % (tops, ENDINGS))
    link = re.compile(r"\]\((?!\w+:)([^)\s]+)")
    wrong = checked = 0
    for path in files:
        if not path.endswith(TEXTS) or EXEMPT.search(path):
            continue
        folder = os.path.dirname(path)
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                found = [(each, exists(each, names, folder)) for match in spoken.finditer(line) for each in expanded(match[1])]
                if path.endswith(".md"):
                    found += [(match[1], leads(root, places, path, match[1])) for match in link.finditer(line)]
                for name, there in found:
                    if not ELSEWHERE.search(name):
                        checked += 1
                        wrong += not there
                        if not there:
                            print(f"{path}:{number}: there is no {name}")
    if checked < 100:
        print(f"check_paths.py: only {checked} names found; is this the source tree?")
        return 1
    print(f"{checked} names of files, {wrong} of none")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
