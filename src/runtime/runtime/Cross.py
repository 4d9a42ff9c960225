"""The runtime for another architecture: its sources compiled with clang, linked statically, run in the emulator. For tests."""
import fcntl
import os
import shutil
import subprocess
import sys


class Cross:
    """SOURCE BUILD CC CXX LD TRIPLE EMULATOR; ends the test with 77 (skipped) where the cross libraries or the emulator are missing.

    One at a time for a build folder: the next waits until this process has ended.
    """

    def __init__(self, source, build, cc, cxx, ld, triple, emulator):
        self.include = f"/usr/{triple}/include"
        if not os.path.isdir(self.include) or not shutil.which(emulator):
            print(f"SKIPPED: {self.include} or {emulator} is missing: dev/packages.txt names the packages")
            sys.exit(77)
        self.source, self.build, self.cc, self.cxx, self.ld, self.triple, self.emulator = source, build, cc, cxx, ld, triple, emulator
        self.out = os.path.join(build, "cross", triple)
        os.makedirs(self.out, exist_ok=True)
        self.lock = open(os.path.join(self.out, "lock"), "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.cache = [tool for tool in [shutil.which("ccache")] if tool]
        self.flags = [*(f"-I{floor.path}" for floor in os.scandir(f"{source}/src")), f"-I{source}/include", f"-I{build}", '-DLATHE_VERSION="test"',
                      '-DLATHE_MULTIARCH=""', "-pthread", "-idirafter/usr/include"]

    def command(self, *words):
        result = subprocess.run(words, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{' '.join(words)}\n{result.stdout}{result.stderr}")

    def compile(self, path, *flags):
        target = os.path.join(self.out, path.strip("/").replace("/", "_") + ".o")
        compiler = [self.cc] if path.endswith(".c") else [self.cxx, "-std=c++20"]
        self.command(*self.cache, *compiler, f"--target={self.triple}", "-O1", *flags, "-c", path, "-o", target)
        return target

    def runtime(self, *flags):
        with open(os.path.join(self.build, "runtime-sources.txt")) as listed:  # runtime/CMakeLists.txt writes it
            return [self.compile(path, *self.flags, *flags) for path in listed.read().split()]

    def link(self, name, *objects):
        program = os.path.join(self.out, name)
        self.command(self.cxx, f"--target={self.triple}", f"--ld-path={self.ld}", "-static", "-pthread", *objects, "-o", program)
        return program

    def run(self, *words, cpu="max"):
        return subprocess.run([self.emulator, "-cpu", cpu, *words])
