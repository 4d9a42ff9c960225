#!/usr/bin/python3
"""Sources have the form that .clang-format states (`make format`).

usage: format_test.py SOURCE-FOLDER
"""
import os
import shutil
import subprocess
import sys

FORMATTER = "clang-format-19"
FOLDERS = ("bench", "dev", "examples", "include", "python", "src", "tests")

if not shutil.which(FORMATTER):
    print(f"skipped: {FORMATTER} is missing (dev/setup.sh installs it)")
    sys.exit(77)
os.chdir(sys.argv[1])
files = [os.path.join(folder, name) for top in FOLDERS for folder, folders, names in os.walk(top)
         for name in names if name.endswith((".c", ".cpp", ".h")) and "node_modules" not in folder]
if len(files) < 1000:
    sys.exit(f"{len(files)} sources below {', '.join(FOLDERS)}: expected more than 1000")
checked = subprocess.run([FORMATTER, "--dry-run", "--Werror", *files], capture_output=True, text=True, check=False)
wrong = sorted({line.split(":")[0] for line in checked.stderr.splitlines() if "clang-format-violations" in line})
if checked.returncode or wrong:
    sys.exit(f"{len(wrong)} of {len(files)} files have another form than `make format` gives them: {' '.join(wrong)}\n{checked.stderr[-2000:]}")
print(f"{len(files)} files")
