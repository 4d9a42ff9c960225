#!/usr/bin/env python3
"""The examples of the Python package run as they are written:  examples_test.py PATH/TO/lathe FOLDER-OF-LIBRARIES"""
import ast
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

lathe, libraries = map(os.path.abspath, sys.argv[1:])
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def text_of(name):
    with open(os.path.join(root, name)) as file:
        return file.read()


examples, commands = {}, []
pages = subprocess.run(["git", "-C", root, "ls-files", "*.md"], capture_output=True, text=True).stdout.split() or ["docs/c-api.md"]
for page in pages:
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", text_of(page), re.S | re.M)):
        examples[f"{page}, example {number + 1}"] = code
assert any(name.startswith("docs/c-api.md") for name in examples)
docstring = ast.get_docstring(ast.parse(text_of("python/lathe/__init__.py")))
examples["python/lathe/__init__.py, docstring"] = textwrap.dedent("\n".join(line for line in docstring.splitlines() if line.startswith("    ")))

with tempfile.TemporaryDirectory() as folder:
    environment = {**os.environ, "PYTHONPATH": os.path.join(root, "python"), "PYTHONDONTWRITEBYTECODE": "1", "LATHE_LIBRARY_DIR": libraries,
                   "XDG_CACHE_HOME": os.path.join(folder, "cache"), "XDG_DATA_HOME": os.path.join(folder, "data")}
    run = lambda *command: subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    run(lathe, "zoo", "squeezenet", "-o", "squeezenet.onnx")
    for page in ("docs/python.md", "docs/from-tvmc.md"):  # and their commands of lathe
        for block in re.findall(r"^```sh\n(.*?)^```", text_of(page), re.S | re.M):
            for line in block.splitlines():
                if line.startswith("lathe "):
                    commands.append(line)
    for name, code in examples.items():
        print(f"{name}:\n{textwrap.indent(run(sys.executable, '-c', code), '  ')}")
    for line in commands:
        print(f"{line}:\n{textwrap.indent(run(lathe, *shlex.split(line)[1:]), '  ')}")
    assert len(commands) >= 7, commands
    said = run(sys.executable, os.path.join(root, "python", "example.py"), "squeezenet.onnx")
    assert "input  input: float32 1x3x224x224" in said and "output output" in said, said
    print(run(sys.executable, os.path.join(root, "python", "example.py"), "squeezenet.lathe", "2"))
