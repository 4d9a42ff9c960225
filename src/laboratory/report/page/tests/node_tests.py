"""Runs a test of this folder under Node.js, with the packages that the build of the page has installed."""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(script, cases):
    missing = [what for what, here in [("Node.js", shutil.which("node")), ("esbuild (npm ci in report/page)", (HERE.parent / "node_modules" / "esbuild").is_dir())] if not here]
    if missing:
        print("SKIPPED: missing are " + ", ".join(missing))
        sys.exit(77)
    done = subprocess.run(["node", HERE / script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == cases, done.stdout
