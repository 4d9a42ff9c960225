#!/usr/bin/env python3
"""Sizes that keep the tree readable: files, functions and folders (CONTRIBUTING.md, "Code").

usage: check_sizes.py [ROOT] [--update]

Fails for a source file over 500 lines, a function over 60 lines and a folder with more than 40 sources. The documentation
of a Python function does not count. Tests and their helpers are exempt. Known exceptions stand in dev/known_sizes.txt with their size: one that grows fails, and so does one
that is below its limit again. --update lowers and removes entries; it never adds one.
"""
import ast
import collections
import os
import re
import subprocess
import sys

FILE_LINES, FUNCTION_LINES, FOLDER_FILES = 500, 60, 40
KNOWN = "dev/known_sizes.txt"
TEST = re.compile(r"(^|/)(tests|testing)/|(Test|Testing)\.(cpp|h|py)$|_test\.py$|/(Fake|Misbehaving)[^/]*$")
# Declarations whose braces hold declarations, and the name of what a parameter list belongs to.
SCOPE = re.compile(r'(?:inline\s+)?(?:class|struct|union|enum|namespace)\b|extern\s*""\s*$|$')
NAME = re.compile(r"((?:[\w:<>]*::)?operator\s*(?:\(\)|[^\s\w(]{1,3}|[\w:]+)|[~\w:<>]+)\s*\(")


def blanked(text):
    """The source with comments and the contents of literals replaced by spaces; lines keep their numbers."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',
                         re.S | re.M)

    def blank(match):
        if match[0].startswith("'") and match.start() and text[match.start() - 1].isalnum():
            return match[0]  # a digit separator
        empty = '""' if match[0][0] in "\"R'" else ""
        return empty + re.sub(r"[^\n]", " ", match[0])[len(empty):]

    return pattern.sub(blank, text)


def without_template(head):
    """A declaration without `template <...>`."""
    head = head.strip()
    while re.match(r"template\s*<", head):
        depth = 0
        for at, sign in enumerate(head):
            depth += (sign == "<") - (sign == ">" and head[at - 1] != "-")
            if sign == ">" and depth == 0:
                break
        head = head[at + 1:].strip()
    return head


def functions(text):
    """(name, lines from the declaration's first to its closing brace) of every function defined in C or C++ source."""
    code = blanked(text)
    scopes, begin, brackets = [], 0, 0  # open braces: (kind, name, first line); where the declaration at hand begins
    for match in re.finditer(r"[{}();]", code):
        sign, at = match[0], match.start()
        kind = scopes[-1][0] if scopes else "scope"
        if sign == "{":
            head = without_template(code[begin:at])
            name = NAME.search(head)
            if kind != "scope" or brackets:  # inside of a function, a value or a default argument
                scopes.append(("inside", "", 0))
            elif SCOPE.match(head):
                scopes.append(("scope", "", 0))
                begin = at + 1
            elif not name or "=" in re.sub(r"operator\s*[^\s\w(]+", "", head).split("(")[0]:
                scopes.append(("inside", "", 0))  # a value
            elif re.search(r"\)[^()]*[^:]:[^:].*[\w>]$|\)\s*:\s*[\w:<>]+$", head, re.S) and not head.endswith("const"):
                scopes.append(("inside", "", 0))  # of a constructor's initialisers
            else:
                start = begin + len(code[begin:at]) - len(code[begin:at].lstrip())
                scopes.append(("function", name[1], code.count("\n", 0, start)))
        elif sign == "}" and scopes:
            kind, name, first = scopes.pop()
            if kind == "function":
                yield name, code.count("\n", 0, at) - first + 1
            if kind != "inside":
                begin = at + 1
        elif kind == "scope" and sign == ";" and not brackets:
            begin = at + 1
        elif kind == "scope" and sign in "()":
            brackets += 1 if sign == "(" else -1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            documented = len(node.body) > 1 and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            yield node.name, node.end_lineno - node.lineno + 1 - (first.end_lineno - first.lineno + 1 if documented else 0)


def sources(root):
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cpp", "*.h", "*.c", "*.py", "*.td", "*.ts", "*.mjs"],
                           capture_output=True, text=True, check=True, cwd=root).stdout.split()
    return [path for path in files if not TEST.search(path) and os.path.exists(os.path.join(root, path))]


def measure(root):
    """Everything over a limit: {subject: size}. A subject is a file, FILE:FUNCTION or FOLDER/. Also returns how much was
    checked."""
    over, folders, counted = {}, collections.Counter(), 0
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        folders[os.path.dirname(path) + "/"] += 1
        if (lines := text.count("\n")) > FILE_LINES:
            over[path] = lines
        for name, lines in [] if path.endswith((".td", ".ts", ".mjs")) else python_functions(text) if path.endswith(".py") else functions(text):
            counted += 1
            if lines > FUNCTION_LINES:
                over[f"{path}:{name}"] = max(lines, over.get(f"{path}:{name}", 0))
    over.update({folder: count for folder, count in folders.items() if count > FOLDER_FILES})
    return over, sum(folders.values()), counted


def read_known(path):
    known = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    size, subject = line.split(maxsplit=1)
                    known[subject.strip()] = int(size)
    return known


def limit(subject):
    return (f"{FOLDER_FILES} sources in a folder" if subject.endswith("/") else
            f"{FUNCTION_LINES} lines in a function" if ":" in subject else f"{FILE_LINES} lines in a file")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--update"]
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    over, files, counted = measure(root)
    known = read_known(os.path.join(root, KNOWN))
    if "--update" in sys.argv:
        left = {subject: min(size, over[subject]) for subject, size in known.items() if subject in over}
        with open(os.path.join(root, KNOWN), "w", encoding="utf-8") as file:
            file.write("# Files, functions and folders that are over a limit of dev/check_sizes.py, with their sizes. The list only shrinks.\n")
            file.writelines(f"{size:4} {subject}\n" for subject, size in sorted(left.items()))
        known = left
    failures = [f"{subject}: {size}, expected at most {limit(subject)}" + (f" (known: {known[subject]})" if subject in known else "")
                for subject, size in sorted(over.items()) if size > known.get(subject, 0)]
    failures += [f"{KNOWN}: {subject} is within the limit or gone: remove the entry (dev/check_sizes.py --update)"
                 for subject in sorted(known) if subject not in over]
    print("\n".join(failures + [f"{files} files, {counted} functions, {len(over)} over a limit, {len(failures)} failures"]))
    if counted == 0:
        print("check_sizes.py: no functions found; is this the source tree?")
    return 1 if failures or counted == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
