"""Structures of include/lathe/runtime.h for ctypes, and numbers of its enumerations."""
from __future__ import annotations

import ctypes

import numpy as np

DTYPES = {1: np.float32, 2: np.float64, 3: np.float16, 5: np.int8, 6: np.int16, 7: np.int32, 8: np.int64,
          9: np.uint8, 10: np.uint16, 11: np.uint32, 12: np.uint64, 13: np.bool_}
TYPES = {np.dtype(dtype): number for number, dtype in DTYPES.items()}
BF16 = 4  # NumPy has no such type: passed as uint16 bit patterns
STRING = 14  # arrays of dtype 'U' or of str objects
KINDS = ("tensor", "sequence", "optional", "optional_sequence")  # lathe_value_kind
SEQUENCE, NOTHING = 1, 4


class Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("element_type", ctypes.c_int32), ("memory_space", ctypes.c_int32),
                ("rank", ctypes.c_size_t), ("dims", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t)]


class RawPort(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("element_type", ctypes.c_int32),
                ("is_tensor", ctypes.c_int32), ("rank", ctypes.c_size_t), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("dim_texts", ctypes.POINTER(ctypes.c_char_p)), ("value_kind", ctypes.c_int32)]


class RawQuantization(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("count", ctypes.c_size_t), ("scales", ctypes.POINTER(ctypes.c_float)),
                ("zero_points", ctypes.POINTER(ctypes.c_int64)), ("axis", ctypes.c_int64)]


class String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("reserved", ctypes.c_int32), ("pool", ctypes.c_void_p),
                ("first_slot", ctypes.c_int32), ("reserved2", ctypes.c_int32)]


class PoolOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("slots", ctypes.c_int32), ("reserved", ctypes.c_int32),
                ("cpus", ctypes.POINTER(ctypes.c_int32))]


class LoadOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class ProfileRow(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), *((name, ctypes.c_char_p) for name in ("kind", "name", "family", "shapes", "schedule", "nodes")),
                ("nanoseconds", ctypes.c_uint64), ("flops", ctypes.c_double), ("bytes", ctypes.c_double)]
