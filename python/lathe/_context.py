"""Runs of packages. What a run costs beside the runtime is in the extension (python/core); what is rare is here."""
from __future__ import annotations

import ctypes
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Iterable, Mapping

import numpy as np

from lathe._libraries import Cancelled, Error, call, core, int32, new, runtime
from lathe._ports import Port, index_of
from lathe._structures import BF16, NOTHING, SEQUENCE, STRING, TYPES, ContextOptions, PoolOptions, ProfileRow, String, Tensor

if TYPE_CHECKING:
    from lathe._models import Package

Inputs = Mapping[Any, Any] | Iterable[Any] | None


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


class Pool:
    """Threads that several contexts share, `slots` of them (0: all CPUs), each bound to the CPU of `cpus` if that is given. A run
    takes the place of its context's first slot; contexts on disjoint slots run at the same time, those on common slots in turn."""

    def __init__(self, slots: int = 0, cpus: Iterable[int] | None = None) -> None:
        numbers = [] if cpus is None else [int(cpu) for cpu in cpus]
        if cpus is not None and len(numbers) != slots:
            raise Error(f"{len(numbers)} CPUs for {slots} slots, expected as many")
        array = (ctypes.c_int32 * len(numbers))(*numbers) if numbers else None
        self._handle = ctypes.c_void_p()
        call("lathe_pool_create", ctypes.byref(new(PoolOptions, int32("slots", slots), 0, array)), ctypes.byref(self._handle))
        weakref.finalize(self, runtime().lathe_pool_free, self._handle)  # contexts keep its threads


class Context:
    """Working memory and threads of one caller. Threads that share a context use it in turn. `close`, or the end of a
    `with` block, frees the memory."""

    def __init__(self, model: Package, threads: int = 1, pool: Pool | None = None, first_slot: int = 0) -> None:
        self.model = model
        self._bound: dict[int, Any] = {}  # what inputs that _bind bound lie in
        self._states: set[int] = set()  # inputs that runs set
        session = core().Session  # first: if the extension is missing, no context may be left that nothing frees
        handle = ctypes.c_void_p()
        options = new(ContextOptions, int32("threads", threads), 0, pool._handle if pool else None, int32("first_slot", first_slot), 0)
        call("lathe_context_create", model._handle, ctypes.byref(options), ctypes.byref(handle))
        self._session = session(handle.value, tuple((port.name, port.element_type, port.plain) for port in model.inputs),
                                tuple((port.name, port.element_type, port.plain, port.dtype) for port in model.outputs), Error, Cancelled,
                                np.ndarray)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Frees the memory; arrays that were returned stay valid."""
        self._session.close()
        self._bound = {}

    def cancel(self) -> None:
        """Ends the run in progress, which raises `Cancelled` in its thread; if there is none, the next one. Returns at once, and may
        be called from any thread or from a handler of a signal."""
        self._session.cancel()

    def _use(self) -> ctypes.c_void_p:
        handle = self._session.handle
        if not handle:
            raise Error("the context is closed")
        return ctypes.c_void_p(handle)

    def set_input(self, name: Any, value: Any) -> None:
        """Binds a value to the input of this name or number, in place if it has the buffer protocol or __dlpack__, is dense and
        row-major, and has the input's type; other arrays are copied. A sequence takes a list of arrays, an optional that holds
        nothing None. Strings are arrays of dtype 'U' or of str objects. Floating-point numbers for an integer input with a
        quantisation are quantised."""
        self._session.set_input(self, index_of("input", self.model.inputs, name), value)

    def _bind(self, index: int, value: Any) -> None:
        """Binds what the extension does not."""
        port = self.model.inputs[index]
        if port.quantization is not None and np.asarray(value).dtype.kind == "f":
            value = port.quantization.quantize(value)
        number = ctypes.c_size_t(index)
        with self._session:
            kept: Any
            if value is None and port.kind.startswith("optional"):
                call("lathe_context_set_input_empty", self._use(), number)
                kept = None
            elif port.kind.endswith("sequence"):
                if isinstance(value, (str, bytes, np.ndarray)) or not hasattr(value, "__iter__"):
                    raise Error(f"input '{port.name}': expected a list of arrays, got {type(value).__name__}")
                kept = [self._tensor(port, item) for item in value]
                array = (Tensor * len(kept))(*(tensor for tensor, _ in kept))
                call("lathe_context_set_input_sequence", self._use(), number, array, ctypes.c_size_t(len(kept)))
            else:
                tensor, kept = self._tensor(port, value)
                call("lathe_context_set_input", self._use(), number, ctypes.byref(tensor))
            self._session.forget(index)
            self._bound[index] = kept  # the runtime reads it in place

    @staticmethod
    def _strings(name: str, value: Any) -> tuple[Any, Any]:
        """An array of strings as a Tensor, and what must stay alive."""
        array = np.asarray(value)
        if array.dtype.kind not in "UO" or not all(isinstance(text, str) for text in array.ravel()):
            raise Error(f"input '{name}': expected strings, got {array.dtype}")
        texts = [text.encode() for text in array.ravel()]
        cells = (String * max(1, len(texts)))(*(String(ctypes.cast(text, ctypes.c_void_p), len(text)) for text in texts))
        dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        tensor = new(Tensor, STRING, 0, array.ndim, dims, ctypes.cast(cells, ctypes.c_void_p), len(texts) * ctypes.sizeof(String))
        return tensor, (texts, cells, dims)

    def _tensor(self, port: Port, value: Any) -> tuple[Any, Any]:
        """An array as a Tensor, and what must stay alive while it is bound."""
        if port.element_type == STRING:
            return self._strings(port.name, value)
        array = np.asarray(value)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        array = np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])
        number = port.element_type if port.element_type == BF16 and array.dtype == np.uint16 else TYPES.get(array.dtype)
        if number is None:
            raise Error(f"input '{port.name}': expected {port.dtype}, got {array.dtype}")
        dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        tensor = new(Tensor, number, 0, array.ndim, dims, array.ctypes.data, array.nbytes)
        return tensor, (array, dims)

    def keep_state(self, input: Any, output: Any, max_extent: int = 0) -> None:
        """Makes an output of every run an input of the next one, both by name or number: a state, without copies. It starts from
        `set_input`, else from zeros (the zero point of a quantised input). With max_extent the output continues the input
        along one axis and grows in place, in memory for that many positions (docs/state.md)."""
        source, target = index_of("input", self.model.inputs, input), index_of("output", self.model.outputs, output)
        with self._session:
            self._session.keep(source, target, max_extent)
            self._states.add(source)

    def reset_states(self) -> None:
        """Makes the next run start from the beginning."""
        with self._session:
            call("lathe_context_reset_states", self._use())

    def output(self, index: Any) -> Any:
        """A copy of an output of the last run, by name or number: an array, a list of arrays for a sequence, None for an
        optional that holds nothing."""
        index = index_of("output", self.model.outputs, index)
        dtype = self.model.outputs[index].dtype
        if dtype is None:
            raise Error(f"output '{self.model.outputs[index].name}': NumPy has no such element type")
        with self._session:
            kind, count = ctypes.c_int32(), ctypes.c_size_t()
            call("lathe_context_output_content", self._use(), ctypes.c_size_t(index), ctypes.byref(kind), ctypes.byref(count))
            if kind.value == NOTHING:
                return None
            arrays = [self._element(index, element, dtype) for element in range(count.value)]
            return arrays if kind.value == SEQUENCE else arrays[0]

    def _element(self, index: int, element: int, dtype: Any) -> Any:
        raw = new(Tensor)
        call("lathe_context_output_element", self._use(), ctypes.c_size_t(index), ctypes.c_size_t(element), ctypes.byref(raw))
        shape = raw.dims[:raw.rank] if raw.rank else ()
        if raw.element_type == STRING:
            cells = ctypes.cast(raw.data, ctypes.POINTER(String))
            texts = [ctypes.string_at(cells[i].data, cells[i].bytes).decode(errors="replace") if cells[i].bytes else ""
                     for i in range(raw.bytes // ctypes.sizeof(String))]
            return np.array(texts, dtype="U").reshape(shape)
        data = ctypes.string_at(raw.data, raw.bytes) if raw.bytes else b""
        return np.frombuffer(bytearray(data), dtype).reshape(shape)

    def _named(self, inputs: Any) -> dict[str, Any]:
        """The inputs by name. Raises Error unless they are the inputs of the model."""
        ports = self.model.inputs
        names = [port.name for port in ports]
        if not hasattr(inputs, "items"):
            if isinstance(inputs, (str, bytes, np.ndarray)) or not hasattr(inputs, "__iter__"):
                raise Error(f"inputs: expected {{name: array}} or a list of arrays for {_quoted(names)}, got {type(inputs).__name__}")
            inputs = list(inputs)
            if len(inputs) != len(names):
                raise Error(f"inputs: expected {len(names)} arrays ({_quoted(names)}), got {len(inputs)}")
            return dict(zip(names, inputs))
        named = {names[index_of("input", ports, key)]: value for key, value in inputs.items()}
        missing = [name for index, name in enumerate(names) if name not in named and index not in self._states]
        if missing:
            raise Error(f"input {_quoted(missing)} is missing: run() without inputs uses those that are bound")
        return named

    def run(self, inputs: Inputs = None, profile: bool = False, outputs: Any = None, dequantize: bool = False) -> dict[str, Any]:
        """Runs on all inputs, {name or number: array} or a list in order; None: on the bound inputs. States may be left out.
        Returns {name: array} of all outputs, or of the outputs that `outputs` lists by name or number. With `dequantize` an
        output with a quantisation becomes the real numbers that it stands for. Arrays lie where the runtime wrote them and stay as they
        are when the context runs again."""
        wanted = None if outputs is None else self._wanted(outputs)
        results: dict[str, Any] = self._session.run(self, inputs, wanted, profile)
        if results is NotImplemented:
            self._use()
            results = self._session.run(self, self._named(inputs), wanted, profile)
        if dequantize:
            for port in self.model.outputs:
                if port.quantization is not None and port.name in results:
                    results[port.name] = port.quantization.dequantize(results[port.name])
        return results

    def _wanted(self, outputs: Any) -> tuple[bool, ...]:
        chosen = {index_of("output", self.model.outputs, name) for name in ([outputs] if isinstance(outputs, str) else outputs)}
        return tuple(index in chosen for index in range(len(self.model.outputs)))

    def profile(self) -> list[dict[str, Any]]:
        """Rows of the last run with profile=True: dicts with name, nodes, nanoseconds, ...; the last is the overhead."""
        rows = []
        with self._session:
            for index in range(runtime().lathe_context_profile_rows(self._use(), None)):
                raw = new(ProfileRow)
                call("lathe_context_profile_row", self._use(), ctypes.c_size_t(index), ctypes.byref(raw))
                row = {name: getattr(raw, name) for name, _ in ProfileRow._fields_[1:]}
                rows.append({k: v.decode(errors="replace") if isinstance(v, bytes) else v for k, v in row.items()})
        return rows
