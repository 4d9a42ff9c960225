"""Operators of ONNX by the text of the standard, in NumPy and float64. Independent of the importer, which rewrites them."""
import itertools

import numpy as np


def softmax(x, axis=-1):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def attention(q, k, v, mask=None, past=None, lengths=None, causal=False, softcap=0.0, mode=0, scale=None):
    """-> Y, present key, present value, and the scores after the product (mode 0), softcap (1), bias (2) or softmax (3)."""
    q, k, v = (x.astype("f8") for x in (q, k, v))
    offset = np.zeros(q.shape[0], int)
    if past is not None:
        offset += past[0].shape[2]
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    present = k, v
    heads = q.shape[1] // k.shape[1]
    k, v = k.repeat(heads, 1), v.repeat(heads, 1)
    queries, keys = q.shape[2], k.shape[2]
    bias = np.zeros((q.shape[0], q.shape[1], queries, keys))
    if mask is not None:
        added = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask.astype("f8")
        added = np.pad(added, [(0, 0)] * (added.ndim - 1) + [(0, keys - added.shape[-1])], constant_values=-np.inf)
        bias += added
    if lengths is not None:
        offset = lengths - queries
        bias[np.broadcast_to(np.arange(keys) >= lengths[:, None, None, None], bias.shape)] = -np.inf
    if causal:
        unseen = np.arange(keys) > np.arange(queries)[:, None] + offset[:, None, None, None]
        bias[np.broadcast_to(unseen, bias.shape)] = -np.inf
    stages = [np.einsum("bhqd,bhkd->bhqk", q, k) * (scale or q.shape[3] ** -0.5)]
    stages.append(np.tanh(stages[0] / softcap) * softcap if softcap else stages[0])
    stages.append(stages[1] + bias)
    shares = softmax(stages[2])
    shares[(bias == -np.inf).all(-1)] = 0  # a row that sees nothing
    stages.append(shares)
    return np.einsum("bhqk,bhke->bhqe", shares, v), *present, stages[mode]


def batch_norm_training(x, scale, bias, mean, variance, epsilon=1e-5, momentum=0.9):
    axes = (0, *range(2, x.ndim))
    along = (1, -1) + (1,) * (x.ndim - 2)
    own, spread = x.astype("f8").mean(axes), x.astype("f8").var(axes)
    y = (x - own.reshape(along)) / np.sqrt(spread.reshape(along) + epsilon) * scale.reshape(along) + bias.reshape(along)
    return y, mean * momentum + own * (1 - momentum), variance * momentum + spread * (1 - momentum)


# ---- Resize

def resize_position(mode, at, scale, length, out, extent):
    """Position in the input for position `at` of the result. `length`: of the result, fractional if it follows from a scale."""
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        return 0 if length == 1 else at * (extent - 1) / (length - 1)
    center = (at + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return center if length > 1 else 0
    if mode == "half_pixel_symmetric":
        return extent / 2 * (1 - out / length) + center
    return center


def resize_weights(extent, out, scale, mode, coordinates, nearest="round_prefer_floor", a=-0.75):
    """A matrix with `out` rows: the weight of each input element in each position."""
    rows = np.zeros((out, extent))
    for i in range(out):
        at = resize_position(coordinates, i, scale, extent * scale, out, extent)
        below = int(np.floor(at))
        part = at - below
        if mode == "nearest":
            up = {"round_prefer_floor": part > 0.5, "round_prefer_ceil": part >= 0.5, "floor": False, "ceil": part > 0}
            taps = {below + up[nearest]: 1}
        elif mode == "linear":
            taps = {below: 1 - part, below + 1: part}
        else:
            near, far = lambda d: (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1, lambda d: a * (d ** 3 - 5 * d ** 2 + 8 * d - 4)
            taps = {below - 1: far(1 + part), below: near(part), below + 1: near(1 - part), below + 2: far(2 - part)}
        for tap, weight in taps.items():
            rows[i, min(max(tap, 0), extent - 1)] += weight
    return rows


def resize(x, axes, sizes=None, scales=None, policy="stretch", **how):
    """With a policy that keeps the aspect ratio, one scale for all axes; the sizes are rounded."""
    if scales is None:
        scales = [size / x.shape[axis] for axis, size in zip(axes, sizes)]
        if policy != "stretch":
            scales = [(min if policy == "not_larger" else max)(scales)] * len(axes)
            sizes = [int(np.floor(scale * x.shape[axis] + 0.5)) for axis, scale in zip(axes, scales)]
    else:
        sizes = [int(np.floor(scale * x.shape[axis])) for axis, scale in zip(axes, scales)]
    y = x.astype("f8")
    for axis, size, scale in zip(axes, sizes, scales):
        rows = resize_weights(x.shape[axis], size, scale, **how)
        y = np.moveaxis(np.tensordot(rows, y, (1, axis)), 0, axis)
    return y


# ---- Windows

def pool(x, kernel, strides, pads, dilations, ceil, kind, include=False):
    """Windows along all axes after the channels. -> values and, for "max", positions in row-major x."""
    rank = x.ndim - 2
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    out = []
    for i in range(rank):
        room = x.shape[2 + i] + pads[i] + pads[rank + i] - spans[i]
        steps = (-(-room // strides[i]) if ceil else room // strides[i]) + 1
        if ceil and (steps - 1) * strides[i] >= x.shape[2 + i] + pads[i]:
            steps -= 1  # a window that would start in the padding behind
        out.append(steps)
    y, places = np.zeros((*x.shape[:2], *out)), np.zeros((*x.shape[:2], *out), "i8")
    numbers = np.arange(x.size).reshape(x.shape)
    for place in itertools.product(*map(range, out)):
        taps = [[p * s - b + t * d for t in range(k)]
                for p, s, b, k, d in zip(place, strides, pads, kernel, dilations)]
        inside = [[t for t in line if 0 <= t < extent] for line, extent in zip(taps, x.shape[2:])]
        padded = np.prod([sum(-pads[i] <= t < x.shape[2 + i] + pads[rank + i] for t in line)
                          for i, line in enumerate(taps)])
        grid = (slice(None), slice(None), *np.ix_(*inside))
        window, own = x[grid].reshape(*x.shape[:2], -1), numbers[grid].reshape(*x.shape[:2], -1)
        at = (slice(None), slice(None), *place)
        if kind == "max":
            best = window.argmax(-1)[..., None]  # the first of equal ones
            y[at] = np.take_along_axis(window, best, -1)[..., 0]
            places[at] = np.take_along_axis(own, best, -1)[..., 0]
        elif kind == "average":
            y[at] = window.astype("f8").sum(-1) / (padded if include else window.shape[-1])
        else:
            y[at] = np.sqrt((window.astype("f8") ** 2).sum(-1))
    return y, places


def conv_transpose(x, w, strides, pads, output_shape):
    """For images, with a result of `output_shape`. `pads` are cut off the full result; missing elements are added at the end."""
    kernel = w.shape[2:]
    full = np.zeros((x.shape[0], w.shape[1], *[(n - 1) * s + k for n, s, k in zip(x.shape[2:], strides, kernel)]))
    for h, j in itertools.product(range(x.shape[2]), range(x.shape[3])):
        top, left = h * strides[0], j * strides[1]
        full[:, :, top:top + kernel[0], left:left + kernel[1]] += np.einsum("ni,iohw->nohw", x[:, :, h, j], w)
    result = np.zeros((*full.shape[:2], *output_shape))
    part = full[:, :, pads[0]:pads[0] + output_shape[0], pads[1]:pads[1] + output_shape[1]]
    result[:, :, :part.shape[2], :part.shape[3]] = part
    return result


# ---- Recurrence

def lstm(x, w, r, bias, lengths, reverse):
    """One direction. -> Y, Y_h, Y_c: zeros after the length of a row, and the states after its last step."""
    steps, batch, _ = x.shape
    hidden = r.shape[1]
    y, last_h, last_c = np.zeros((steps, batch, hidden)), np.zeros((batch, hidden)), np.zeros((batch, hidden))
    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    for row in range(batch):
        h, c = np.zeros(hidden), np.zeros(hidden)
        order = range(lengths[row])
        for t in reversed(order) if reverse else order:
            i, o, f, g = np.split(w @ x[t, row] + r @ h + bias[:4 * hidden] + bias[4 * hidden:], 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            y[t, row] = h
        last_h[row], last_c[row] = h, c
    return y, last_h, last_c


def slice_of(x, axis, start, end, step):
    """Clamps bounds as the text of Slice says; Python's integers have no limit."""
    extent = x.shape[axis]
    start, end = (position + extent if position < 0 else position for position in (start, end))
    low, high = (0, extent) if step > 0 else (0, extent - 1)
    start = min(max(start, low), high)
    end = min(max(end, 0 if step > 0 else -1), extent if step > 0 else extent - 1)
    return x.take(list(range(start, end, step)), axis)
