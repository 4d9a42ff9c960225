#!/usr/bin/env python3
"""The example notebook runs as it is written, in a folder of its own:  notebook_test.py PATH/TO/lathe NOTEBOOK.ipynb"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_LINES = 40

lathe, notebook = map(os.path.abspath, sys.argv[1:])
with open(notebook) as file:
    cells = json.load(file)["cells"]
codes = [cell for cell in cells if cell["cell_type"] == "code"]
lines = sum(len(cell["source"]) for cell in codes)
if lines >= MOST_LINES:
    sys.exit(f"{notebook}: {lines} lines of code, expected fewer than {MOST_LINES}")
if any(cell["outputs"] or cell["execution_count"] for cell in codes):
    sys.exit(f"{notebook}: is stored with outputs, expected one without: they would differ on every machine")
for module in ("nbconvert", "ipykernel", "pandas", "matplotlib"):
    if subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode != 0:
        print(f"skipped: {module} (Debian: python3-{module}) is missing, so the notebook does not run")
        sys.exit(77)

with tempfile.TemporaryDirectory(prefix="lathe-notebook-") as folder:
    environment = {**os.environ, "PYTHONPATH": HERE, "LATHE_LIBRARY_DIR": os.path.join(os.path.dirname(os.path.dirname(lathe)), "lib"),
                   "XDG_CACHE_HOME": os.path.join(folder, "cache"), "XDG_DATA_HOME": os.path.join(folder, "data"), "HOME": folder,
                   "MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("LATHE_NO_RECORDS",):  # the notebook uses the records that it makes
        environment.pop(name, None)
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", folder, "--output", "done", notebook],
                          env=environment, cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{notebook}: {done.stderr[-3000:]}")
    with open(os.path.join(folder, "done.ipynb")) as file:
        outputs = [output for cell in json.load(file)["cells"] for output in cell.get("outputs", [])]
    texts = ["".join(output.get("text", output.get("data", {}).get("text/plain", ""))) for output in outputs]
    for expected in ("MFLOP a run", "kernels", "largest:", "outputs agree with"):
        if not any(expected in text for text in texts):
            sys.exit(f"{notebook}: no output contains {expected!r}:\n" + "\n".join(texts))
    if not any("image/png" in output.get("data", {}) for output in outputs):
        sys.exit(f"{notebook}: no output is a plot")
    print(f"{len(codes)} cells, {lines} lines\n" + "\n".join(texts))
