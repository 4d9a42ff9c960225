#!/usr/bin/env python3
"""Writes the wheel of the Python package: the runtime, the compiler with its programs and records, and the package itself.

usage: make_wheel.py BUILD FOLDER CMAKE VERSION

BUILD is a complete build; the wheel is what `cmake --install` puts where, in the layout of python/lathe/_libraries/__init__.py. Its tag says
linux_x86_64 (or linux_aarch64) and not manylinux, because the compiler needs shared libraries of Debian. It serves Python 3.11 and
later (abi3).
"""
import base64
import hashlib
import json
import os
import platform
import re
import stat
import subprocess
import sys
import tempfile
import zipfile

BASE = {"libc6", "libstdc++6", "libgcc-s1"}  # every Debian has them

METADATA = """Metadata-Version: 2.1
Name: lathe
Version: {version}
Summary: Compiler and operator laboratory for neural networks
Requires-Python: >=3.11
Requires-Dist: numpy
Description-Content-Type: text/markdown

{text}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
ENTRY_POINTS = "[console_scripts]\nlathe = lathe._libraries:main\n"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"make_wheel.py: {' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def contents(stage):
    """{name in the wheel: file} for the installed files."""
    files = {}
    for folder, _, names in os.walk(stage):
        for name in names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, stage)
            if relative.startswith("share/lathe/python/"):
                files[relative.removeprefix("share/lathe/python/")] = path
            elif relative.startswith(("share/lathe/", "share/bash-completion/", "share/zsh/", "bin/")):
                files["lathe/" + relative] = path
            elif name.endswith(".so") and relative.startswith("lib"):  # under the name that programs open, which may be a link
                files["lathe/lib/" + name] = os.path.realpath(path)
    return files


def packages_of(binaries):
    """{name of a shared library: the Debian package that has it} for all libraries that binaries need besides each other."""
    needed = {}  # name: file
    for path in binaries:
        for name, found in re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", path), re.M):
            if os.path.realpath(found) not in binaries:
                needed[name] = os.path.realpath(found)
    known = {}
    for line in run("dpkg", "-S", *(f"*/{name}" for name in sorted(needed))).splitlines():
        packages, _, path = line.partition(": ")
        package, name = packages.partition(":")[0], os.path.basename(path)
        if "," not in packages and not package.endswith("-dev") and package not in BASE and os.path.realpath(path) == needed.get(name):
            known[name] = package  # and not a package of another architecture
    return {name: known[name] for name in sorted(needed) if name in known}


def is_binary(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def write(path, files, texts, info):
    """Writes the archive; the list of its files with their hashes comes last."""
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in [*sorted(files), *texts, f"{info}/RECORD"]:
            if name in files:
                with open(files[name], "rb") as file:
                    data = file.read()
            else:
                data = (texts[name] if name in texts else record + f"{info}/RECORD,,\n").encode()
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # equal content is an equal file
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if name.startswith("lathe/bin/") else 0o644)) << 16  # pip keeps modes of files that say so
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"


def main():
    build, folder, cmake, version = sys.argv[1:]
    tag = f"cp311-abi3-linux_{platform.machine()}"
    info = f"lathe-{version}.dist-info"
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    with tempfile.TemporaryDirectory(prefix="lathe-wheel-") as stage:
        stage = os.path.realpath(stage)
        for component in ("runtime", "compiler", "development"):
            run(cmake, "--install", build, "--prefix", stage, "--strip", "--component", component)
        files = contents(stage)
        for needed in ("lathe/bin/lathe", "lathe/lib/lathe_python.abi3.so", "lathe/lib/liblathe_cli_compiler.so", "lathe/lathe_operators.py",
                       "lathe/py.typed", "lathe/bin/lathe-tune-runner"):
            if needed not in files:
                sys.exit(f"make_wheel.py: {needed} is not installed by {build}")
        with open(os.path.join(root, "docs", "python.md"), encoding="utf-8") as file:
            text = file.read()
        texts = {"lathe/debian.json": json.dumps(packages_of([path for path in files.values() if is_binary(path)]), indent=1) + "\n",
                 f"{info}/METADATA": METADATA.format(version=version, text=text), f"{info}/WHEEL": WHEEL.format(tag=tag),
                 f"{info}/entry_points.txt": ENTRY_POINTS}
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"lathe-{version}-{tag}.whl")
        write(path + ".part", files, texts, info)
        os.replace(path + ".part", path)
        total = sum(os.path.getsize(each) for each in files.values())
    print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB, {len(files)} files of {total / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
