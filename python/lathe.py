"""Lathe from Python: load, compile and run models with NumPy arrays, on top of the C libraries.

    import lathe, numpy
    model = lathe.compile("squeezenet.onnx", "squeezenet.lathe")  # or lathe.load("squeezenet.lathe")
    image = numpy.zeros((1, 3, 224, 224), numpy.float32)
    outputs = model.run({"input": image})                         # {"output": array}

The example's network is made by `lathe zoo squeezenet -o squeezenet.onnx`; `model.inputs` and `model.outputs` tell the names
of any other. The libraries are looked for in $LATHE_LIBRARY_DIR, beside this file, in the build folder of a clone
(build/release/lib), in the lib folders of an installation, then where the system looks.
A package contains native code: loading one means trusting it.
"""
import ctypes
import glob
import os
import threading

import numpy as np

__all__ = ["Error", "Model", "Context", "Quantization", "load", "compile", "tune", "runtime_version"]

_DTYPES = {1: np.float32, 2: np.float64, 3: np.float16, 5: np.int8, 6: np.int16, 7: np.int32, 8: np.int64,
           9: np.uint8, 10: np.uint16, 11: np.uint32, 12: np.uint64, 13: np.bool_}
_TYPES = {np.dtype(dtype): number for number, dtype in _DTYPES.items()}
_STRING = 14  # arrays of dtype 'U' or of str objects
_KINDS = ("tensor", "sequence", "optional", "optional_sequence")  # lathe_value_kind
_SEQUENCE, _NOTHING = 1, 4
_BF16 = 4  # NumPy has no such type: passed as uint16 bit patterns
_PRECISIONS = {"fp32": 0, "bf16": 1}  # lathe_precision
_ROUNDINGS = {"reference": 0, "optimised": 1}  # lathe_requantize_rounding
_LAYOUTS = {"auto": 0, "nchw": 1, "nhwc": 2, "blocked": 3}  # lathe_layout


class Error(Exception):
    """An error of the library: one line with place, expected and got."""


class _Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("element_type", ctypes.c_int32), ("memory_space", ctypes.c_int32),
                ("rank", ctypes.c_size_t), ("dims", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t)]


class _Port(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("element_type", ctypes.c_int32),
                ("is_tensor", ctypes.c_int32), ("rank", ctypes.c_size_t), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("dim_texts", ctypes.POINTER(ctypes.c_char_p)), ("value_kind", ctypes.c_int32)]


class _Quantization(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("count", ctypes.c_size_t), ("scales", ctypes.POINTER(ctypes.c_float)),
                ("zero_points", ctypes.POINTER(ctypes.c_int64)), ("axis", ctypes.c_int64)]


class _String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class _ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("reserved", ctypes.c_int32)]


class _LoadOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class _ProfileRow(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [
        (name, ctypes.c_char_p) for name in ("kind", "name", "family", "shapes", "schedule", "nodes")] + [
        ("nanoseconds", ctypes.c_uint64), ("flops", ctypes.c_double), ("bytes", ctypes.c_double)]


class _CompileOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("threads", ctypes.c_int32),
                ("level", ctypes.c_int32), ("exact_math", ctypes.c_int32), ("precision", ctypes.c_int32),
                ("schedule", ctypes.c_char_p), ("shapes", ctypes.POINTER(ctypes.c_char_p)),
                ("shape_count", ctypes.c_size_t), ("requantize_rounding", ctypes.c_int32), ("layout", ctypes.c_int32),
                ("signature", ctypes.c_char_p)]


def _new(structure, *fields):
    return structure(ctypes.sizeof(structure), *fields)


def _folders():
    """Existing folders that may contain the libraries, in order of preference."""
    given = os.environ.get("LATHE_LIBRARY_DIR")
    if given:
        return [given]  # an explicit choice: search nothing else
    here = os.path.dirname(os.path.abspath(__file__))
    clone = os.path.dirname(here)
    prefix = os.path.join(here, "..", "..", "..")  # installed as PREFIX/share/lathe/python/lathe.py
    folders = [here, os.path.join(clone, "build", "release", "lib"), os.path.join(clone, "lib"), os.path.join(prefix, "lib"),
               *sorted(glob.glob(os.path.join(prefix, "lib", "*-linux-gnu*"))), os.path.join(prefix, "lib64")]
    return [os.path.normpath(folder) for folder in folders]


def _open(name):
    folders = _folders()
    path = next((path for path in (os.path.join(folder, name) for folder in folders) if os.path.exists(path)), None)
    try:
        return ctypes.CDLL(path or name)
    except OSError as error:
        if path:
            raise Error(f"{path}: cannot be loaded: {error}") from None
        raise Error(f"{name} is not in {', '.join(folders)} nor where the system looks: build it (make build), or set "
                    f"LATHE_LIBRARY_DIR to its folder") from None


_loaded = {}


def _library(name, last_error):
    """Loads a library once; the functions return a status that `_check` converts to an Error."""
    if name not in _loaded:
        library = _open(name)
        getattr(library, last_error).restype = ctypes.c_char_p
        _loaded[name] = library
    return _loaded[name]


def _runtime():
    library = _library("liblathe_runtime.so", "lathe_last_error")
    library.lathe_runtime_version.restype = ctypes.c_char_p
    for name in ("lathe_model_input_count", "lathe_model_output_count", "lathe_context_profile_rows"):
        getattr(library, name).restype = ctypes.c_size_t
    for name in ("lathe_model_free", "lathe_context_free"):
        getattr(library, name).restype = None
    return library


def _check(status, last_error):
    if status != 0:
        raise Error(last_error().decode(errors="replace"))


def _path(path):
    """Encodes a path for C. Raises Error for a zero byte."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise Error(f"{path!r}: expected a path, got one with a zero byte")
    return encoded


def _call(name, *arguments):
    library = _runtime()
    _check(getattr(library, name)(*arguments), library.lathe_last_error)


def _int32(what, value):
    """Checks that `value` fits 32 bits, because C would truncate it."""
    if not -2**31 <= value < 2**31:
        raise Error(f"{what} is {value}, expected a number of 32 bits")
    return int(value)


def _number(option, word, numbers):
    if word not in numbers:
        raise Error(f"{option} '{word}': expected one of {', '.join(numbers)}")
    return numbers[word]


def runtime_version():
    return _runtime().lathe_runtime_version().decode()


def load(path, check_constants=True, threads=1):
    """Loads a package file; `threads` is the default of the model's contexts (0: all CPUs)."""
    return Model(path, check_constants, threads)


def compile(model, package, target=None, threads=1, level=3, exact_math=False, schedule=None, shapes=None,
            precision="fp32", requantize_rounding="reference", signature=None, layout="auto"):
    """Compiles a model file into a package file and loads it. `shapes`: {"data": (1, 3, 224, 224)} for symbolic inputs;
    `precision`: "fp32", or "bf16" for operands of convolutions and matrix products rounded to bf16; `schedule`: the text
    of a schedule file, by default the default schedules, without tuning records; `requantize_rounding`: of quantised TFLite
    models, that of TensorFlow Lite's "reference" or "optimised" kernels; `signature`: of a TFLite model with several ones;
    `layout`: of activations between kernels, "nchw", "nhwc" or "blocked", by default what is predicted to be fastest."""
    library = _library("liblathe_compiler.so", "lathe_compiler_last_error")
    known = library.lathe_compiler_api_version()
    for option, given, since in (("precision", precision != "fp32", 2), ("requantize_rounding", requantize_rounding != "reference", 4),
                                 ("signature", signature is not None, 4), ("layout", layout != "auto", 5)):
        if given and known < since:
            raise Error(f"{option}: liblathe_compiler.so has version {known}, expected {since} or later")
    texts = [f"{name}={'x'.join(map(str, dims))}".encode() for name, dims in (shapes or {}).items()]
    array = (ctypes.c_char_p * len(texts))(*texts)
    options = _new(_CompileOptions, target and target.encode(), _int32("threads", threads), _int32("level", level), int(exact_math),
                   _number("precision", precision, _PRECISIONS), schedule and schedule.encode(), array, len(texts),
                   _number("requantize_rounding", requantize_rounding, _ROUNDINGS), _number("layout", layout, _LAYOUTS),
                   signature and signature.encode())
    if known < 4:
        options.struct_size = _CompileOptions.requantize_rounding.offset
    _check(library.lathe_compile_file(_path(model), _path(package), ctypes.byref(options)),
           library.lathe_compiler_last_error)
    return load(package, threads=threads)


def tune(model=None, shapes=None, progress=None, **flags):
    """Runs `lathe tune`, which searches schedules by measuring them, and returns its report (--json) as a dict.

    model: a model file or zoo:NAME; None with problem="conv2d:..." or suite="...", or lists of them. shapes: as of `compile`.
    progress: called with every line of progress as text; None: nothing is shown. flags: those of the command line with
    underscores, such as budget="5m", trials=64, threads=2, output="tuned.lathe", compare=True; `level` is -O.
    Raises Error. An exception of `progress`, or KeyboardInterrupt, ends the run; the records so far are kept."""
    import lathe_tune  # beside this file
    return lathe_tune.run(_folders(), Error, model, shapes, progress, flags)


class Quantization:
    """How the elements q of an integer tensor stand for real numbers: scales * (q - zero_points), with one of each, or one for
    each index of `axis`."""

    def __init__(self, scales, zero_points, axis, dtype):
        self.scales = np.array(scales, np.float32)
        self.zero_points = np.array(zero_points, np.int64)
        self.axis = axis
        self.dtype = dtype

    def __repr__(self):
        along = f", axis={self.axis}" if len(self.scales) > 1 else ""
        return f"Quantization(scales={self.scales.tolist()}, zero_points={self.zero_points.tolist()}{along})"

    def _convert(self, function, array, dtype, result):
        array = np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])
        target = np.empty(array.shape, result)
        dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        tensors = [_new(_Tensor, _TYPES[one.dtype], 0, one.ndim, dims, one.ctypes.data, one.nbytes) for one in (array, target)]
        how = _new(_Quantization, len(self.scales), self.scales.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
                   self.zero_points.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), self.axis)
        _call(function, ctypes.byref(how), ctypes.byref(tensors[0]), ctypes.byref(tensors[1]))
        return target

    def quantize(self, real):
        """Real numbers as integers: rounded, halves away from zero, and limited to the type."""
        return self._convert("lathe_quantize", real, np.float32, self.dtype)

    def dequantize(self, integers):
        """Integers as the real numbers that they stand for."""
        integers = np.asarray(integers)
        if integers.dtype != self.dtype:
            raise Error(f"dequantize: expected {self.dtype}, got {integers.dtype}")
        return self._convert("lathe_dequantize", integers, self.dtype, np.float32)


class Port:
    """An input or output: name, kind ("tensor", "sequence", "optional", "optional_sequence"), dtype (None if NumPy has none; of
    what is no tensor that of its tensors), dims (None: symbolic), texts ("N"), quantization (a Quantization; None: integers
    stand for themselves)."""

    quantization = None

    def __init__(self, raw):
        self.name = raw.name.decode(errors="replace")
        self.element_type = raw.element_type
        self.kind = _KINDS[raw.value_kind] if raw.value_kind < len(_KINDS) else "unknown"
        self.dtype = np.dtype(np.uint16 if raw.element_type == _BF16 else _DTYPES[raw.element_type]) \
            if raw.element_type in _DTYPES or raw.element_type == _BF16 else \
            np.dtype("U") if raw.element_type == _STRING else None
        self.dims = tuple(d if d >= 0 else None for d in raw.dims[:raw.rank])
        self.texts = tuple(t.decode(errors="replace") for t in raw.dim_texts[:raw.rank])

    def __repr__(self):
        shape = "x".join(self.texts) or "scalar" if self.kind == "tensor" else self.kind.replace("_", " ")
        return f"{self.name}: {self.dtype} {shape}"


def _index(what, ports, key):
    """The number of the port that is called `key`, or that is number `key`."""
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if not 0 <= key < len(ports):
            raise Error(f"{what} {key} of {len(ports)}")
        return int(key)
    index = next((i for i, port in enumerate(ports) if port.name == key), None)
    if index is None:
        raise Error(f"no {what} is called '{key}'; there are: {', '.join(port.name for port in ports)}")
    return index


def _quoted(names):
    return ", ".join(f"'{name}'" for name in names) or "none"


class Model:
    """A loaded package: immutable, may be shared by threads. Callers of `run` use one context in turn."""

    def __init__(self, path, check_constants=True, threads=1):
        self._handle = ctypes.c_void_p()
        options = _new(_LoadOptions, 0 if check_constants else 4, 0)  # LATHE_LOAD_SKIP_CONSTANTS
        _call("lathe_model_load", _path(path), ctypes.byref(options), ctypes.byref(self._handle))
        self.threads = threads
        self.inputs = self._ports("input")
        self.outputs = self._ports("output")
        self._context = None
        self._lock = threading.Lock()

    def __del__(self):
        if getattr(self, "_handle", None) and _loaded:  # nothing is there any more when the interpreter ends
            _runtime().lathe_model_free(self._handle)

    def _ports(self, kind):
        ports = []
        for index in range(getattr(_runtime(), f"lathe_model_{kind}_count")(self._handle)):
            raw = _new(_Port)
            _call(f"lathe_model_{kind}", self._handle, ctypes.c_size_t(index), ctypes.byref(raw))
            ports.append(Port(raw))
            how = _new(_Quantization)
            _call(f"lathe_model_{kind}_quantization", self._handle, ctypes.c_size_t(index), ctypes.byref(how))
            if how.count:
                ports[-1].quantization = Quantization(how.scales[:how.count], how.zero_points[:how.count], how.axis, ports[-1].dtype)
        return ports

    def context(self, threads=None):
        return Context(self, self.threads if threads is None else threads)

    def run(self, inputs, dequantize=False):
        """Runs the model on all inputs, {name or number: array} or a list in order. Returns {name: array}; `dequantize` as of
        Context.run."""
        if inputs is None:
            inputs = {}
        with self._lock:
            if self._context is None:
                self._context = self.context()
            return self._context.run(inputs, dequantize=dequantize)


class Context:
    """Working memory and threads of one caller. Threads that share a context use it in turn. `close`, or the end of a
    `with` block, frees the memory."""

    def __init__(self, model, threads=1):
        self.model = model
        self._handle = ctypes.c_void_p()
        self._bound = {}
        self._states = set()  # inputs that runs set
        self._lock = threading.RLock()
        options = _new(_ContextOptions, _int32("threads", threads), 0)
        _call("lathe_context_create", model._handle, ctypes.byref(options), ctypes.byref(self._handle))

    def __del__(self):
        if getattr(self, "_lock", None) and _loaded:
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with self._lock:
            if self._handle:
                _runtime().lathe_context_free(self._handle)
            self._handle = ctypes.c_void_p()
            self._bound = {}

    def _use(self):
        if not self._handle:
            raise Error("the context is closed")
        return self._handle

    def set_input(self, name, value):
        """Binds an array to the input of this name or number, in place if its order and alignment fit, else a copy of it; a
        list of arrays to a sequence, None to an optional that holds nothing. Strings are arrays of dtype 'U' or of str objects.
        Floating-point numbers for an integer input with a quantisation are quantised."""
        index = _index("input", self.model.inputs, name)
        port = self.model.inputs[index]
        name = port.name
        if port.quantization is not None and np.asarray(value).dtype.kind == "f":
            value = port.quantization.quantize(value)
        number = ctypes.c_size_t(index)
        with self._lock:
            if value is None and port.kind.startswith("optional"):
                _call("lathe_context_set_input_empty", self._use(), number)
                self._bound[name] = None
            elif port.kind.endswith("sequence"):
                if isinstance(value, (str, bytes, np.ndarray)) or not hasattr(value, "__iter__"):
                    raise Error(f"input '{name}': expected a list of arrays, got {type(value).__name__}")
                tensors = [self._tensor(port, item) for item in value]
                array = (_Tensor * len(tensors))(*(tensor for tensor, _ in tensors))
                _call("lathe_context_set_input_sequence", self._use(), number, array, ctypes.c_size_t(len(tensors)))
                self._bound[name] = tensors  # kept alive: the runtime reads them in place
            else:
                tensor, kept = self._tensor(port, value)
                _call("lathe_context_set_input", self._use(), number, ctypes.byref(tensor))
                self._bound[name] = kept

    @staticmethod
    def _strings(name, value):
        """An array of strings as a _Tensor, and what must stay alive."""
        array = np.asarray(value)
        if array.dtype.kind not in "UO" or not all(isinstance(text, str) for text in array.ravel()):
            raise Error(f"input '{name}': expected strings, got {array.dtype}")
        texts = [text.encode() for text in array.ravel()]
        cells = (_String * max(1, len(texts)))(*(_String(ctypes.cast(text, ctypes.c_void_p), len(text)) for text in texts))
        dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        tensor = _new(_Tensor, _STRING, 0, array.ndim, dims, ctypes.cast(cells, ctypes.c_void_p),
                      len(texts) * ctypes.sizeof(_String))
        return tensor, (texts, cells, dims)

    def _tensor(self, port, value):
        """An array as a _Tensor, and what must stay alive while it is bound."""
        name = port.name
        if port.element_type == _STRING:
            return self._strings(name, value)
        array = np.asarray(value)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        array = np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])
        number = port.element_type if port.element_type == _BF16 and array.dtype == np.uint16 else _TYPES.get(array.dtype)
        if number is None:
            raise Error(f"input '{name}': expected {port.dtype}, got {array.dtype}")
        dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        tensor = _new(_Tensor, number, 0, array.ndim, dims, array.ctypes.data, array.nbytes)
        return tensor, (array, dims)  # the runtime reads the array in place

    def keep_state(self, input, output, max_extent=0):
        """Makes an output of every run an input of the next one, both by name or number: a state, without copies. It starts from
        `set_input`, else from zeros (the zero point of a quantised input). With max_extent the output continues the input
        along one axis and grows in place, in memory for that many positions (docs/state.md)."""
        source, target = _index("input", self.model.inputs, input), _index("output", self.model.outputs, output)
        with self._lock:
            _call("lathe_context_keep_state", self._use(), ctypes.c_size_t(source), ctypes.c_size_t(target),
                  ctypes.c_int64(max_extent))
            self._states.add(self.model.inputs[source].name)

    def reset_states(self):
        """Makes the next run start from the beginning."""
        with self._lock:
            _call("lathe_context_reset_states", self._use())

    def output(self, index):
        """A copy of an output of the last run, by name or number: an array, a list of arrays for a sequence, None for an optional that holds
        nothing."""
        index = _index("output", self.model.outputs, index)
        dtype = self.model.outputs[index].dtype
        if dtype is None:
            raise Error(f"output '{self.model.outputs[index].name}': NumPy has no such element type")
        with self._lock:
            kind, count = ctypes.c_int32(), ctypes.c_size_t()
            _call("lathe_context_output_content", self._use(), ctypes.c_size_t(index), ctypes.byref(kind), ctypes.byref(count))
            if kind.value == _NOTHING:
                return None
            arrays = [self._element(index, element, dtype) for element in range(count.value)]
            return arrays if kind.value == _SEQUENCE else arrays[0]

    def _element(self, index, element, dtype):
        raw = _new(_Tensor)
        _call("lathe_context_output_element", self._use(), ctypes.c_size_t(index), ctypes.c_size_t(element), ctypes.byref(raw))
        shape = raw.dims[:raw.rank] if raw.rank else ()
        if raw.element_type == _STRING:
            cells = ctypes.cast(raw.data, ctypes.POINTER(_String))
            texts = [ctypes.string_at(cells[i].data, cells[i].bytes).decode(errors="replace") if cells[i].bytes else ""
                     for i in range(raw.bytes // ctypes.sizeof(_String))]
            return np.array(texts, dtype="U").reshape(shape)
        data = ctypes.string_at(raw.data, raw.bytes) if raw.bytes else b""
        return np.frombuffer(bytearray(data), dtype).reshape(shape)

    def run(self, inputs=None, profile=False, outputs=None, dequantize=False):
        """Runs on all inputs, {name or number: array} or a list in order; None: on the bound inputs. States may be left out.
        Returns {name: array} of all outputs, or of those that `outputs` lists by name or number; with `dequantize` those that
        have a quantisation as the real numbers that they stand for."""
        names = [port.name for port in self.model.inputs]
        if inputs is not None and not hasattr(inputs, "items"):
            if isinstance(inputs, (str, bytes, np.ndarray)) or not hasattr(inputs, "__iter__"):
                raise Error(f"inputs: expected {{name: array}} or a list of arrays for {_quoted(names)}, got "
                            f"{type(inputs).__name__}")
            inputs = list(inputs)
            if len(inputs) != len(names):
                raise Error(f"inputs: expected {len(names)} arrays ({_quoted(names)}), got {len(inputs)}")
            inputs = dict(zip(names, inputs))
        if inputs is not None:
            inputs = {names[_index("input", self.model.inputs, name)]: value for name, value in inputs.items()}
        outputs = [outputs] if isinstance(outputs, str) else outputs
        wanted = None if outputs is None else {_index("output", self.model.outputs, name) for name in outputs}
        with self._lock:
            self._use()
            if inputs is not None:
                for name, value in inputs.items():
                    self.set_input(name, value)
                missing = [name for name in names if name not in inputs and name not in self._states]
                if missing:
                    raise Error(f"input {_quoted(missing)} is missing: run() without inputs uses those that are bound")
            _call("lathe_context_run_profiled" if profile else "lathe_context_run", self._use())
            results = {}
            for index, port in enumerate(self.model.outputs):
                if wanted is None or index in wanted:
                    result = self.output(index)
                    results[port.name] = port.quantization.dequantize(result) if dequantize and port.quantization else result
            return results

    def profile(self):
        """Rows of the last run with profile=True: dicts with name, nodes, nanoseconds, ...; the last is the overhead."""
        rows = []
        with self._lock:
            for index in range(_runtime().lathe_context_profile_rows(self._use(), None)):
                raw = _new(_ProfileRow)
                _call("lathe_context_profile_row", self._use(), ctypes.c_size_t(index), ctypes.byref(raw))
                row = {name: getattr(raw, name) for name, _ in _ProfileRow._fields_[1:]}
                rows.append({k: v.decode(errors="replace") if isinstance(v, bytes) else v for k, v in row.items()})
        return rows
