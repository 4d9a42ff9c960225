#!/usr/bin/python3
"""Every source compiles by itself, too: release builds compile those of a room ten at a time (LATHE_UNITY), where one that
includes too little goes unnoticed.

usage: single_sources_test.py SOURCE-FOLDER FOLDER

Builds what the tree has but tests in FOLDER, which is kept, so that a second run compiles what has changed.
"""
import os
import pathlib
import re
import subprocess
import sys

source, folder = (pathlib.Path(path).resolve() for path in sys.argv[1:])
configure = ["cmake", "--preset", "single", "-B", str(folder), "-DBUILD_TESTING=OFF", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]
subprocess.run(configure, cwd=source, check=True, stdout=subprocess.DEVNULL)
objects = [line.split(":")[0] for line in subprocess.check_output(["ninja", "-C", folder, "-t", "targets", "all"], text=True).splitlines()
           if re.search(r"\.o: CXX_COMPILER", line)]
unity = [name for name in objects if "unity_" in name]
if unity or len(objects) < 500:
    sys.exit(f"{len(objects)} objects, {len(unity)} of several sources: expected every source of the tree by itself")
sys.exit(subprocess.run(["ninja", "-C", folder, "-k", "0", "-j", str(os.cpu_count()), *objects], check=False).returncode)
