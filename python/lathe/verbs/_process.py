"""Runs verbs of the program `lathe`."""
from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import typing
from typing import IO, Any, Callable, Mapping, Sequence, TypeVar

import numpy as np

from lathe import _libraries
from lathe._libraries import Error
from lathe.results import Result
from lathe.verbs._pairs import PAIRS, WITHOUT_JSON

Path = str | os.PathLike[str]
Texts = str | int | Sequence[str | int]
Pairs = str | Sequence[str] | Mapping[str, Any]
Arrays = Path | Sequence[Any] | Mapping[Any, Any]
Progress = Callable[[str], object]
R = TypeVar("R", bound=Result)

# How the values of a flag NAME=VALUES are joined, by what the program calls them.
_JOINS = {"DIMS": "x", "EXTENTS": ",", "FIRST..LAST": ".."}

# Arguments with which a verb takes no --json.
_TEXT_ALONE = {"compile": ("emit", "export_space"), "tune": ("train_model", "export_space"), "ops bench": ("list", "dry_run")}


def _pair(name: str, value: Any, join: str) -> str:
    several = isinstance(value, (list, tuple, np.ndarray))
    return f"{name}={join.join(map(str, value)) if several else os.fspath(value) if isinstance(value, os.PathLike) else value}"


def flags_of(arguments: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as flags: exact_math=True is --exact-math, shape={"x": (1, 3)} is --shape=x=1x3."""
    flags: list[str] = []
    for name, value in arguments.items():
        flag = "-O" if name == "level" else "--" + name.rstrip("_").replace("_", "-")
        if isinstance(value, Mapping):
            join = _JOINS.get(PAIRS.get(name, "").partition("=")[2], "x")
            value = [_pair(str(key), one, join) for key, one in value.items()]
            if PAIRS.get(name) == "SYMBOL=EXTENT":
                value = [" ".join(value)]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                flags.append(flag)
            elif one is not None and one is not False:
                flags.append(f"{flag}={os.fsdecode(one) if isinstance(one, (bytes, os.PathLike)) else one}" if flag != "-O" else f"-O{one}")
    return flags


def _write_arrays(value: Any, folder: str) -> list[str]:
    """Arrays as files that --input reads; texts and paths stay as they are."""
    if isinstance(value, np.ndarray):  # whose rows would be taken for the inputs
        raise Error("input: expected {name: array}, a list of arrays or files, got an array: pass [array]")
    if isinstance(value, (str, os.PathLike)):
        return [os.fspath(value)]
    items = list(value.items() if isinstance(value, Mapping) else enumerate(value))
    if not isinstance(value, Mapping) and all(isinstance(one, (str, os.PathLike)) for _, one in items):
        return [os.fspath(one) for _, one in items]
    texts = []
    for number, (name, array) in enumerate(items):
        if isinstance(array, (str, os.PathLike)):
            texts.append(f"{name}={os.fspath(array)}")
            continue
        path = os.path.join(folder, f"input{number}.npy")
        np.save(path, np.asarray(array), allow_pickle=False)
        texts.append(f"{name}={path}")
    return texts


class _Relay:
    """What the program says on its standard error: shown as it comes, but for the line of an error."""

    def __init__(self, verb: str, progress: Progress | None) -> None:
        self.prefix, self.progress, self.held, self.lines = f"lathe {verb}: ", progress, "", list[str]()

    def say(self, line: str) -> None:
        if self.progress is not None:
            self.progress(line)
        else:
            print(line, file=sys.stderr, flush=True)

    def read(self, stream: IO[str]) -> None:
        for line in stream:
            line = line.rstrip("\n")
            self.lines.append(line)
            if line.startswith(self.prefix):
                self.held = line
            else:
                self.say(line)


def _stop(process: subprocess.Popen[str]) -> None:
    """Ends the program and its children, which keep what they have measured."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            process.send_signal(number)
            process.wait(10)
            return
        except subprocess.TimeoutExpired:
            continue


def _reason(verb: str, path: str, code: int, relay: _Relay) -> str:
    """One line that says why the program failed."""
    if "the compiler is not installed" in relay.held or code == 127:
        library = os.path.join(os.path.dirname(path), "..", "lib", "liblathe_cli_compiler.so")
        for needed in (path, os.path.normpath(library)):
            if os.path.exists(needed) and (missing := _libraries.missing_packages(needed)):
                return f"lathe {verb}: {missing}"
    last = relay.held.removeprefix(relay.prefix) or (relay.lines[-1] if relay.lines else "")
    if code < 0:
        return f"lathe {verb}: ended by signal {-code}"
    return last or f"lathe {verb}: exit code {code}"


def run_program(verb: str, words: Sequence[str], progress: Progress | None = None) -> tuple[int, str, list[str]]:
    """Runs `lathe VERB WORDS`. Returns the exit code, standard output and the lines of standard error. Raises Error unless the code
    is 0 or 1. An exception of `progress`, or KeyboardInterrupt, ends the program."""
    path = _libraries.program()
    relay = _Relay(verb, progress)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen([path, *verb.split(), *words], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
                                   text=True, encoding="utf-8", errors="replace")
        assert process.stderr is not None
        try:
            relay.read(process.stderr)
            code = process.wait()
        except BaseException:
            drain = threading.Thread(target=process.stderr.read, daemon=True)  # so that it does not wait for us
            drain.start()
            _stop(process)
            drain.join(10)
            if not drain.is_alive():  # a child that is left holds the pipe, and closing it would wait for the reader
                process.stderr.close()
            raise
        process.stderr.close()
        if code not in (0, 1):
            raise Error(_reason(verb, path, code, relay))
        if relay.held:
            relay.say(relay.held)
        output.seek(0)
        return code, output.read(), relay.lines


def execute(function: Callable[..., R], arguments: dict[str, Any]) -> R:
    """Runs the verb of a function of lathe.verbs with the arguments of the function, and returns its result. Module and name of
    the function say which verb. Its signature says which arguments are not flags: arguments that may be given without a name,
    except `output`."""
    words = [part.rstrip("_").replace("_", "-") for part in (function.__module__.rpartition(".")[2], function.__name__)]
    verb = " ".join(dict.fromkeys(words))
    kind: type[R] = typing.get_type_hints(function)["return"]
    positionals = [name for name, parameter in inspect.signature(function).parameters.items()
                   if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and name != "output"]
    progress = arguments.pop("progress", None)
    words = []
    for name in positionals:
        value = arguments.pop(name)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                word = os.fspath(one)
                words.append("./" + word if word.startswith("-") and word != "-" else word)  # a file, no flag
    with tempfile.TemporaryDirectory(prefix="lathe-python-") as folder:
        if arguments.get("input") is not None:
            arguments["input"] = _write_arrays(arguments["input"], folder)
        kind.prepare(arguments, folder)
        report = os.path.join(folder, "report.json")
        json_flags = ["--json", report] if verb not in WITHOUT_JSON and not any(arguments.get(name) for name in _TEXT_ALONE.get(verb, ())) else []
        code, text, lines = run_program(verb, [*words, *flags_of(arguments), *json_flags], progress)
        data: dict[str, Any] = {}
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                data = json.load(file)
        return kind(verb, code, text, lines, data, arguments, folder)
