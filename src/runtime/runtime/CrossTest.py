#!/usr/bin/env python3
"""Builds the runtime and its tests for another architecture, statically, and runs them in the emulator.

usage: CrossTest.py SOURCE BUILD CC CXX LD TRIPLE EMULATOR
Exits with 77 (skipped) where the cross libraries or the emulator are missing.
"""
import os
import sys

from Cross import Cross

cross = Cross(*sys.argv[1:8])
source = cross.source
gtest, mock = "/usr/src/googletest/googletest", "/usr/src/googletest/googlemock"

kernels = cross.compile(f"{source}/src/runtime/runtime/testing/Kernels.c", "-O2", "-fPIC", "-ffreestanding", "-fno-stack-protector",
                        "-fno-asynchronous-unwind-tables", f"-isystem{cross.include}", f"-I{source}/src/runtime")
image = os.path.join(cross.out, "kernels.bin")
cross.command(cross.ld, "-T", f"{source}/src/runtime/runtime/testing/Kernels.ld", "--oformat=binary", kernels, "-o", image)

tested = f'-DLATHE_TEST_KERNELS="{image}"'
objects = cross.runtime() + [cross.compile(f"{source}/src/runtime/runtime/testing/TestPlan.cpp", *cross.flags, tested)]
objects += [cross.compile(f"{gtest}/src/{name}.cc", f"-I{gtest}", f"-I{gtest}/include", "-pthread") for name in ("gtest-all", "gtest_main")]
for test in ("ContextTest", "ThreadPoolTest", "plan/AliasTest", "plan/BindingTest", "plan/ExecutionTest", "plan/ImageLoopsTest"):
    compiled = cross.compile(f"{source}/src/runtime/runtime/{test}.cpp", *cross.flags, tested, f"-I{gtest}/include", f"-I{mock}/include")
    if cross.run(cross.link(os.path.basename(test), compiled, *objects), "--gtest_brief=1").returncode:
        sys.exit(f"CrossTest: {test} fails on {cross.triple}")
print(f"{cross.triple}: fine")
