#!/usr/bin/env python3
"""What the installed libraries promise: size, needed libraries, visible names.  LibraryTest.py BUILD LLVM_BIN"""
import os
import subprocess
import sys
import tempfile

build, llvm, limit = sys.argv[1], sys.argv[2], 2 << 20
allowed = ("libc.so", "libm.so", "libstdc++.so", "libgcc_s.so", "libpthread.so", "libdl.so", "ld-linux")


def tool(name, *arguments):
    return subprocess.run([os.path.join(llvm, name), *arguments], check=True, capture_output=True, text=True).stdout


def check(condition, message):
    if not condition:
        sys.exit(f"LibraryTest: {message}")


for library, prefix in (("liblathe_runtime.so", "lathe_"), ("liblathe_references.so", "lathe_reference_provider")):
    path = os.path.join(build, "lib", library)
    needed = [line.split()[-1].strip("[]") for line in tool("llvm-readelf", "--needed-libs", path).splitlines()
              if ".so" in line]
    for name in needed:
        regular_expressions = library == "liblathe_references.so" and name.startswith("libre2.so")
        check(name.startswith(allowed) or regular_expressions, f"{library} needs {name}")
    names = [line.split()[-1] for line in tool("llvm-nm", "-D", "--defined-only", path).splitlines() if line.strip()]
    check(names, f"{library} shows no names")
    for name in names:
        check(name.startswith(prefix), f"{library} shows {name}")
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, library)
        tool("llvm-strip", "-o", stripped, path)
        size = os.path.getsize(stripped)
    print(f"{library}: {size} bytes stripped, needs {' '.join(needed)}, {len(names)} names")
    if library == "liblathe_runtime.so":
        check(size < limit, f"{library} has {size} bytes stripped, expected less than {limit}")

# Every function of the header is there.
header = open(os.path.join(os.path.dirname(__file__), "..", "..", "..", "include", "lathe", "runtime.h")).read()
shown = tool("llvm-nm", "-D", "--defined-only", os.path.join(build, "lib", "liblathe_runtime.so"))
for line in header.splitlines():
    if line.startswith("LATHE_API"):
        name = line.split("(")[0].split()[-1].lstrip("*")
        if name != "lathe_register_references":
            check(f" {name}\n" in shown, f"{name} is declared but not in the library")
