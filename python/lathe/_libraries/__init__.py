"""The libraries and the program of Lathe: where they are, and calls into them."""
from __future__ import annotations

import ctypes
import glob
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any


class Error(Exception):
    """An error of Lathe: one line with place, expected and got."""


class Cancelled(Error):
    """A run that `Context.cancel` has ended."""


_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def folders() -> list[str]:
    """Folders that may contain the libraries, in order of preference."""
    given = os.environ.get("LATHE_LIBRARY_DIR")
    if given:
        return [given]  # an explicit choice: search nothing else
    clone = os.path.dirname(os.path.dirname(_HERE))
    prefix = os.path.join(_HERE, "..", "..", "..", "..")  # installed as PREFIX/share/lathe/python/lathe
    places = [os.path.join(_HERE, "lib"),  # of a wheel
              os.path.join(clone, "build", "release", "lib"), os.path.join(clone, "lib"), os.path.join(prefix, "lib"),
              *sorted(glob.glob(os.path.join(prefix, "lib", "*-linux-gnu*"))), os.path.join(prefix, "lib64")]
    return [os.path.normpath(place) for place in places]


def _open(name: str) -> ctypes.CDLL:
    places = folders()
    path = next((path for path in (os.path.join(folder, name) for folder in places) if os.path.exists(path)), None)
    try:
        return ctypes.CDLL(path or name)
    except OSError as error:
        if path:
            raise Error(missing_packages(path) or f"{path}: cannot be loaded: {error}") from None
        raise Error(f"{name} is not in {', '.join(places)} nor where the system looks: build it (make build), or set "
                    f"LATHE_LIBRARY_DIR to its folder") from None


_loaded: dict[str, Any] = {}


def library(name: str, last_error: str) -> Any:
    """Loads a library once; its functions return a status that `check` converts to an Error."""
    if name not in _loaded:
        opened = _open(name)
        getattr(opened, last_error).restype = ctypes.c_char_p
        _loaded[name] = opened
    return _loaded[name]


def runtime() -> Any:
    """liblathe_runtime.so."""
    found = _loaded.get("liblathe_runtime.so")
    if found is None:
        found = library("liblathe_runtime.so", "lathe_last_error")
        found.lathe_runtime_version.restype = ctypes.c_char_p
        for name in ("lathe_model_input_count", "lathe_model_output_count", "lathe_context_profile_rows"):
            getattr(found, name).restype = ctypes.c_size_t
        found.lathe_model_free.restype = found.lathe_context_free.restype = found.lathe_pool_free.restype = None
    return found


_CORE = "lathe_python.abi3.so"


def core() -> Any:
    """The extension module lathe._core: beside the runtime's library, or in its folder `lathe/` where it is installed."""
    if _CORE not in _loaded:
        runtime()  # the extension finds it by its name, since it is loaded
        places = [os.path.join(folder, below) for folder in folders() for below in (_CORE, os.path.join("lathe", _CORE))]
        path = next((path for path in places if os.path.exists(path)), None)
        if path is None:
            raise Error(f"{_CORE} is not in {', '.join(folders())}: build it (make build; it needs the Debian package python3-dev)")
        loader = importlib.machinery.ExtensionFileLoader("lathe._core", path)
        spec = importlib.util.spec_from_loader("lathe._core", loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        _loaded[_CORE] = module
    return _loaded[_CORE]


def check(status: int, last_error: Any) -> None:
    """Raises the library's last error for a status that is not 0."""
    if status != 0:
        raise Error(last_error().decode(errors="replace"))


def call(name: str, *arguments: Any) -> None:
    """Calls a function of the runtime that returns a status."""
    found = runtime()
    check(getattr(found, name)(*arguments), found.lathe_last_error)


def encoded_path(path: Any) -> bytes:
    """Encodes a path for C. Raises Error for a zero byte."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise Error(f"{path!r}: expected a path, got one with a zero byte")
    return encoded


def int32(what: str, value: int) -> int:
    """Checks that `value` fits 32 bits, because C would truncate it."""
    if not -2**31 <= value < 2**31:
        raise Error(f"{what} is {value}, expected a number of 32 bits")
    return int(value)


def new(structure: Any, *fields: Any) -> Any:
    """A structure of the C interface, which carries its size."""
    return structure(ctypes.sizeof(structure), *fields)


def program() -> str:
    """The program `lathe` beside the libraries, else of PATH."""
    bins = [os.path.normpath(os.path.join(folder, up, "bin")) for folder in folders()
            for up in (["..", os.path.join("..", "..")] if "-linux-gnu" in os.path.basename(folder) else [".."])]
    for path in (os.path.join(folder, "lathe") for folder in bins):
        if os.access(path, os.X_OK) and os.path.isfile(path) and not _is_ours(path):
            return path
    found = shutil.which("lathe")
    if not found or _is_ours(found):
        raise Error(f"the program lathe is not in {', '.join(bins)} nor in PATH: build it (make build)")
    return found


def _is_ours(path: str) -> bool:
    """Whether a program is the script that a wheel installs, which would only come back here."""
    with open(path, "rb") as file:
        return b"lathe._libraries" in file.read(1000)


def missing_packages(path: str) -> str | None:
    """What to install for the program or library at `path`, in one line; None if nothing that it needs is missing."""
    try:
        told = subprocess.run(["ldd", path], capture_output=True, text=True, errors="replace").stdout
    except OSError:
        return None
    missing = sorted(set(re.findall(r"^\s*(\S+) => not found", told, re.M)))
    if not missing:
        return None
    try:
        with open(os.path.join(_HERE, "debian.json"), encoding="utf-8") as file:  # the wheel has it
            known = json.load(file)
    except OSError:
        known = {}
    packages = sorted({known[name] for name in missing if name in known})
    install = f"; the Debian packages {' '.join(packages)} have them: apt-get install {' '.join(packages)}" if packages else ""
    return f"{path}: needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed{install}"


def main() -> None:
    """The command `lathe` of a wheel: becomes the program."""
    try:
        path = program()
    except Error as error:
        sys.exit(f"lathe: {error}")
    if reason := missing_packages(path):
        sys.exit(f"lathe: {reason}")
    os.execv(path, ["lathe", *sys.argv[1:]])
