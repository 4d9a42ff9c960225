"""Writes GraphDefs of TensorFlow (tensorflow.proto beside this folder), without TensorFlow."""
import struct

import numpy as np

TYPES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int64": 9, "bool": 10}
PRODUCER = 1087  # the version of graphs of TensorFlow 2.8; below 24, a scalar's shape means an unknown one


class Type(str):
    """An element type as the value of an attribute."""


class Shape(list):
    """Extents as the value of an attribute; -1 is unknown."""


def varint(value):
    value &= (1 << 64) - 1
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes(result) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(int(value))


def part(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def shape_message(extents):
    return b"".join(part(2, number(1, extent)) for extent in extents)


def tensor_message(array):
    code = TYPES[array.dtype.name]
    return number(1, code) + part(2, shape_message(array.shape)) + part(4, np.ascontiguousarray(array).tobytes())


def attribute(value):
    """An AttrValue."""
    if isinstance(value, Type):
        return number(6, TYPES[value])
    if isinstance(value, Shape):
        return part(7, shape_message(value))
    if isinstance(value, np.ndarray):
        return part(8, tensor_message(value))
    if isinstance(value, bool):
        return number(5, value)
    if isinstance(value, int):
        return number(3, value)
    if isinstance(value, float):
        return varint(4 << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, list):
        return part(1, part(3, b"".join(varint(each) for each in value)) if value else b"")
    return part(2, value)


class Graph:
    """Nodes in the order in which they are added. Every method returns the name of its node, which is its first result."""

    def __init__(self):
        self.bytes = b""
        self.names = set()

    def node(self, name, op, inputs=(), **attributes):
        assert name not in self.names, name
        self.names.add(name)
        body = part(1, name) + part(2, op) + b"".join(part(3, each) for each in inputs)
        for key, value in sorted(attributes.items()):
            body += part(5, part(1, key) + part(2, attribute(value)))
        self.bytes += part(1, body)
        return name

    def const(self, name, value, dtype=None):
        value = np.asarray(value, dtype or ("int32" if np.asarray(value).dtype.kind == "i" else "float32"))
        return self.node(name, "Const", dtype=Type(value.dtype.name), value=value)

    def placeholder(self, name, extents, dtype="float32"):
        return self.node(name, "Placeholder", dtype=Type(dtype), shape=Shape(extents))

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes + part(4, number(1, PRODUCER)))
