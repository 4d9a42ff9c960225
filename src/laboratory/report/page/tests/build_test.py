#!/usr/bin/env python3
"""report/page/build.sh where npm is missing, or cannot be asked: the build goes on without the page, and says so loudly."""
import os
import pathlib
import shutil
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ["sh", "dirname", "mkdir", "cat", "cmp", "cp", "find", "mktemp", "mv", "rm", "tail"]


def build(root, npm):
    """Runs a copy of the script with these tools and the text of a program `npm`, or none."""
    page, tools = root / "src" / "laboratory" / "report" / "page", root / "tools"
    page.mkdir(parents=True)
    tools.mkdir()
    for name in ["build.sh", "package-lock.json"]:
        shutil.copy(SOURCE / name, page)
    for tool in TOOLS:
        os.symlink(shutil.which(tool), tools / tool)
    if npm:
        (tools / "npm").write_text(npm)
        (tools / "npm").chmod(0o755)
    out = root / "build" / "release" / "report" / "page"
    files = [out / "report.html", out / "plots.mjs"]
    environment = {"PATH": str(tools)}
    done = subprocess.run(["sh", str(page / "build.sh"), *map(str, files)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done
    assert all(file.exists() and file.stat().st_size == 0 for file in files), files
    assert "lathe report WILL NOT WORK" in done.stderr, done.stderr
    again = subprocess.run(["sh", str(page / "build.sh"), "--again"], capture_output=True, text=True, env=environment)
    assert again.returncode == 0 and not any(file.exists() for file in files), again  # the next build tries again
    return done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        said = build(pathlib.Path(folder), None)
        assert "npm is missing" in said, said
    with tempfile.TemporaryDirectory() as folder:
        said = build(pathlib.Path(folder), "#!/bin/sh\necho network is unreachable >&2\nexit 1\n")
        assert "network is unreachable" in said and "cannot install" in said, said


main()
