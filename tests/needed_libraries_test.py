"""usage: needed_libraries_test.py LATHE COMPILER

The program needs no compiler until a verb asks for it, and the compiler's C interface neither a store nor a laboratory."""
import re
import subprocess
import sys


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout)


program, compiler = sys.argv[1:]
names = needed(program)
assert any(name.startswith("libc.so") for name in names), names
assert not [name for name in names if re.match("libMLIR|libLLVM|liblathe_c", name)], names
names = needed(compiler)
assert any(name.startswith("libMLIR") for name in names), names
assert not [name for name in names if re.match("libsqlite|libpq|libstb|liblathe_cli", name)], names
symbols = subprocess.run(["nm", "-C", compiler], capture_output=True, text=True, check=True).stdout
assert not symbols or "lathe::compile(" in symbols, "no symbol of the compiler is found"
found = re.findall(r"lathe::(?:store|lab|tune|report|jobs|cli)::[\w:]*", symbols)
assert not found, found[:5]
