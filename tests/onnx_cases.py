"""Nodes of ONNX in the forms that the importer rewrites, with the values from the standard's text (onnx_definitions.py)."""
import dataclasses
import os

import numpy as np

import onnx_definitions as standard
import onnx_writer as onnx

RANDOM = np.random.RandomState(36)


def reals(*dims):
    return RANDOM.uniform(-2, 2, dims).astype("f4")


@dataclasses.dataclass
class Fixed:
    """An input whose elements are in the file."""
    array: np.ndarray


@dataclasses.dataclass
class Case:
    name: str
    opset: int
    op: str
    inputs: list  # arrays, Fixed, or None for one that is absent
    expected: list  # None: an output that nobody asks for
    attributes: dict = dataclasses.field(default_factory=dict)
    dims: dict = dataclasses.field(default_factory=dict)  # extents of inputs that are open, by position: "A B 3"
    peer: bool = True  # ONNX Runtime is of the same opinion
    tolerance: float = 1e-5


def ints(*values):
    return np.array(values, "i8")


def attention():
    q, k, v = reals(2, 4, 3, 8), reals(2, 2, 5, 8), reals(2, 2, 5, 6)
    flags = RANDOM.rand(2, 1, 3, 5) < 0.6
    flags[0, 0, 1] = flags[1, 0, 2] = False  # rows that see nothing
    floats = np.where(flags, reals(2, 1, 3, 5), -np.inf).astype("f4")
    masks = {"bool": flags, "float": floats, "short": flags[0, 0, :, :3], "heads": RANDOM.rand(2, 4, 3, 5) < 0.5}
    open_dims = {0: "B 4 Q 8", 1: "B 2 K 8", 2: "B 2 K 6"}
    for name, mask in masks.items():
        for mode in range(4):
            expected = standard.attention(q, k, v, mask, softcap=2.0, mode=mode)
            yield Case(f"attention_{name}_{mode}", 24, "Attention", [q, k, v, mask], [expected[0], None, None, expected[3]],
                       {"softcap": 2.0, "qk_matmul_output_mode": mode}, peer=False)
    past = reals(2, 2, 2, 8), reals(2, 2, 2, 6)
    for mode in range(4):
        expected = standard.attention(q, k, v, past=past, causal=True, mode=mode)
        yield Case(f"attention_past_{mode}", 23, "Attention", [q, k, v, None, *past], list(expected),
                   {"is_causal": 1, "qk_matmul_output_mode": mode}, {**open_dims, 4: "B 2 P 8", 5: "B 2 P 6"}, peer=False)
    lengths = ints(5, 2)  # the first query of row 1 stands before the first key
    for causal in range(2):
        expected = standard.attention(q, k, v, lengths=lengths, causal=bool(causal), mode=3)
        yield Case(f"attention_lengths_{causal}", 24, "Attention", [q, k, v, None, None, None, lengths],
                   [expected[0], None, None, expected[3]], {"is_causal": causal, "qk_matmul_output_mode": 3},
                   {**open_dims, 6: "B"}, peer=False)
    one = RANDOM.rand(2, 1, 3, 5) < 0.7
    one[..., 0] = True
    expected = standard.attention(q, k, v, one)
    yield Case("attention_open_heads", 24, "Attention", [q, k, v, one], [expected[0]], {},
               {**open_dims, 3: "B H Q K"}, peer=False)


def outputs():
    """Operators with several outputs."""
    x, scale, bias, mean, variance = reals(3, 4, 5, 2), reals(4), reals(4), reals(4), abs(reals(4))
    expected = standard.batch_norm_training(x, scale, bias, mean, variance, momentum=0.75)
    for opset in (14, 15):
        yield Case(f"batch_norm_training_{opset}", opset, "BatchNormalization", [x, scale, bias, mean, variance],
                   list(expected), {"training_mode": 1, "momentum": 0.75}, {0: "N 4 H W"}, peer=False)
    x = RANDOM.randint(-3, 3, (2, 3, 6, 5)).astype("f4")  # with equal elements
    for order, ceil, dilation in ((0, 0, 1), (1, 1, 1), (0, 1, 2), (1, 0, 2)):
        how = [3, 2], [2, 1], [1, 0, 1, 1], [dilation, 1]
        values, places = standard.pool(x, *how, bool(ceil), "max")
        if order:
            plane, pixel = places // 30, places % 30
            places = plane * 30 + pixel % 5 * 6 + pixel // 5
        yield Case(f"max_pool_{order}{ceil}{dilation}", 12, "MaxPool", [x], [values, places],
                   {"kernel_shape": how[0], "strides": how[1], "pads": how[2], "dilations": how[3], "ceil_mode": ceil,
                    "storage_order": order})
    x = RANDOM.randint(-2, 3, (3, 9)).astype("f4")
    x[1, 4] = np.nan
    for largest in range(2):
        order = np.argsort(-x if largest else x, 1, kind="stable")
        nan = [4, *[i for i in order[1] if i != 4]] if largest else order[1]  # greater than every number
        order = np.array([order[0], nan, order[2]])[:, :5]
        yield Case(f"top_k_{largest}", 11, "TopK", [x, Fixed(ints(5))], [np.take_along_axis(x, order, 1), order],
                   {"largest": largest}, {0: "N M"}, peer=False)
    x = reals(2, 3, 4)
    for axis in (1, 2):
        axes = tuple(range(axis, 3))
        mean, inverse = x.mean(axes, keepdims=True), 1 / np.sqrt(x.astype("f8").var(axes, keepdims=True) + 1e-5)
        scale = reals(*x.shape[axis:])
        yield Case(f"layer_norm_{axis}", 17, "LayerNormalization", [x, scale], [(x - mean) * inverse * scale, mean, inverse],
                   {"axis": axis}, {0: "A B 4"} if axis == 2 else {})
    for opset, kind in ((10, "bool"), (7, "f4"), (13, "bool")):
        yield Case(f"dropout_{opset}", opset, "Dropout", [x], [x, np.ones(x.shape, kind)], {}, {0: "A B 4"},
                   peer=opset > 10)  # it gives a mask of opset 10 that is false
    w, r, b = reals(2, 12, 4) / 2, reals(2, 12, 3) / 2, reals(2, 24)
    x, lengths = reals(5, 3, 4), np.array([5, 0, 2], "i4")
    both = [standard.lstm(x, w[d].astype("f8"), r[d].astype("f8"), b[d].astype("f8"), lengths, d) for d in range(2)]
    expected = [np.stack([side[i] for side in both], 1 if i == 0 else 0) for i in range(3)]
    yield Case("lstm_lengths", 14, "LSTM", [x, Fixed(w), Fixed(r), Fixed(b), lengths], expected,
               {"hidden_size": 3, "direction": "bidirectional"}, {0: "T N 4", 4: "N"})
    x, labels, weights = reals(4, 3, 2), RANDOM.randint(0, 3, (4, 2)), abs(reals(3)) + np.float32(0.1)
    logarithms = np.log(standard.softmax(x.astype("f8"), 1))
    weight = np.where(labels == 1, 0, weights[labels])
    picked = -np.take_along_axis(logarithms, labels[:, None], 1)[:, 0] * weight
    yield Case("cross_entropy", 13, "SoftmaxCrossEntropyLoss", [x, labels, weights], [picked.sum() / weight.sum(), logarithms],
               {"ignore_index": 1}, {0: "N 3 D", 1: "N D"})
    # Of nothing; one extent is open beside an extent of 0.
    nothing = np.zeros((4, 0, 2), "i8")
    for reduction, loss in (("sum", np.array(0, "f4")), ("none", np.zeros((4, 0, 2), "f4"))):
        yield Case(f"likelihood_of_nothing_{reduction}", 13, "NegativeLogLikelihoodLoss", [np.zeros((4, 3, 0, 2), "f4"), nothing], [loss],
                   {"reduction": reduction}, {0: "N 3 0 D", 1: "4 0 E"})


def resizes():
    x = reals(1, 2, 4, 6)
    sizes = {"not_larger": [6, 7], "not_smaller": [3, 2], "stretch": [5, 9]}
    for policy, size in sizes.items():
        for mode in ("nearest", "linear", "cubic"):
            for coordinates in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"):
                how = {"mode": mode, "coordinates": coordinates, "nearest": "floor"}
                y = standard.resize(x, (2, 3), sizes=size, policy=policy, **how)
                attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": "floor",
                              "axes": [2, 3], "keep_aspect_ratio_policy": policy}
                yield Case(f"resize_{policy}_{mode}_{coordinates}", 19, "Resize", [x, None, None, Fixed(ints(*size))], [y],
                           attributes, peer=False)
    line = reals(1, 1, 1, 4)
    y = standard.resize(line, (3,), sizes=[1], mode="cubic", coordinates="pytorch_half_pixel")
    for dims in ({}, {0: "1 1 1 W"}):
        yield Case(f"resize_to_one_pixel{len(dims)}", 13, "Resize", [line, None, None, Fixed(ints(1, 1, 1, 1))], [y],
                   {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"}, dims)


def windows():
    x = reals(1, 2, 4, 4)
    for op, kind in (("MaxPool", "max"), ("AveragePool", "average"), ("LpPool", "power")):
        for kernel, pads in ((5, 0), (3, 0), (5, 1), (2, 1)):
            how = [kernel] * 2, [2, 2], [pads] * 4, [1, 1]
            for dims in {}, {0: "1 2 H W"}:
                if op == "LpPool" and dims:
                    continue
                yield Case(f"ceil_{op}_{kernel}{pads}{len(dims)}", 19 if op != "LpPool" else 18, op, [x],
                           [standard.pool(x, *how, True, kind)[0]],
                           {"kernel_shape": how[0], "strides": how[1], "pads": how[2], "ceil_mode": 1}, dims,
                           peer=op != "LpPool")
    x, w, b = reals(1, 2, 3, 4), reals(2, 3, 3, 2), reals(3)
    for auto in ("NOTSET", "SAME_UPPER"):
        for shape in ([5, 9], [7, 10], [9, 7]):
            total = [max((n - 1) * 2 + k - out, 0) for n, k, out in zip(x.shape[2:], w.shape[2:], shape)]
            begin = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in total]
            y = standard.conv_transpose(x, w.astype("f8"), [2, 2], begin, shape) + b[:, None, None]
            yield Case(f"conv_transpose_{auto}_{shape[0]}", 13, "ConvTranspose", [x, Fixed(w), Fixed(b)], [y],
                       {"output_shape": shape, "strides": [2, 2], "auto_pad": auto}, {0: "1 2 H W"},
                       peer=False)


def views():
    x = reals(2, 3, 4, 5)
    whole = x.reshape(6, 20)
    hard = np.zeros_like(whole)
    hard[np.arange(6), whole.argmax(1)] = 1
    for op, y in (("Softmax", standard.softmax(whole)), ("LogSoftmax", np.log(standard.softmax(whole))), ("Hardmax", hard)):
        for dims in ("2 3 A B", "A B C D"):
            yield Case(f"{op}_{len(dims.split('A')[0])}", 11, op, [x], [y.reshape(x.shape)], {"axis": 2}, {0: dims})
    a, b, c, square = reals(2, 3, 4), reals(2, 4, 5), reals(5, 3), reals(3, 3, 2)
    for name, equation, operands, dims in (
            ("three", "bij,bjk,kl->bil", [a, b, c], ["B I J", "B J K", "K L"]),
            ("one_of_many", "...i,...i->...i", [reals(1, 1), reals(2, 1)], None),
            ("many_of_one", "...i,...i->...", [reals(2, 4), reals(1, 4)], None),
            ("letters", "ij,jk->ik", [reals(2, 1), reals(3, 4)], None),
            ("diagonal", "iij->ij", [square], ["N N J"]),
            ("trace", "iij->j", [square], ["N M J"])):
        yield Case(f"einsum_{name}", 13, "Einsum", operands, [np.einsum(equation, *operands)], {"equation": equation},
                   {i: text for i, text in enumerate(dims or [])})
    x, most, least = reals(6, 2), 2 ** 63 - 1, -2 ** 63
    for i, (start, end, step) in enumerate([(-1, most, -1), (most, least, -1), (least, most, most), (most, least, least + 1),
                                            (least, least + 1, 1), (4, -100, -2), (-2, most, 1), (1, 2 ** 31 - 1, 2 ** 40)]):
        for dims in {}, {0: "N 2"}:
            yield Case(f"slice_{i}{len(dims)}", 13, "Slice", [x, *[Fixed(ints(n)) for n in (start, end, 0, step)]],
                       [standard.slice_of(x, 0, start, end, step)], {}, dims, peer=False)
    yield Case("constant_of_no_shape", 13, "ConstantOfShape", [Fixed(np.zeros(0, "i8"))], [np.float32(0)])
    codes, scale, zero = RANDOM.randint(-9, 9, (7, 3)).astype("i1"), abs(reals(3, 3)), RANDOM.randint(-9, 9, (3, 3)).astype("i1")
    y = (codes.astype("f4") - zero.repeat(3, 0)[:7]) * scale.repeat(3, 0)[:7]
    for dims in {}, {0: "N M", 1: "S M", 2: "S M"}:
        yield Case(f"blocks{len(dims)}", 21, "DequantizeLinear", [codes, scale, zero], [y], {"axis": 0, "block_size": 3}, dims,
                   peer=False)
    x, scale, bias = reals(2, 6, 5), reals(3), reals(3)
    grouped = x.reshape(2, 3, 10).astype("f8")
    y = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    y = (y * scale[:, None] + bias[:, None]).reshape(x.shape)
    for dims in {}, {0: "N C L"}:
        yield Case(f"group_norm{len(dims)}", 18, "GroupNormalization", [x, scale, bias], [y], {"num_groups": 3}, dims)


def cases():
    return [case for part in (attention, outputs, resizes, windows, views) for case in part()]


class Part:
    """Cases of one opset as one model."""

    KINDS = {"f": "f4", "i": "i8", "b": "bool"}  # the types of expected values

    def __init__(self, chosen):
        self.cases, self.arrays = chosen, {}
        nodes, inputs, outputs, constants = [], [], [], []
        for case in chosen:
            names = []
            for i, given in enumerate(case.inputs):
                name = "" if given is None else f"{case.name}.{i}"
                names.append(name)
                if isinstance(given, Fixed):
                    constants.append(onnx.tensor(name, given.array))
                elif given is not None:
                    dims = list(given.shape)
                    if i in case.dims:
                        dims = [int(d) if d.isdigit() else f"{case.name}_{d}" for d in case.dims[i].split()]
                    inputs.append(onnx.value(name, dims, given.dtype))
                    self.arrays[name] = given
            results = ["" if e is None else f"{case.name}:{i}" for i, e in enumerate(case.expected)]
            outputs += [onnx.value(name, kind=self.KINDS[np.asarray(e).dtype.kind]) for name, e in zip(results, case.expected) if name]
            nodes.append(onnx.node(case.op, names, results, case.name, **case.attributes))
        self.model = onnx.encoded(nodes, inputs, outputs, constants, opset=chosen[0].opset)

    def write(self, folder, name="m"):
        path = os.path.join(folder, f"{name}.onnx")
        with open(path, "wb") as file:
            file.write(self.model)
        return path
