"""Nodes of ONNX with random attributes and inputs: the forms that the importer rewrites."""
import random

import numpy as np

from onnx_cases import Fixed

FAMILIES = []


def family(function):
    FAMILIES.append(function)
    return function


class Draw(random.Random):
    def reals(self, *dims):
        return np.random.RandomState(self.getrandbits(32)).uniform(-2, 2, dims).astype("f4")

    def integers(self, low, high, *dims):
        return np.random.RandomState(self.getrandbits(32)).randint(low, high, dims)

    def dims(self, count, most=5, least=1):
        return [self.randint(least, most) for _ in range(count)]

    def fixed(self, array):
        """A constant in the file or, less often, an input."""
        return Fixed(array) if self.random() < 0.7 else array

    def axis(self, rank):
        return self.randint(-rank, rank - 1)

    def maybe(self, value):
        return value if self.random() < 0.5 else None


def ints(*values):
    return Fixed(np.array(values, "i8"))


def window(d, axes):
    kernel, dilations = d.dims(axes, 4), [d.choice([1, 1, 2]) for _ in range(axes)]
    return kernel, dilations, [(k - 1) * n + 1 for k, n in zip(kernel, dilations)]


@family
def pool(d):
    axes = d.randint(1, 3)
    kernel, dilations, spans = window(d, axes)
    op = d.choice(["MaxPool", "MaxPool", "AveragePool", "LpPool"])
    how = {"kernel_shape": kernel, "strides": d.dims(axes, 3), "ceil_mode": d.randint(0, 1), "dilations": dilations}
    auto = d.choice(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if auto == "NOTSET":
        how["pads"] = [d.randint(0, span // 2) for span in spans * 2]
    else:
        how["auto_pad"] = auto
        if auto != "VALID":
            # ONNX Runtime pads for the window without its gaps, and cuts where a stride exceeds the window (docs/importers.md).
            how.update(dilations=[1] * axes, strides=[min(pair) for pair in zip(kernel, how["strides"])])
    if op == "AveragePool":
        how["count_include_pad"] = d.randint(0, 1)
    x = np.round(d.reals(*d.dims(2, 3), *[span + n for span, n in zip(spans, d.dims(axes, 6))]))
    return op, 19 if op != "LpPool" else 18, [x], how, 2 if op == "MaxPool" and d.randint(0, 1) else 1


@family
def convolution(d):
    axes, group = d.randint(1, 3), d.choice([1, 1, 2])
    kernel, dilations, spans = window(d, axes)
    channels, filters = group * d.randint(1, 3), group * d.randint(1, 3)
    x = d.reals(d.randint(1, 2), channels, *[span + n for span, n in zip(spans, d.dims(axes, 6))])
    how = {"strides": d.dims(axes, 3), "dilations": dilations, "group": group}
    auto = d.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if auto == "NOTSET":
        how["pads"] = [d.randint(0, 2) for _ in range(2 * axes)]
    else:
        how.update(auto_pad=auto, dilations=[1] * axes)
    return "Conv", 13, [x, d.fixed(d.reals(filters, channels // group, *kernel)), d.maybe(Fixed(d.reals(filters)))], how, 1


@family
def transposed(d):
    axes, group = d.randint(1, 2), d.choice([1, 1, 2])
    kernel, dilations, spans = window(d, axes)
    strides, channels, filters = d.dims(axes, 3), group * d.randint(1, 3), d.randint(1, 3)
    x = d.reals(d.randint(1, 2), channels, *d.dims(axes, 6, 2))
    how = {"strides": strides, "dilations": dilations, "group": group}
    if d.randint(0, 1):
        how["output_shape"] = [(n - 1) * s + span - d.randint(0, min(2, span - 1)) for n, s, span in zip(x.shape[2:], strides, spans)]
    else:
        how["output_padding"] = [d.randint(0, s - 1) for s in strides]
    return "ConvTranspose", 13, [x, Fixed(d.reals(channels, filters, *kernel)), d.maybe(Fixed(d.reals(filters * group)))], how, 1


@family
def resize(d):
    x, mode = d.reals(d.randint(1, 2), d.randint(1, 3), *d.dims(2, 7)), d.choice(["nearest", "linear", "cubic"])
    coordinates = d.choice(["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
    how = {"mode": mode, "coordinate_transformation_mode": coordinates,
           "nearest_mode": d.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])}
    if mode == "cubic":
        how.update(exclude_outside=d.randint(0, 1), cubic_coeff_a=d.choice([-0.75, -0.5]))
    return "Resize", 13, [x, None, None, d.fixed(np.array([*x.shape[:2], *d.dims(2, 9)], "i8"))], how, 1


@family
def cut(d):
    rank = d.randint(1, 3)
    axes = d.sample(range(rank), d.randint(1, rank))
    bound = lambda: d.choice([2 ** 63 - 1, -2 ** 63, 2 ** 31 - 1, 1000, -1000]) if d.random() < 0.2 else d.randint(-7, 7)
    starts, ends = (d.fixed(np.array([bound() for _ in axes], "i8")) for _ in range(2))
    steps = [d.choice([1, 1, 2, 3]) for _ in axes]
    return "Slice", 13, [d.reals(*d.dims(rank)), starts, ends, ints(*axes), ints(*steps)], {}, 1


@family
def padding(d):
    rank, mode = d.randint(1, 3), d.choice(["constant", "edge", "reflect", "wrap"])
    x = d.reals(*d.dims(rank, 6, 2))
    pads = [d.randint(-1 if mode == "constant" else 0, n - 1) for n in x.shape * 2]
    return "Pad", 19, [x, d.fixed(np.array(pads, "i8"))], {"mode": mode}, 1


@family
def split(d):
    rank, count = d.randint(1, 3), d.randint(1, 3)
    x, axis = d.reals(*d.dims(rank, 7)), d.axis(rank)
    cuts = sorted(d.randint(0, x.shape[axis]) for _ in range(count - 1))
    return "Split", 13, [x, ints(*np.diff([0, *cuts, x.shape[axis]]))], {"axis": axis}, count


@family
def top(d):
    rank = d.randint(1, 3)
    x, axis = np.round(d.reals(*d.dims(rank, 6))), d.axis(rank)
    count = np.array([d.randint(1, x.shape[axis])], "i8")
    return "TopK", 11, [x, d.fixed(count)], {"axis": axis, "largest": d.randint(0, 1)}, 2


@family
def recurrence(d):
    op, gates = d.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    steps, batch, width, hidden = d.dims(4)
    direction = d.choice(["forward", "reverse", "bidirectional"])
    sides = 2 if direction == "bidirectional" else 1
    lengths = d.integers(0, steps + 1, batch).astype("i4")
    inputs = [d.reals(steps, batch, width), Fixed(d.reals(sides, gates * hidden, width) / 2),
              Fixed(d.reals(sides, gates * hidden, hidden) / 2), d.maybe(Fixed(d.reals(sides, 2 * gates * hidden))),
              d.maybe(lengths), d.maybe(d.reals(sides, batch, hidden))]
    how = {"hidden_size": hidden, "direction": direction}
    if op == "GRU":
        how["linear_before_reset"] = d.randint(0, 1)
    if op == "LSTM":
        inputs += [d.maybe(d.reals(sides, batch, hidden)), d.maybe(Fixed(d.reals(sides, 3 * hidden) / 2))]
    return op, 14, inputs, how, 3 if op == "LSTM" else 2


@family
def rows(d):
    rank = d.randint(1, 4)
    op = d.choice(["Softmax", "LogSoftmax", "Hardmax"])
    return op, d.choice([11, 13]), [d.reals(*d.dims(rank, 4))], {"axis": d.axis(rank)}, 1


@family
def normalisation(d):
    x = d.reals(*d.dims(d.randint(3, 4)))
    channels, op = x.shape[1], d.choice(["LayerNormalization", "GroupNormalization", "MeanVarianceNormalization"])
    if op == "LayerNormalization":
        axis = d.axis(x.ndim)
        return op, 17, [x, d.reals(*x.shape[axis:])], {"axis": axis}, 3
    if op == "GroupNormalization":
        groups = d.choice([n for n in range(1, channels + 1) if channels % n == 0])
        opset = d.choice([18, 21])
        count = groups if opset == 18 else channels
        return op, opset, [x, d.reals(count), d.reals(count)], {"num_groups": groups}, 1
    axes = sorted(d.sample(range(x.ndim), d.randint(1, x.ndim)))
    if all(x.shape[axis] == 1 for axis in axes):  # ONNX Runtime's difference of squares may be below 0 where nothing varies
        x = np.concatenate([x, -x], axes[0])
    return op, 13, [x], {"axes": axes}, 1


@family
def loss(d):
    batch, classes, rest = d.randint(1, 4), d.randint(1, 4), d.dims(d.randint(0, 2), 3)
    op = d.choice(["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"])
    inputs = [d.reals(batch, classes, *rest), d.integers(0, classes, batch, *rest).astype("i8"),
              d.maybe(abs(d.reals(classes)) + np.float32(0.1))]
    how = {"reduction": d.choice(["none", "sum", "mean"])}
    return op, 13, inputs, how, 2 if op.startswith("Softmax") else 1


@family
def sums(d):
    labels = {label: d.randint(1, 4) for label in "abcd"}
    terms = ["".join(d.sample("abcd", d.randint(1, 3))) for _ in range(d.randint(1, 3))]
    used = sorted(set("".join(terms)))
    wide = d.choice([None, None, d.dims(2, 3)])
    inputs = []
    for term in terms:
        front = [n if d.random() < 0.7 else 1 for n in (wide or [])[d.randint(0, 1):]]
        inputs.append(d.reals(*front, *[labels[label] for label in term]))
    dots = "..." if wide else ""
    equation = ",".join(dots + term for term in terms) + "->" + dots + "".join(d.sample(used, d.randint(0, len(used))))
    return "Einsum", 13, inputs, {"equation": equation}, 1


@family
def steps_of_quantisation(d):
    kind = d.choice(["u1", "i1"])
    low, high = (0, 256) if kind == "u1" else (-128, 128)
    rank = d.randint(1, 4)
    x, axis = d.reals(*d.dims(rank, 4)) * 4, d.axis(rank)
    count = d.choice([[], [x.shape[axis]]])
    scale, zero = abs(d.reals(*count)) / 16 + np.float32(0.01), np.asarray(d.integers(low, high, *count), kind)
    how = {"axis": axis} if count else {}
    if d.randint(0, 1):
        return "QuantizeLinear", 13, [x, Fixed(scale), Fixed(zero)], how, 1
    return "DequantizeLinear", 13, [d.integers(low, high, *x.shape).astype(kind), Fixed(scale), Fixed(zero)], how, 1


@family
def views(d):
    rank = d.randint(1, 4)
    x, op = d.reals(*d.dims(rank, 4)), d.choice(["Flatten", "Squeeze", "Unsqueeze", "Trilu", "CenterCropPad", "OneHot", "CumSum"])
    if op == "Flatten":
        return op, 13, [x], {"axis": d.randint(-rank, rank)}, 1
    if op == "Squeeze":
        return op, 13, [x.reshape(1, *x.shape, 1), ints(*d.choice([[0], [-1], [0, -1]]))], {}, 1
    if op == "Unsqueeze":
        return op, 13, [x, ints(*d.choice([[0], [-1], [rank], [0, -1]]))], {}, 1
    if op == "Trilu":
        return op, 14, [d.reals(*d.dims(rank + 1, 4)), d.fixed(np.array(d.randint(-4, 4), "i8"))], {"upper": d.randint(0, 1)}, 1
    if op == "CenterCropPad":
        axes = d.sample(range(rank), d.randint(1, rank))
        return op, 18, [Fixed(x), ints(*d.dims(len(axes), 6))], {"axes": axes}, 1
    if op == "OneHot":
        depth = d.randint(1, 5)
        codes = d.integers(-depth - 1, depth + 2, *x.shape).astype("i8")
        return op, 11, [codes, Fixed(np.array(depth, "i8")), Fixed(np.array([-1, 3], "f4"))], {"axis": d.randint(-rank - 1, rank)}, 1
    axis = np.array(d.axis(rank), "i8")
    return op, 14, [x, d.fixed(axis)], {"exclusive": d.randint(0, 1), "reverse": d.randint(0, 1)}, 1


@family
def attention(d):
    batch, queries, keys, sharing = d.randint(1, 2), d.randint(1, 5), d.randint(1, 6), d.randint(1, 2)
    heads = d.randint(1, 2)
    q, k, v = d.reals(batch, heads * sharing, queries, 4), d.reals(batch, heads, keys, 4), d.reals(batch, heads, keys, 8)
    mask = d.reals(*d.choice([(queries, keys), (1, 1, queries, keys), (batch, heads * sharing, queries, keys)]))
    how = {"is_causal": d.randint(0, 1)} if queries <= keys else {}
    return "Attention", 23, [q, k, v, d.maybe(mask)], how, 1


def types_of(op, count, first):
    if op in ("MaxPool", "TopK"):
        return [first, "i8"][:count]
    return {"OneHot": ["f4"], "DequantizeLinear": ["f4"]}.get(op, [first] * count)


def draw(seed):
    """-> op, opset, inputs, attributes, types of the outputs, and the share of open extents."""
    d = Draw(seed)
    op, opset, inputs, attributes, count = d.choice(FAMILIES)(d)
    while inputs[-1] is None:
        inputs.pop()
    types = types_of(op, count, inputs[0].array.dtype if isinstance(inputs[0], Fixed) else inputs[0].dtype)
    if op == "QuantizeLinear":
        types = [inputs[2].array.dtype]
    dims = {}
    share = d.choice([0, 0.5, 1])
    for i, given in enumerate(inputs):
        if given is not None and not isinstance(given, Fixed):
            dims[i] = [f"e{i}_{axis}" if d.random() < share else extent for axis, extent in enumerate(given.shape)]
    return op, opset, inputs, attributes, types, dims
