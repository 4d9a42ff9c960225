"""Small ONNX models as bytes, field by field, with only the needed parts of protobuf."""
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


def tensor(name, array):
    array = np.asarray(array)
    return (b"".join(field(1, extent) for extent in array.shape) + field(2, TYPES[array.dtype.name]) + field(8, name) +
            field(9, np.ascontiguousarray(array).tobytes()))


def sparse(name, values, indices, shape):
    """The elements `values` at `indices`: linear indices, or a row of coordinates each."""
    return (field(1, tensor(name, values)) + field(2, tensor("", np.asarray(indices, np.int64))) +
            b"".join(field(3, extent) for extent in shape))


def dimension(extent):
    if extent is None:
        return b""
    return field(2 if isinstance(extent, str) else 1, extent)


def value(name, dims=None, kind="float32"):
    """`dims`: numbers, names of open extents, None for an open extent without a name. `dims` None: the rank is not stated."""
    shape = b"" if dims is None else field(2, b"".join(field(1, dimension(extent)) for extent in dims))
    return field(1, name) + field(2, field(1, field(1, TYPES[np.dtype(kind).name]) + shape))


def attribute(name, given):
    out = field(1, name)
    if isinstance(given, bytes):  # a graph
        return out + field(6, given) + field(20, 5)
    if isinstance(given, tuple):  # a sparse tensor
        return out + field(22, sparse("", *given)) + field(20, 11)
    if isinstance(given, np.ndarray):
        return out + field(5, tensor("", given)) + field(20, 4)
    many = isinstance(given, list)
    first = given[0] if many and given else 0 if many else given
    kind = 0 if isinstance(first, float) else 2 if isinstance(first, str) else 1  # in the order of AttributeProto.AttributeType
    return out + b"".join(field((7, 8, 9)[kind] if many else (2, 3, 4)[kind], one) for one in (given if many else [given])) + field(
        20, kind + (6 if many else 1))


def node(op, inputs, outputs, name="", domain="", **attributes):
    """Lists of names, or texts with names separated by spaces."""
    words = lambda text: text.split() if isinstance(text, str) else text
    return (b"".join(field(1, one) for one in words(inputs)) + b"".join(field(2, one) for one in words(outputs)) +
            field(3, name) + field(4, op) + b"".join(field(5, attribute(*one)) for one in attributes.items()) +
            field(7, domain))


def graph(nodes, inputs=(), outputs=(), initializers=(), infos=(), sparses=()):
    """`inputs`, `outputs`, `infos`: texts of value(). `initializers`: texts of tensor()."""
    lists = {1: nodes, 5: initializers, 11: inputs, 12: outputs, 13: infos, 15: sparses}
    return field(2, "g") + b"".join(field(number, one) for number, ones in lists.items() for one in ones)


def encoded(nodes, *parts, opset=18, ir=8, **more):
    """The bytes of a model with this graph()."""
    return (field(1, ir) + field(7, graph(nodes, *parts, **more)) + field(8, field(1, "") + field(2, opset)) +
            field(8, field(1, "com.microsoft") + field(2, 1)))


def model(path, *parts, **more):
    """Writes encoded() to a file."""
    with open(path, "wb") as file:
        file.write(encoded(*parts, **more))
    return path
