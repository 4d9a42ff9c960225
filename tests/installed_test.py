"""What `make install` puts where, which libraries and C names it has, and what cross-built programs are made of, is what
tests/installed.txt says: no change adds a file, a needed library or a public name without anybody seeing it.

usage: installed_test.py CMAKE BUILD [--update]

--update writes the list. Left out: pages and manual pages, names that C++'s library brings along, libraries that every program needs,
and programs that are built only where their library is (dev/packages.txt, "bench?").
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile

cmake, build = sys.argv[1:3]
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "installed.txt")
LEFT_OUT = re.compile(r"share/(doc|man|lintian)/|bin/lathe-provider-(onednn|openblas|eigen|xnnpack)$|runner-opencv$|share/lathe/(records|models)/")
EVERYWHERE = re.compile(r"(libstdc\+\+|libm|libgcc_s|libc|ld-linux-.*)\.so\.\d+")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def installed(folder):
    """A line for every file, below it the libraries and C names of a program or library."""
    for path in sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names):
        name = re.sub(r"lib/[^/]*-linux-gnu/", "lib/", os.path.relpath(path, folder))
        name = re.sub(r"(\.so\.\d+)\.[\d.]+$", r"\1.VERSION", name)
        if LEFT_OUT.search(name):
            continue
        yield name
        with open(path, "rb") as file:
            if os.path.islink(path) or file.read(4) != b"\x7fELF":
                continue
        needed = [library for library in re.findall(r"NEEDED\s+(\S+)", output("objdump", "-p", path)) if not EVERYWHERE.fullmatch(library)]
        if needed:
            yield "  needs " + " ".join(sorted(needed))
        names = re.findall(r" [TDBV] (lathe_\w+|PyInit_\w+)$", output("nm", "-D", "--defined-only", path), re.M)
        yield from (f"  exports {c_name}" for c_name in sorted(names))


def lines():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([cmake, "--install", build, "--prefix", "/"], env={**os.environ, "DESTDIR": folder}, stdout=subprocess.DEVNULL,
                       check=True)
        yield from installed(folder)
    for listed in ("runtime-sources.txt", "tune-runner-sources.txt"):
        yield f"{listed}, for other processors"
        with open(os.path.join(build, listed), encoding="utf-8") as file:
            yield from sorted("  " + line.strip().rpartition("/src/")[2] for line in file)


def main():
    now = list(lines())
    if "--update" in sys.argv:
        with open(LIST, "w", encoding="utf-8") as file:
            file.write("\n".join(now) + "\n")
        return
    with open(LIST, encoding="utf-8") as file:
        listed = file.read().splitlines()
    bad = list(difflib.unified_diff(listed, now, "tests/installed.txt", "installed now", lineterm="", n=1))
    if bad:
        sys.exit("\n".join(bad) + f"\nif the change is wanted: {' '.join(sys.argv)} --update")
    print(f"{len(now)} lines agree")


main()
