"""Small ONNX models as bytes: the least of protobuf that they need."""
import struct

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
         "float64": 11, "uint32": 12, "uint64": 13}


def varint(number):
    number &= (1 << 64) - 1  # negative numbers as two's complement
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(array, name=""):
    array = np.asarray(array)
    return (b"".join(field(1, extent) for extent in array.shape) + field(2, TYPES[array.dtype.name]) + field(8, name) +
            field(9, np.ascontiguousarray(array).tobytes()))


def attribute(name, value):
    out = field(1, name)
    if isinstance(value, (list, tuple)):
        numbers = {int: (8, 7), float: (7, 6), str: (9, 8)}[type(value[0]) if value else int]
        return out + b"".join(field(numbers[0], one) for one in value) + field(20, numbers[1])
    if isinstance(value, np.ndarray):
        return out + field(5, tensor(value)) + field(20, 4)
    numbers = {int: (3, 2), float: (2, 1), str: (4, 3)}[type(value)]
    return out + field(numbers[0], value) + field(20, numbers[1])


def node(op, inputs, outputs, name="", domain="", **attributes):
    return (b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in outputs) + field(3, name) +
            field(4, op) + b"".join(field(5, attribute(*one)) for one in attributes.items()) + field(7, domain))


def value(name, dtype, dims=None):
    """`dims`: numbers, and names of extents that are open; None: the rank is not stated."""
    kind = field(1, TYPES[np.dtype(dtype).name])
    if dims is not None:
        kind += field(2, b"".join(field(1, field(1 if isinstance(dim, int) else 2, dim)) for dim in dims))
    return field(1, name) + field(2, field(1, kind))


def model(opset, nodes, inputs, outputs, constants=()):
    """`inputs`, `outputs`: texts of value(). `constants`: texts of tensor()."""
    graph = b"".join(field(1, one) for one in nodes) + field(2, "g")
    graph += b"".join(field(5, one) for one in constants)
    graph += b"".join(field(11, one) for one in inputs) + b"".join(field(12, one) for one in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset))
