#!/usr/bin/env python3
"""Builds the runtime and its tests for another architecture, statically, and runs them in the emulator.

usage: CrossTest.py SOURCE BUILD CC CXX LD TRIPLE EMULATOR
Exits with 77 (skipped) where the cross libraries or the emulator are missing.
"""
import os
import shutil
import subprocess
import sys

source, build, cc, cxx, ld, triple, emulator = sys.argv[1:8]
include = f"/usr/{triple}/include"
if not os.path.isdir(include) or not shutil.which(emulator):
    print(f"SKIPPED: {include} or {emulator} is missing: dev/packages.txt names the packages")
    sys.exit(77)
out = os.path.join(build, "cross", triple)
os.makedirs(out, exist_ok=True)
gtest = "/usr/src/googletest/googletest"
cache = [tool for tool in [shutil.which("ccache")] if tool]


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"CrossTest: {' '.join(command)}\n{result.stdout}{result.stderr}")


def compile_file(path, *flags):
    target = os.path.join(out, path.strip("/").replace("/", "_") + ".o")
    compiler = [cc] if path.endswith(".c") else [cxx, "-std=c++20"]
    run(*cache, *compiler, f"--target={triple}", "-O1", *flags, "-c", path, "-o", target)
    return target


kernels = compile_file(f"{source}/runtime/testing/Kernels.c", "-O2", "-fPIC", "-ffreestanding", "-fno-stack-protector",
                       "-fno-asynchronous-unwind-tables", f"-isystem{include}", f"-I{source}")
image = os.path.join(out, "kernels.bin")
run(ld, "-T", f"{source}/runtime/testing/Kernels.ld", "--oformat=binary", kernels, "-o", image)

flags = [f"-I{source}", f"-I{source}/include", f"-I{build}", "-DFMT_HEADER_ONLY", '-DLATHE_VERSION="test"',
         '-DLATHE_MULTIARCH=""', f'-DLATHE_TEST_KERNELS="{image}"', "-pthread", "-idirafter/usr/include"]
rooms = {"support": ["Dim", "ElementType"], "package": ["Package", "Hash", "Writer"], "runtime/testing": ["TestPlan"],
         "runtime": ["Tensor", "Binding", "Context", "Cpu", "Execution", "Loader", "Model", "PlanAnalysis", "Planner", "Program",
                     "References", "ThreadPool"]}
objects = [compile_file(f"{source}/{room}/{name}.cpp", *flags) for room, names in rooms.items() for name in names]
objects += [compile_file(f"{gtest}/src/{name}.cc", f"-I{gtest}", f"-I{gtest}/include", "-pthread")
            for name in ("gtest-all", "gtest_main")]
mock = "/usr/src/googletest/googlemock"
for test in ("ContextTest", "ThreadPoolTest"):
    tested = compile_file(f"{source}/runtime/{test}.cpp", *flags, f"-I{gtest}/include", f"-I{mock}/include")
    program = os.path.join(out, test)
    run(cxx, f"--target={triple}", f"--ld-path={ld}", "-static", "-pthread", tested, *objects, "-o", program)
    result = subprocess.run([emulator, program, "--gtest_brief=1"])
    if result.returncode:
        sys.exit(f"CrossTest: {test} fails on {triple}")
print(f"{triple}: fine")
