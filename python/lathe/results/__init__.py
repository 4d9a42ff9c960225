"""What verbs return: objects that print as the table of the command line, have the fields of its JSON (--json), and turn into
frames of pandas. docs/python.md is the introduction."""
from __future__ import annotations

import html
import importlib
import os
import typing
from typing import TYPE_CHECKING, Any, ClassVar, Iterator

import numpy as np

from lathe._libraries import Error
from lathe.results._runnable import Runnable

if TYPE_CHECKING:
    from lathe._models import Package

Arrays = dict[str, "np.ndarray[Any, Any]"]


class Row(dict[str, Any]):
    """An object of the JSON, whose keys are attributes, too."""

    if not TYPE_CHECKING:  # for the type checker an attribute that no class declares is a mistake
        def __getattr__(self, name: str) -> Any:
            if name in self:
                return self[name]
            raise AttributeError(f"{type(self).__name__} has no field '{name}'; it has: {', '.join(self)}")


class Times(Row):
    """Times of runs, in milliseconds."""
    count: int
    median_ms: float
    mean_ms: float
    min_ms: float
    max_ms: float
    std_ms: float
    mad_ms: float
    p05_ms: float
    p25_ms: float
    p75_ms: float
    p95_ms: float
    p99_ms: float


class InstancesRow(Row):
    """Runs of several instances of a package that run at the same time."""
    count: int
    instance_threads: int
    runs: int
    median_ms: float
    p99_ms: float
    inputs_per_s: float
    throughput: dict[str, Any] | None  # inputs_per_s / that of a single instance; None for the single one
    mistrusted: str


class KernelRow(Row):
    """A kernel, or a call of a reference, in a profile."""
    index: int
    kind: str
    name: str
    family: str
    nodes: list[str]
    shapes: str
    schedule: str
    time_ms: float
    min_ms: float
    share: float
    type: str
    gflops: float
    gb_s: float
    roofline_share: float
    bound: str


class Peer(Row):
    """A runtime that was compared with. ratio: its time over ours."""
    peer: str
    agrees: bool
    ratio: float
    ratio_low: float
    ratio_high: float
    verdict: str


class Side(Row):
    """One side of a comparison."""
    name: str
    version: str
    model: str


class OutputRow(Row):
    """What an output of a run holds."""
    name: str
    type: str
    dims: list[int]
    min: float
    max: float
    mean: float
    mistrusted: str


class PortRow(Row):
    """An input or output of a model. dims: its extents, such as "Nx3x224x224"."""
    name: str
    type: str
    dims: str


def _converted(value: Any, hint: Any) -> Any:
    """A part of the JSON as what the class declares: objects as Row or a class derived from it."""
    if isinstance(value, dict):
        kind: type[Row] = Row
        if isinstance(hint, type) and issubclass(hint, Row):
            kind = hint
        hints = typing.get_type_hints(kind)
        return kind({key: _converted(each, hints.get(key)) for key, each in value.items()})
    if isinstance(value, list):
        inner = typing.get_args(hint)
        return [_converted(each, inner[0] if inner else None) for each in value]
    return value


class Result:
    """What a verb returns. Fields of its JSON are attributes; str() gives what the command line prints.

    ok: whether the verdict is positive (exit code 0). False: exit code 1, such as outputs that differ.
    messages: lines that the command printed to standard error.
    data: the fields as a dict.
    """

    _table: ClassVar[str] = ""  # the field that `frame` turns into rows

    def __init__(self, verb: str, code: int, text: str, messages: list[str], data: dict[str, Any], arguments: dict[str, Any],
                 folder: str) -> None:
        self.verb, self.ok, self.messages = verb, code == 0, messages
        self.text = text.rstrip("\n")
        hints = typing.get_type_hints(type(self))
        self.data = Row({key: _converted(value, hints.get(key)) for key, value in data.items()})
        self.finish(arguments, folder)

    @classmethod
    def prepare(cls, arguments: dict[str, Any], folder: str) -> None:
        """Changes arguments before the run; `folder` lives until `finish` has returned."""

    def finish(self, arguments: dict[str, Any], folder: str) -> None:
        """Reads what the run has written."""

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            data = self.__dict__.get("data", {})
            if name in data:
                return data[name]
            raise AttributeError(f"the result of `lathe {self.__dict__.get('verb')}` has no field '{name}'; it has: {', '.join(data)}")

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __contains__(self, key: object) -> bool:
        return key in self.data

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def keys(self) -> Any:
        return self.data.keys()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text or f"<lathe {self.verb}: {'done' if self.ok else 'negative verdict'}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def frame(self, part: str | None = None) -> Any:
        """A frame of pandas with the rows of the field `part`, by default of the verb's table. Objects inside of a row
        become columns `outer.inner`."""
        part = self._table if part is None else part
        if part and part not in self.data:
            raise Error(f"frame: the result of `lathe {self.verb}` has no field '{part}'; it has: {', '.join(self.data)}")
        value: Any = self.data[part] if part else [self.data]
        if isinstance(value, dict):
            value = [{"name": key, **each} if isinstance(each, dict) else {"name": key, "value": each} for key, each in value.items()]
        return frame_of(value if isinstance(value, list) else [{part: value}])


def pandas() -> Any:
    """The module pandas. Raises Error where it is absent."""
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise Error(f"frame: needs pandas (pip install pandas; Debian: python3-pandas): {error}") from None


def frame_of(rows: list[Any]) -> Any:
    """A frame of objects."""
    return pandas().json_normalize([row if isinstance(row, dict) else {"value": row} for row in rows])


class Compilation(Runnable, Result):
    """A package was made, or a stage of the compilation printed (`text`)."""
    model: str
    package_bytes: int
    code_bytes: int
    constant_bytes: int
    kernels: int
    distinct_kernels: int
    cached_kernels: int
    record_kernels: int
    flops: float
    compiled_flops: float
    target: str
    time_s: float
    references: list[Row]
    notes: list[str]
    _package: Any = None

    @classmethod
    def prepare(cls, arguments: dict[str, Any], folder: str) -> None:
        schedule = arguments.get("schedule")
        if isinstance(schedule, str) and ": " in schedule:  # the text of a file
            arguments["schedule"] = os.path.join(folder, "schedule.txt")
            with open(arguments["schedule"], "w", encoding="utf-8") as file:
                file.write(schedule)

    def finish(self, arguments: dict[str, Any], folder: str) -> None:
        self.path = os.fspath(arguments["output"]) if arguments.get("output") is not None and not arguments.get("emit") else None
        self.threads = int(arguments.get("threads") or 1)

    @property
    def package(self) -> Package:
        """The package, loaded."""
        if self._package is None:
            from lathe._models import Package
            if self.path is None:
                raise Error("compile: no package was written: give `output`, without `emit`, `explain` and `export_space`")
            self._package = Package(self.path, threads=self.threads)
        return typing.cast("Package", self._package)


class RunResult(Result):
    """arrays: the outputs by name, where `lathe run -o FILE.npz` can write them."""
    _table = "outputs"
    model: str
    outputs: list[OutputRow]
    memory: Row
    run_ms: float
    peak_rss_bytes: int
    arrays: Arrays

    @classmethod
    def prepare(cls, arguments: dict[str, Any], folder: str) -> None:
        if arguments.get("output") is None:
            arguments["output"] = os.path.join(folder, "outputs.npz")

    def finish(self, arguments: dict[str, Any], folder: str) -> None:
        path = os.fspath(arguments["output"])
        self.arrays = {}
        if path.endswith(".npz") and os.path.exists(path):
            with np.load(path, allow_pickle=False) as file:
                self.arrays = {name: file[name] for name in file.files}
        elif path.endswith(".npy") and os.path.exists(path):
            self.arrays = {self.outputs[0].name: np.load(path, allow_pickle=False)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the outputs as a file of NumPy (.npz)."""
        np.savez(path, **self.arrays)


class VerifyResult(Result):
    _table = "runs"
    model: str
    package: str
    passed: bool
    mistrusted: str
    relative_error: float
    relative_tolerance: float
    maximum_error: float
    maximum_tolerance: float
    runs: list[Row]
    summary: str


class BenchResult(Result):
    """With --instances: `instances` instead of times, operations and memory."""
    model: str
    instances: list[InstancesRow]
    wall: Times
    cpu: Times
    gflops: float
    flops_per_run: float
    threads: int
    target: str
    peak_rss_bytes: int
    verified: bool
    verification: str

    def frame(self, part: str | None = None) -> Any:
        """Two rows, wall time and CPU time, or a row for each number of instances; or a field as of Result.frame."""
        if part or "instances" in self.data:
            return super().frame(part or "instances")
        return frame_of([{"time": name, **self.data[name]} for name in ("wall", "cpu")])


class ProfileResult(Result):
    _table = "rows"
    rows: list[KernelRow]
    model: str
    whole_ms: float
    overhead_ms: float
    gflops: float
    gb_s: float
    peak_gflops: float
    roofline_share: float
    threads: int
    target: str
    verified: bool
    verification: str


class CompareResult(Result):
    _table = "sides"
    model: str
    agrees: bool
    finished: bool
    peers: list[Peer]
    sides: list[Side]
    threads: int
    warnings: list[str]


class TuneResult(Result):
    _table = "tasks"
    subject: str
    tasks: list[Row]
    trials: int
    failed_trials: int
    seconds: float
    searcher: str
    ended: str
    threads: int
    target: str


class QuantizeResult(Result):
    _table = "layers"
    model: str
    file: str
    layers: list[Row]
    quantized_layers: int


class EvaluateResult(Result):
    _table = "decisions"
    model: str
    pictures: int
    latency: Row
    decisions: list[Row]


class SweepResult(Result):
    _table = "rows"
    rows: list[Row]
    finished: bool


class StageResult(Result):
    model: str
    file: str
    lines: int
    functions: int
    weights: int


class SegmentsResult(Result):
    _table = "blocks"
    model: str
    blocks: list[Row]
    finished: bool
    threads: int


class CheckResult(Result):
    _columns: ClassVar[dict[str, tuple[str, ...]]] = {"unsupported": ("node", "op", "opset", "type", "reason"), "references": ("node", "op", "type", "reason")}
    model: str
    supported: bool
    references: list[Row]
    unsupported: list[Row]
    kernels: int
    flops: float
    compiled_flops_share: float

    def frame(self, part: str | None = None) -> Any:
        """A row for each node that is not supported; of a supported model, for each that runs on its reference. Or a field as of
        Result.frame."""
        part = part or ("references" if self.supported else "unsupported")
        frame = super().frame(part)
        return frame if len(frame) or part not in self._columns else frame.reindex(columns=list(self._columns[part]))


class InspectResult(Result):
    """Of a model; a package has other fields: `data` says which."""
    inputs: list[PortRow]
    outputs: list[PortRow]
    file_bytes: int

    def frame(self, part: str | None = None) -> Any:
        """The operators of a model, or the kernels of a package's first plan."""
        if part is None and "plans" in self.data:
            return frame_of(self.data["plans"][0]["kernels"])
        return super().frame(part or "operators")


class ZooResult(Result):
    _table = "networks"


class MachineResult(Result):
    _table = "levels"
    cpu: str
    cores: int


class RecordsResult(Result):
    _table = "records"
    store: str
    records: list[Row]


class StoreListResult(Result):
    _table = "experiments"
    store: str
    experiments: list[Row]
