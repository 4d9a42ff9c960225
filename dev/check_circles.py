#!/usr/bin/env python3
"""Finds circles of #include lines and of imports in the Python package, between files and between folders.

usage: check_circles.py [ROOT]

No file may need itself over other files, and no folder over other folders; tests and their helpers do not count for folders. Prints what breaks these rules, and exits with 1. Circles of floors and rooms: dev/check_walls.py.
"""
import ast
import collections
import os
import re
import subprocess
import sys

TEST = re.compile(r"(Test|Testing|Bench|Cases)\.(cpp|h)$|(^|/)tests/|_test\.py$")
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)


def includes(path, text, files):
    """Headers of the tree that a source includes: from its floor or another floor, from the top, or beside the source."""
    roots = [os.path.dirname(path), "", "include", *sorted({"/".join(name.split("/")[:2]) for name in files if name.startswith("src/")})]
    for name in INCLUDE.findall(text):
        yield from (file for file in [os.path.normpath(os.path.join(root, name)) for root in roots] if file in files)


def imports(path, text, files):
    """Modules below python/ without which a module cannot be loaded; for packages, the named modules."""
    def file_of(module):
        place = "python/" + module.replace(".", "/")
        return next((file for file in (place + ".py", place + "/__init__.py") if file in files), None)
    for node in ast.parse(text).body:  # imports in functions and for type checkers do not run when a module is loaded
        if isinstance(node, ast.Import):
            yield from filter(None, (file_of(name.name) for name in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from filter(None, (file_of(f"{node.module}.{name.name}") or file_of(node.module) for name in node.names))


def circles(needs):
    """Sets of nodes that need each other, directly or through others. `needs`: node -> nodes."""
    def reached(node):
        seen, waiting = set(), [node]
        while waiting:
            new = needs.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen
    reach = {node: reached(node) for node in needs}
    return {frozenset(other for other in reach[node] if node in reach.get(other, ())) for node in reach if node in reach[node]}


def complaints(graph):
    """Complaints about circles of files and of folders."""
    folders = collections.defaultdict(set)
    for path, others in graph.items():
        if not TEST.search(path):
            folders[os.path.dirname(path)] |= {os.path.dirname(other) for other in others} - {os.path.dirname(path)}
    yield from (f"files need each other: {', '.join(sorted(circle))}" for circle in circles(graph))
    yield from (f"folders need each other: {', '.join(sorted(circle))}" for circle in circles(folders))


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cpp", "*.h", "*.c", "*.inc", "python/*.py"],
                            capture_output=True, text=True, check=True).stdout.split()
    files = {path for path in listed if os.path.isfile(path)}
    graph = {}
    for path in sorted(files):
        text = open(path, encoding="utf-8").read()
        graph[path] = set((imports if path.endswith(".py") else includes)(path, text, files)) - {path}
    broken, edges = list(complaints(graph)), sum(map(len, graph.values()))
    print(*broken, f"{len(files)} files, {edges} includes and imports, {len(broken)} circles", sep="\n")
    return 1 if broken or not edges else 0


sys.exit(main())
