#!/usr/bin/env python3
"""Installs the runtime and builds and runs the C and Python examples against it, as a user would.

usage: InstallTest.py SOURCE BUILD CMAKE CC LD PACKAGE_WRITER
"""
import os
import shutil
import subprocess
import sys
import tempfile

source, build, cmake, cc, ld, writer = sys.argv[1:7]


def run(*command, env=None, expect=0):
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if result.returncode != expect:
        sys.exit(f"InstallTest: {' '.join(command)}: exit code {result.returncode}, expected {expect}\n"
                 f"{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def same(got, expected, what):
    if got != expected:
        sys.exit(f"InstallTest: {what}: got {got!r}, expected {expected!r}")
    print(f"{what}: {got.strip()}")


with tempfile.TemporaryDirectory(prefix="lathe-install-") as folder:
    def at(*parts):
        return os.path.join(folder, *parts)

    for component in ("runtime", "development"):
        run(cmake, "--install", build, "--prefix", at("prefix"), "--component", component)
    run(writer, at("plain.lathe"))
    run(writer, at("reference.lathe"), "reference")
    plain, reference = "out: 1.5 1.5 1.5 1.5 (16 bytes)\n", "out: -0.5 -0.5 -0.5 -0.5 (16 bytes)\n"

    # 1. Through the CMake package; the tree may be moved after it was installed.
    shutil.move(at("prefix"), at("moved"))
    example = os.path.join(source, "examples", "c")
    run(cmake, "-S", example, "-B", at("example"), "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={at('moved')}",
        f"-DCMAKE_C_COMPILER={cc}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror -Wno-missing-field-initializers")
    run(cmake, "--build", at("example"))
    same(run(at("example", "run"), at("plain.lathe")), plain, "CMake, shared")
    same(run(at("example", "run"), at("plain.lathe"), "2"), plain, "CMake, shared, two threads")
    same(run(at("example", "run"), at("reference.lathe")), reference, "CMake, shared, references loaded")
    same(run(at("example", "run_static"), at("plain.lathe")), plain, "CMake, static")
    message = run(at("example", "run"), at("nothing.lathe"), expect=2)
    same(message, f"{at('nothing.lathe')}: cannot open: No such file or directory\n", "no such file")

    # 2. Through pkg-config.
    lib = next(os.path.join(at("moved"), name) for name in os.listdir(at("moved")) if name.startswith("lib"))
    if not os.path.exists(os.path.join(lib, "liblathe_runtime.so")):
        lib = next(root for root, _, files in os.walk(at("moved")) if "liblathe_runtime.so" in files)
    env = {"PKG_CONFIG_PATH": os.path.join(lib, "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "lathe", env=env).split()
    run(cc, os.path.join(example, "run.c"), "-o", at("run"), *flags)
    same(run(at("run"), at("plain.lathe"), env={"LD_LIBRARY_PATH": lib}), plain, "pkg-config, shared")

    # 3. A fully static program: the package's code is mapped by the runtime's own loader.
    flags = run("pkg-config", "--static", "--cflags", "--libs", "lathe", env=env).split()
    run(cc, "-static", f"--ld-path={ld}", os.path.join(example, "run.c"), "-o", at("run_static"), *flags)
    same(run(at("run_static"), at("plain.lathe")), plain, "pkg-config, fully static")
    message = run(at("run_static"), at("reference.lathe"), expect=2)
    if "reference operators are needed" not in message:
        sys.exit(f"InstallTest: a static program without references says: {message}")
    with open(at("register.c"), "w") as text:
        text.write("#include <lathe/runtime.h>\n#define main example_main\n"
                   f'#include "{example}/run.c"\n#undef main\n'
                   "int main(int argc, char **argv) { lathe_register_references(); return example_main(argc, argv); }\n")
    run(cc, "-static", f"--ld-path={ld}", at("register.c"), "-o", at("register"), f"-L{lib}", "-llathe_references", "-lre2", *flags)
    same(run(at("register"), at("reference.lathe")), reference, "fully static with references")

    # 4. Python on the installed libraries.
    env = {"LATHE_LIBRARY_DIR": lib, "PYTHONPATH": os.path.join(at("moved"), "share", "lathe", "python")}
    text = run("/usr/bin/python3", os.path.join(source, "python", "example.py"), at("plain.lathe"), "2", env=env)
    for expected in ("input  x: float32 Nx4", "(1, 4)", "overhead", "kernel    half node_half"):
        if expected not in text:
            sys.exit(f"InstallTest: python/example.py: {expected!r} is not in its output:\n{text}")
    print("Python example: fine")
