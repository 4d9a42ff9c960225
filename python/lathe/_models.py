"""Models and packages as objects, with the verbs as methods."""
from __future__ import annotations

import ctypes
import functools
import inspect
import os
import tempfile
import threading
from typing import Any, Callable, Concatenate, ParamSpec, TypeVar

from lathe import verbs
from lathe._context import Context, Pool, Inputs
from lathe._libraries import Error, call, encoded_path, new, runtime
from lathe._ports import Port, Quantization
from lathe._structures import LoadOptions, RawPort, RawQuantization
from lathe.results._runnable import Runnable
from lathe.verbs._process import Path

P = ParamSpec("P")
T = TypeVar("T")
_MAGIC = b"LATHEPKG"


def _method(function: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Model, P], T]:
    """The function of a verb as a method of a model, which adds its path and flags."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def method(self: Model, /, *arguments: P.args, **keywords: P.kwargs) -> T:
        given = {name: value for name, value in self.flags.items() if name in known}
        return function(self.path, *arguments, **{**given, **keywords})

    return method


class Model(Runnable):
    """A model file of any format, or zoo:NAME. Verbs of the command line are methods, with the path and `flags` filled in. `run`
    compiles the model when it is first called.

    path: of the model.
    threads: of its runs.
    flags: of every verb that has them, such as shape={"data": (1, 3, 224, 224)} or signature="encode".
    """

    def __init__(self, path: Path, threads: int = 1, **flags: Any) -> None:
        self.path: str = os.fspath(path)
        if not self.path.startswith("zoo:") and not os.path.exists(encoded_path(self.path)):
            raise Error(f"{self.path}: cannot open: No such file or directory")
        self.threads, self.flags = threads, flags
        self._compiled: Package | None = None
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    @property
    def package(self) -> Package:
        """The model as a package, compiled at first use for `threads`."""
        with self._lock:
            if self._compiled is None:
                with tempfile.TemporaryDirectory(prefix="lathe-python-") as folder:  # loaded packages need no name
                    made = os.path.join(folder, "model.lathe")
                    self.compile(made, threads=self.threads, quiet=True)
                    self._compiled = Package(made, threads=self.threads)
            return self._compiled

    bench = _method(verbs.bench)
    check = _method(verbs.check)
    compare = _method(verbs.compare)
    compile = _method(verbs.compile)
    diff = _method(verbs.diff_models)
    evaluate = _method(verbs.evaluate)
    export = _method(verbs.export)
    extract = _method(verbs.extract)
    inspect = _method(verbs.inspect)
    profile = _method(verbs.profile)
    quantize = _method(verbs.quantize)
    segments = _method(verbs.segments)
    stage = _method(verbs.stage)
    sweep = _method(verbs.sweep)
    tune = _method(verbs.tune)
    verify = _method(verbs.verify)


class Package(Model):
    """A loaded package: immutable, may be shared by threads. Callers of `run` use one context in turn. It needs no compiler."""

    def __init__(self, path: Path, check_constants: bool = True, threads: int = 1, **flags: Any) -> None:
        self._handle = ctypes.c_void_p()
        options = new(LoadOptions, 0 if check_constants else 4, 0)  # LATHE_LOAD_SKIP_CONSTANTS
        call("lathe_model_load", encoded_path(path), ctypes.byref(options), ctypes.byref(self._handle))
        self._library = runtime()  # kept until this object goes
        super().__init__(path, threads, **flags)
        self._inputs, self._outputs = self._ports("input"), self._ports("output")
        self._context: Context | None = None

    def __del__(self) -> None:
        if getattr(self, "_library", None) is not None and self._handle:
            self._library.lathe_model_free(self._handle)

    def _ports(self, kind: str) -> list[Port]:
        ports = []
        for index in range(getattr(self._library, f"lathe_model_{kind}_count")(self._handle)):
            raw = new(RawPort)
            call(f"lathe_model_{kind}", self._handle, ctypes.c_size_t(index), ctypes.byref(raw))
            ports.append(Port(raw))
            how = new(RawQuantization)
            call(f"lathe_model_{kind}_quantization", self._handle, ctypes.c_size_t(index), ctypes.byref(how))
            if how.count:
                ports[-1].quantization = Quantization(how.scales[:how.count], how.zero_points[:how.count], how.axis, ports[-1].dtype)
        return ports

    @property
    def package(self) -> Package:
        return self

    @property
    def inputs(self) -> list[Port]:
        return self._inputs

    @property
    def outputs(self) -> list[Port]:
        return self._outputs

    def context(self, threads: int | None = None, pool: Pool | None = None, first_slot: int = 0) -> Context:
        return Context(self, self.threads if threads is None else threads, pool, first_slot)

    def run(self, inputs: Inputs, dequantize: bool = False) -> dict[str, Any]:
        context = self._context
        if context is None:
            with self._lock:
                context = self._context = self._context or self.context()
        return context.run({} if inputs is None else inputs, dequantize=dequantize)


def load(path: Path, check_constants: bool = True, threads: int = 1, **flags: Any) -> Model:
    """Loads a package, or names a model of any other format.

    path: a package, a model file, the folder of a SavedModel, or zoo:NAME.
    check_constants: whether the weights of a package are checked against their hash.
    threads: of runs (0: all CPUs).
    flags: of the model, as of Model.
    """
    name = os.fspath(path)
    if not name.startswith("zoo:") and os.path.isfile(encoded_path(name)):
        with open(name, "rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return Model(name, threads, **flags)
        return Package(name, check_constants, threads, **flags)
    if name.endswith(".lathe"):
        return Package(name, check_constants, threads, **flags)  # which says what is wrong
    return Model(name, threads, **flags)


def runtime_version() -> str:
    """The version of the runtime's library."""
    return str(runtime().lathe_runtime_version().decode())
