#!/usr/bin/env python3
"""The wheel in a fresh virtual environment, with and without LLVM:  wheel_test.py BUILD CMAKE VERSION PACKAGE_WRITER"""
import glob
import os
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
build, cmake, version, writer = sys.argv[1:]
LLVM = "/usr/lib/llvm-19/lib"


def run(*command, code=0, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != code:
        sys.exit(f"wheel_test: {' '.join(command)}: exit code {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"wheel_test: {part!r} is not in:\n{text}")


NETWORK = """func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}) -> (tensor<2x4xf32> {nn.name = "y"}) {
  %0 = nn.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("relu1")
  return %0 : tensor<2x4xf32>
}
"""
RUNTIME = """
import sys, numpy as np, lathe
x = np.arange(8, dtype=np.float32).reshape(2, 4) - 3
print("out", lathe.Package("plain.lathe").run({"x": x})["out"].tolist() == (x * 1.5).tolist(), lathe.__file__)
print("reference", lathe.Package("reference.lathe").run([x])["out"].tolist() == (x * -0.5).tolist())
"""
COMPILER = RUNTIME + """
from lathe.builder import Graph
print(lathe.compile("net.mlir", "net.lathe"))
print("compiled", lathe.Package("net.lathe").run([x])["y"].tolist() == np.maximum(x, 0).tolist())
print("verified", lathe.verify("net.mlir").ok, lathe.load("net.mlir").bench(repetitions=3, no_store=True).wall.count)
print("tuned", lathe.tune("net.mlir", trials=1, no_store=True).ok, lathe.records.list(shipped=True, rows=1).ok)
net = Graph("built")
net.output("y", net.relu(net.input("x", "f32", [2, 4])))
print("built", net.compile("built.lathe").run([x])["y"].tolist() == np.maximum(x, 0).tolist())
"""
MISSING = RUNTIME + """
try:
    lathe.compile("net.mlir", "net.lathe")
except lathe.Error as error:
    print("error", error)
"""

with tempfile.TemporaryDirectory(prefix="lathe-wheel-test-") as folder:
    def at(*parts):
        return os.path.join(folder, *parts)

    print(run(sys.executable, os.path.join(ROOT, "dev", "make_wheel.py"), build, at("dist"), cmake, version), end="")
    wheel, = glob.glob(at("dist", "*.whl"))
    try:
        import venv  # noqa: F401
        run(sys.executable, "-m", "venv", "--system-site-packages", at("venv"))  # NumPy is Debian's
    except (ImportError, SystemExit) as error:
        print(f"skipped: the wheel is written but not installed, python3-venv is missing: {error}")
        sys.exit(77)
    run(at("venv", "bin", "pip"), "install", "--no-index", wheel)
    run(writer, at("plain.lathe"))
    run(writer, at("reference.lathe"), "reference")
    with open(at("net.mlir"), "w") as file:
        file.write(NETWORK)
    environment = {"PATH": at("venv", "bin") + ":/usr/bin:/bin", "HOME": folder, "LATHE_NO_RECORDS": "1", "LATHE_NO_WAIT": "1"}
    python = at("venv", "bin", "python")
    expect(run(at("venv", "bin", "lathe"), "--version", env=environment, cwd=folder), f"lathe {version}")
    expect(run(python, "-m", "lathe", "zoo", "--list", env=environment, cwd=folder), "resnet50")
    said = run(python, "-c", COMPILER, env=environment, cwd=folder)
    expect(said, f"out True {at('venv')}", "reference True", "compiled True", "verified True 3", "tuned True True", "built True")

    # An empty folder in the place of MLIR's library, seen by one command alone. (That of LLVM lies in a folder with everything else.)
    hidden = ["unshare", "-rm", "sh", "-c", f'mkdir -p "{at("empty")}" && mount --bind "{at("empty")}" {LLVM} && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
        print("skipped: unshare cannot hide LLVM here; the wheel without LLVM is not tested")
        sys.exit(77)
    said = run(*hidden, python, "-c", MISSING, env=environment, cwd=folder)
    expect(said, f"out True {at('venv')}", "reference True", "error ", "libMLIR.so.19.1, which is not installed; the Debian packages libmlir-19 have them: apt-get install libmlir-19")
    expect(run(*hidden, at("venv", "bin", "lathe"), "compile", "net.mlir", "-o", "no.lathe", env=environment, cwd=folder, code=2), "the compiler is not installed")
    expect(run(*hidden, at("venv", "bin", "lathe"), "run", "plain.lathe", "--fill", "ones", "--batch", "2", env=environment, cwd=folder), "out: f32 2x4")
