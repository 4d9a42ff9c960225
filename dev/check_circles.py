#!/usr/bin/env python3
"""No source needs itself: there is no circle of #include lines, nor of imports between the modules of the Python package.

usage: check_circles.py [ROOT]

Prints a circle, if there is one, and exits with 1. Circles of floors and rooms: dev/check_walls.py.
"""
import ast
import graphlib
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)


def includes(path, text, files):
    """Headers of the tree that a source includes: from its floor or another one, the top, or beside it."""
    roots = [os.path.dirname(path), "", "include", *sorted({"/".join(name.split("/")[:2]) for name in files if name.startswith("src/")})]
    for name in INCLUDE.findall(text):
        yield from (file for file in [os.path.normpath(os.path.join(root, name)) for root in roots] if file in files)


def imports(path, text, files):
    """Modules below python/ without which a module cannot be loaded; of packages the named modules."""
    def file_of(module):
        place = "python/" + module.replace(".", "/")
        return next((file for file in (place + ".py", place + "/__init__.py") if file in files), None)
    for node in ast.parse(text).body:  # not within functions, nor for type checkers alone: those are not there to load a module
        if isinstance(node, ast.Import):
            yield from filter(None, (file_of(name.name) for name in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from filter(None, (file_of(f"{node.module}.{name.name}") or file_of(node.module) for name in node.names))


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cpp", "*.h", "*.c", "*.inc", "python/*.py"],
                            capture_output=True, text=True, check=True).stdout.split()
    files = {path for path in listed if os.path.isfile(path)}
    graph = {}
    for path in sorted(files):
        text = open(path, encoding="utf-8").read()
        graph[path] = set((imports if path.endswith(".py") else includes)(path, text, files)) - {path}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        print("a circle: " + " needs ".join(reversed(error.args[1])))
        return 1
    edges = sum(map(len, graph.values()))
    print(f"{len(files)} files, {edges} includes and imports, no circle")
    return 0 if edges else 1


sys.exit(main())
