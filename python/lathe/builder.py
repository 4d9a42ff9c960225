"""Graphs built in Python: one typed function an operator, over the C functions of lathe/builder.h.

    from lathe.builder import Graph
    net = Graph("small")
    x = net.input("x", "f32", ["N", 3, 32, 32])
    conv1 = net.conv(x, net.constant([0.5], "f32", [8, 3, 3, 3]), strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], name="conv1")
    net.output("y", net.relu(conv1))
    net.write("small.mlir")                     # which every verb of `lathe` reads

An operand is a value, or the name of a weight of the file that `weights` opened. Errors are lathe.Error: one line with the node,
expected and got. docs/staging.md is the introduction.
"""
import ctypes
import difflib
import importlib.util
import inspect
import operator
import os
import re
import sys
import traceback

import numpy as np

from lathe import _libraries
from lathe._libraries import Error, encoded_path, int32, new
from lathe._models import Package

__all__ = ["Error", "Graph", "Value", "main"]

_NO_VALUE = -1
_MOST_RESULTS = 4096
_DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
           "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.bool_}


_PRECISIONS = {"fp32": 0, "bf16": 1}  # lathe_precision
_LAYOUTS = {"auto": 0, "nchw": 1, "nhwc": 2, "blocked": 3}  # lathe_layout


def _operators():
    """The class of lathe_operators.py, which the build writes: beside this file where it is installed, else in a build folder."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [here] + [os.path.join(os.path.dirname(folder), "python") for folder in _libraries.folders()]
    for folder in folders:
        path = os.path.join(folder, "lathe_operators.py")
        if os.path.exists(path):
            spec = importlib.util.spec_from_file_location("lathe_operators", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module.Operators
    raise Error(f"lathe_operators.py is in none of {', '.join(folders)}: build it (make build)")


class _CompileOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("threads", ctypes.c_int32),
                ("level", ctypes.c_int32), ("exact_math", ctypes.c_int32), ("precision", ctypes.c_int32),
                ("schedule", ctypes.c_char_p), ("shapes", ctypes.POINTER(ctypes.c_char_p)),
                ("shape_count", ctypes.c_size_t), ("requantize_rounding", ctypes.c_int32), ("layout", ctypes.c_int32),
                ("signature", ctypes.c_char_p), ("options", ctypes.POINTER(ctypes.c_char_p)), ("option_count", ctypes.c_size_t)]


def _number(option, word, numbers):
    if word not in numbers:
        raise Error(f"{option} '{word}': expected one of {', '.join(numbers)}")
    return numbers[word]


class _Attribute(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("integers", ctypes.POINTER(ctypes.c_int64)), ("reals", ctypes.POINTER(ctypes.c_double)),
                ("text", ctypes.c_char_p), ("count", ctypes.c_size_t)]


class _Note(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("types", ctypes.POINTER(ctypes.c_char_p)),
                ("type_count", ctypes.c_size_t), ("extents", ctypes.POINTER(ctypes.c_char_p)), ("extent_count", ctypes.c_size_t)]


def _library():
    library = _libraries.library("liblathe_compiler.so", "lathe_compiler_last_error")
    if library.lathe_compiler_api_version() < 6:
        raise Error("liblathe_compiler.so is of a version without the builder (lathe/builder.h)")
    library.lathe_graph_free.restype = None
    return library


def _call(name, *arguments):
    library = _library()
    _libraries.check(getattr(library, name)(*arguments), library.lathe_compiler_last_error)


def _text(what, text):
    """Encodes a text for C. Raises Error for a zero byte."""
    encoded = text if isinstance(text, bytes) else str(text).encode()
    if b"\0" in encoded:
        raise Error(f"{what} {text!r}: expected a text without zero bytes")
    return encoded


def _texts(what, texts):
    if isinstance(texts, (str, bytes)) or not hasattr(texts if texts is not None else (), "__iter__"):
        raise Error(f"{what}s {texts!r}: expected a list, one {what} each")  # a text would be a list of its characters
    texts = [_text(what, text) for text in texts or ()]
    return (ctypes.c_char_p * len(texts))(*texts)


def _int64s(values):
    """The integers or booleans for C. Raises TypeError for a real, and OverflowError beyond 64 bits, which ctypes would cut off."""
    values = [int(value) if isinstance(value, np.bool_) else operator.index(value) for value in values]
    for value in values:
        if not -2**63 <= value < 2**63:
            raise OverflowError(f"{value} is no integer of 64 bits")
    return (ctypes.c_int64 * max(1, len(values)))(*values), len(values)


def _attribute(op, name, kind, value):
    """A _Attribute; ctypes keeps alive what it points to."""
    raw = _Attribute(name.encode())
    try:
        if kind in ("int64", "int64s", "bool"):
            raw.integers, raw.count = _int64s(value if kind == "int64s" else [value])
        elif kind in ("double", "doubles"):
            values = [float(each) for each in (value if kind == "doubles" else [value])]
            raw.reals, raw.count = (ctypes.c_double * max(1, len(values)))(*values), len(values)
        else:
            encoded = value if isinstance(value, bytes) else value.encode()
            raw.text, raw.count = encoded, len(encoded)
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise Error(f"{op}: attribute '{name}' is {value!r}, expected {kind}") from None
    return raw


class Value:
    """A value of a graph, which lives at least as long."""

    def __init__(self, graph, number):
        self.graph, self.number = graph, number

    @property
    def type(self):
        """The type as in textual IR: "tensor<?x64x56x56xf32>"."""
        kind, extents = ctypes.c_char_p(), ctypes.c_char_p()
        _call("lathe_graph_value_type", self.graph._graph, ctypes.c_int32(self.number), ctypes.byref(kind), ctypes.byref(extents))
        return kind.value.decode()

    def __repr__(self):
        return f"<value {self.number}: {self.type}>"


class _NoOperator(Error, AttributeError):
    """A name that the graph does not have; an AttributeError for hasattr() and its like."""


def _near(name, names):
    near = difflib.get_close_matches(name, sorted(names), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


class _Handle:
    """Frees the graph when it is not used any more."""

    def __init__(self, name):
        self.pointer = ctypes.c_void_p()
        _call("lathe_graph_create", _text("name", name), ctypes.byref(self.pointer))

    def __del__(self):
        if self.pointer and _library:  # nothing is there any more when the interpreter ends
            _library().lathe_graph_free(self.pointer)


class Graph(_operators()):
    """A graph, or a body of control flow. `prefix`: what names of nodes and weights begin with."""

    def __init__(self, name, weights=None):
        self._handle = _Handle(name)
        self._graph, self.prefix = self._handle.pointer, ""
        if weights is not None:
            self.weights(weights)

    def __getattr__(self, name):
        raise _NoOperator(f"a graph has no operator '{name}'" +
                          _near(name, [each for each in dir(type(self)) if not each.startswith("_")]))

    def at(self, prefix):
        """The same graph, in which names of nodes and weights begin with `prefix` behind the prefix of this one."""
        inner = Graph.__new__(type(self))
        inner._handle, inner._graph, inner.prefix = self._handle, self._graph, self.prefix + prefix
        return inner

    def input(self, name, type, dims=(), quantization=None):
        """An input. `type`: "f32", ..., or "!nn.sequence<tensor<?x5xf32>>"; `dims`: numbers, symbolic texts ("N") or "?"."""
        dims = _texts("extent", dims)
        return self._value("lathe_graph_input", _text("name", name), _text("type", type), dims, ctypes.c_size_t(len(dims)),
                           quantization and _text("quantization", quantization))

    def output(self, name, value, quantization=None):
        _call("lathe_graph_output", self._graph, _text("name", name), self._number(value),
              quantization and _text("quantization", quantization))

    def weights(self, path):
        """Opens the safetensors file of the weights."""
        _call("lathe_graph_open_weights", self._graph, encoded_path(path))

    def weight(self, name, type=None, dims=()):
        """A weight of the file. `type` and `dims` only for types that the file format lacks."""
        extents, rank = _int64s(dims)
        return self._value("lathe_graph_weight", _text("weight", self.prefix + name), type and _text("type", type), extents,
                           ctypes.c_size_t(rank))

    def constant(self, values, type=None, dims=None, name="constant"):
        """A constant: a number, a list of numbers or an array. `dims`: the extents; a single number fills them."""
        if type is not None and type not in _DTYPES:
            raise Error(f"constant of type '{type}': expected one of {', '.join(_DTYPES)}")
        array = np.asarray(values, dtype=_DTYPES.get(type))
        named = type or next((name for name, dtype in _DTYPES.items() if array.dtype == dtype), None)
        if named is None:
            raise Error(f"constant of type {array.dtype}: expected one of {', '.join(_DTYPES)}")
        if dims is not None:
            if array.size != 1 and array.size != int(np.prod(dims, dtype=np.int64)):
                raise Error(f"constant: {array.size} elements, expected one or those of {list(dims)}")
            array = array.reshape(dims) if array.size != 1 else np.broadcast_to(array.reshape(()), dims)
        array = np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])
        extents, rank = _int64s(array.shape)
        if dims is not None and len(dims) == 0:
            rank = 0
        return self._value("lathe_graph_constant", _text("name", self.prefix + name), named.encode(), extents, ctypes.c_size_t(rank),
                           ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))

    def branch(self, condition, captured, then_body, else_body, name="", types=None, extents=None):
        """nn.if: `then_body` and `else_body` are functions of a graph, which they give inputs (the captured values) and outputs."""
        values, count = self._numbers(captured)
        condition = self._number(condition)
        bodies = [self._body(body) for body in (then_body, else_body)]
        return self._results("lathe_graph_if", (condition, values, count, *bodies), (name, types, extents))

    def loop(self, trip_count, condition, values, carried, body, name="", types=None, extents=None):
        """nn.loop: `body` is a function of a graph, which it gives as inputs the number of the iteration, the condition and all
        values, and as outputs the condition, the `carried` first values, and values that are collected."""
        trip_count, condition = self._number(trip_count), self._number(condition)
        numbers, count = self._numbers(values)
        return self._results("lathe_graph_loop", (trip_count, condition, numbers, count, ctypes.c_size_t(carried), self._body(body)),
                             (name, types, extents))

    def convert_layout(self, x, types, name=""):
        """x in the layout of a type ("tensor<1x64x8x8xf32, #nn.blocked<1, 16>>")."""
        return self._operator("convert_layout", (x,), (), (name, types, None), True)

    def write(self, path):
        """Writes textual IR, with the weights beside it."""
        _call("lathe_graph_write", self._graph, encoded_path(path))

    def compile(self, path, target=None, threads=1, level=3, exact_math=False, precision="fp32", schedule=None,
                layout="auto", **more):
        """Compiles to a package file and loads it. The graph cannot be used afterwards.

        `more`: further flags of `lathe compile`, as memory="small", specialize=["N=1,8"], references_only=True.
        """
        texts = [f"{name.replace('_', '-')}={str(value).lower() if isinstance(value, bool) else value}".encode()
                 for name, values in more.items() for value in (values if isinstance(values, (list, tuple)) else [values])]
        options = new(_CompileOptions, target and target.encode(), int32("threads", threads),
                             int32("level", level), int(exact_math),
                             _number("precision", precision, _PRECISIONS), schedule and schedule.encode(), None, 0,
                             0, _number("layout", layout, _LAYOUTS), None, (ctypes.c_char_p * len(texts))(*texts), len(texts))
        _call("lathe_graph_compile", self._graph, encoded_path(path), ctypes.byref(options))
        return Package(path, threads=threads)

    def _value(self, function, *arguments):
        number = ctypes.c_int32(_NO_VALUE)
        _call(function, self._graph, *arguments, ctypes.byref(number))
        return Value(self, number.value)

    def _number(self, operand):
        if operand is None:
            return ctypes.c_int32(_NO_VALUE)
        if isinstance(operand, str):
            operand = self.weight(operand)
        if not isinstance(operand, Value):
            raise Error(f"operand {operand!r}: expected a value, or the name of a weight")
        if operand.graph._handle is not self._handle:  # whose numbers mean other values here
            raise Error(f"operand {operand!r}: is a value of another graph")
        return ctypes.c_int32(operand.number)

    def _numbers(self, operands):
        numbers = [self._number(operand) for operand in operands]
        return (ctypes.c_int32 * max(1, len(numbers)))(*(number.value for number in numbers)), ctypes.c_size_t(len(numbers))

    def _body(self, function):
        inner = Graph.__new__(type(self))
        inner._handle, inner._graph, inner.prefix = self._handle, ctypes.c_void_p(), ""
        name = getattr(function, "__name__", "body")
        _call("lathe_graph_body", self._graph, _text("name", name), ctypes.byref(inner._graph))
        function(inner)
        return inner._graph

    def _operator(self, op, operands, attributes, note, single):
        numbers, count = self._numbers(operands)
        given = [_attribute(op, name, kind, value) for name, kind, value in attributes if value is not None]
        array = (_Attribute * max(1, len(given)))(*given)
        results = self._results("lathe_graph_operator", (op.encode(), numbers, count, array, ctypes.c_size_t(len(given))), note)
        return results[0] if single else results

    def _results(self, function, arguments, note):
        name, types, extents = note
        types, extents = _texts("type", types), _texts("extent", extents)
        raw = _Note(ctypes.sizeof(_Note), _text("name", self.prefix + name if name else ""), types, len(types), extents, len(extents))
        results, count = (ctypes.c_int32 * _MOST_RESULTS)(), ctypes.c_size_t()
        _call(function, self._graph, *arguments, ctypes.byref(raw), results, ctypes.c_size_t(_MOST_RESULTS), ctypes.byref(count))
        return tuple(Value(self, number) for number in results[:count.value])


def _mistake(error, source):
    """What a staged model says of an exception: one line with the line of the source, and the name that was meant."""
    source = os.path.abspath(source)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) == source]
    place = f"{os.path.basename(source)}, line {lines[-1]}: " if lines else ""
    text = " ".join(str(error).split())
    unexpected = re.search(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", text)
    function = unexpected and getattr(Graph, unexpected[1], None)
    if function:
        names = list(inspect.signature(function).parameters)[1:]
        return f"{place}{unexpected[1]} has no argument '{unexpected[2]}'{_near(unexpected[2], names)}; it takes {', '.join(names)}"
    return place + (text if isinstance(error, Error) else f"{type(error).__name__}: {text}")


def main(name, build, source, weights):
    """What a staged model does as a program: `net.py OUT.mlir` writes the graph that `build` makes, `net.py OUT.lathe` compiles it.
    The file of weights (None: there is none) lies beside `source`, or where a second argument says."""
    words = sys.argv[1:]
    if not 1 <= len(words) <= 2 or not words[0].endswith((".mlir", ".lathe")):
        print(f"usage: {sys.argv[0]} OUT.mlir|OUT.lathe [WEIGHTS.safetensors]", file=sys.stderr)
        sys.exit(2)
    try:
        if len(words) > 1:
            weights = words[1]
        elif weights is not None:
            weights = os.path.join(os.path.dirname(os.path.abspath(source)), weights)
        net = Graph(name, weights)
        build(net)
        net.write(words[0]) if words[0].endswith(".mlir") else net.compile(words[0])
    except Exception as error:
        named = isinstance(error, Error) and str(error).startswith(f"{name}: ")  # the node or the input
        print(f"error: {error if named else _mistake(error, source)}", file=sys.stderr)
        sys.exit(2)
