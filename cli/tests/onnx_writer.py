"""Small ONNX files, written field by field."""
import numpy as np

from fixture import field

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11}


def tensor(name, array):
    array = np.asarray(array)
    return b"".join(field(1, extent) for extent in array.shape) + field(2, TYPES[str(array.dtype)]) + field(8, name) + field(9, array.tobytes())


def sparse(name, values, indices, shape):
    """The elements `values` at `indices`: their numbers, or a row of coordinates each."""
    return field(1, tensor(name, values)) + field(2, tensor("", np.asarray(indices, np.int64))) + b"".join(field(3, extent) for extent in shape)


def dimension(extent):
    if extent is None:
        return b""
    return field(2, extent) if isinstance(extent, str) else field(1, extent % 2**64)


def value(name, dims=None, kind="float32"):
    shape = b"" if dims is None else field(2, b"".join(field(1, dimension(extent)) for extent in dims))
    return field(1, name) + field(2, field(1, field(1, TYPES[kind]) + shape))


def attribute(name, given):
    if isinstance(given, bytes):  # a graph
        return field(1, name) + field(6, given) + field(20, 5)
    if isinstance(given, tuple):  # a sparse tensor
        return field(1, name) + field(22, sparse("", *given)) + field(20, 11)
    if isinstance(given, str):
        return field(1, name) + field(4, given) + field(20, 3)
    if isinstance(given, list):
        return field(1, name) + b"".join(field(8, number % 2**64) for number in given) + field(20, 7)
    return field(1, name) + field(3, given % 2**64) + field(20, 2)


def node(op, inputs, outputs, name="", domain="", **attributes):
    words = lambda text: text.split() if isinstance(text, str) else text
    return (b"".join(field(1, i) for i in words(inputs)) + b"".join(field(2, o) for o in words(outputs)) + field(3, name) + field(4, op)
            + b"".join(field(5, attribute(key, given)) for key, given in attributes.items()) + field(7, domain))


def graph(nodes, inputs=(), outputs=(), initializers=(), infos=(), sparses=()):
    return (b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, i) for i in initializers) + b"".join(field(11, i) for i in inputs)
            + b"".join(field(12, o) for o in outputs) + b"".join(field(13, i) for i in infos) + b"".join(field(15, s) for s in sparses))


def model(path, nodes, *parts, opset=18, ir=8, **more):
    with open(path, "wb") as file:
        file.write(field(1, ir) + field(7, graph(nodes, *parts, **more)) + field(8, field(2, opset)) + field(8, field(1, "com.microsoft") + field(2, 1)))
    return path
