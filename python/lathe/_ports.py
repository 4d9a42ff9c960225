"""Inputs and outputs of packages."""
from __future__ import annotations

import ctypes
from typing import Any, Sequence

import numpy as np

from lathe._libraries import Error, call, new
from lathe._structures import BF16, DTYPES, KINDS, STRING, TYPES, RawQuantization, Tensor


class Quantization:
    """How the elements q of an integer tensor stand for real numbers: scales * (q - zero_points), with one of each, or one for
    each index of `axis`."""

    def __init__(self, scales: Any, zero_points: Any, axis: int, dtype: Any) -> None:
        self.scales = np.array(scales, np.float32)
        self.zero_points = np.array(zero_points, np.int64)
        self.axis = axis
        self.dtype = dtype

    def __repr__(self) -> str:
        along = f", axis={self.axis}" if len(self.scales) > 1 else ""
        return f"Quantization(scales={self.scales.tolist()}, zero_points={self.zero_points.tolist()}{along})"

    def _convert(self, function: str, array: Any, dtype: Any, result: Any) -> np.ndarray[Any, Any]:
        array = np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])
        target = np.empty(array.shape, result)
        dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        tensors = [new(Tensor, TYPES[one.dtype], 0, one.ndim, dims, one.ctypes.data, one.nbytes) for one in (array, target)]
        how = new(RawQuantization, len(self.scales), self.scales.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
                  self.zero_points.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), self.axis)
        call(function, ctypes.byref(how), ctypes.byref(tensors[0]), ctypes.byref(tensors[1]))
        return target

    def quantize(self, real: Any) -> np.ndarray[Any, Any]:
        """Real numbers as integers: rounded, halves away from zero, and limited to the type."""
        return self._convert("lathe_quantize", real, np.float32, self.dtype)

    def dequantize(self, integers: Any) -> np.ndarray[Any, Any]:
        """Integers as the real numbers that they stand for."""
        integers = np.asarray(integers)
        if integers.dtype != self.dtype:
            raise Error(f"dequantize: expected {self.dtype}, got {integers.dtype}")
        return self._convert("lathe_dequantize", integers, self.dtype, np.float32)


class Port:
    """An input or output of a package.

    name: its name.
    kind: "tensor", "sequence", "optional" or "optional_sequence".
    dtype: of its tensors; None if NumPy has no such type.
    dims: its extents; None: symbolic.
    texts: its extents as texts, such as "N".
    quantization: a Quantization; None: integers stand for themselves.
    """

    quantization: Quantization | None = None

    def __init__(self, raw: Any) -> None:
        self.name: str = raw.name.decode(errors="replace")
        self.element_type: int = raw.element_type
        self.kind = KINDS[raw.value_kind] if raw.value_kind < len(KINDS) else "unknown"
        self.dtype: Any = (np.dtype(np.uint16 if raw.element_type == BF16 else DTYPES[raw.element_type])
                           if raw.element_type in DTYPES or raw.element_type == BF16 else
                           np.dtype("U") if raw.element_type == STRING else None)
        self.dims: tuple[int | None, ...] = tuple(d if d >= 0 else None for d in raw.dims[:raw.rank])
        self.texts: tuple[str, ...] = tuple(t.decode(errors="replace") for t in raw.dim_texts[:raw.rank])

    @property
    def plain(self) -> bool:
        """True for a tensor of numbers that NumPy has."""
        return self.kind == "tensor" and (self.element_type in DTYPES or self.element_type == BF16)

    def __repr__(self) -> str:
        shape = "x".join(self.texts) or "scalar" if self.kind == "tensor" else self.kind.replace("_", " ")
        return f"{self.name}: {self.dtype} {shape}"


def index_of(what: str, ports: Sequence[Port], key: Any) -> int:
    """The number of the port that is called `key`, or that is number `key`."""
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if not 0 <= key < len(ports):
            raise Error(f"{what} {key} of {len(ports)}")
        return int(key)
    index = next((i for i, port in enumerate(ports) if port.name == key), None)
    if index is None:
        raise Error(f"no {what} is called '{key}'; there are: {', '.join(port.name for port in ports)}")
    return index
