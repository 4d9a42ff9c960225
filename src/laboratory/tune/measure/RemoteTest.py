#!/usr/bin/env python3
"""Runs MeasureTest with the runner at the other end of a pipe: built for another architecture, in the emulator.

usage: RemoteTest.py SOURCE BUILD CC CXX LD TRIPLE EMULATOR TEST
Exits with 77 (skipped) where the cross libraries or the emulator are missing.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "src", "runtime", "runtime"))
from Cross import Cross

cross = Cross(*sys.argv[1:8])
test = sys.argv[8]
folder = f"{cross.source}/src/laboratory/tune/measure"

with open(os.path.join(cross.build, "tune-runner-sources.txt")) as listed:  # tune/measure/CMakeLists.txt writes it
    objects = [cross.compile(path, *cross.flags) for path in listed.read().split()]
cross.link("lathe-tune-runner", *objects, *cross.runtime())

kernels = cross.compile(f"{folder}/testing/Misbehaving.c", "-O2", "-fPIC", "-ffreestanding", "-fno-stack-protector",
                        "-fno-asynchronous-unwind-tables", f"-isystem{cross.include}", f"-I{cross.source}/src/runtime")
image = os.path.join(cross.out, "misbehaving.bin")
cross.command(cross.ld, "-T", f"{folder}/testing/Misbehaving.ld", "--oformat=binary", kernels, "-o", image)

environment = {**os.environ, "LATHE_TEST_TARGET": f"{cross.triple},cpu=cortex-a76", "LATHE_TUNE_DIRECTORY": cross.out,
               "LATHE_TUNE_VIA": f"{shutil.which(cross.emulator)} -cpu max", "LATHE_TUNE_KERNELS": image}
result = subprocess.run([test, "--gtest_brief=1", "--gtest_filter=-*saysWhichProgramIsMissing"], env=environment)
sys.exit(f"RemoteTest: {test} fails through {cross.emulator}" if result.returncode else 0)
