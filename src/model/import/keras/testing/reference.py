"""What layers compute, in plain NumPy and float64. Channels last."""
import itertools
import math

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


erf = np.vectorize(math.erf)
ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "exponential": np.exp,
    "swish": lambda x: x * sigmoid(x),
    "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "softmax": softmax,
    "log_softmax": lambda x: np.log(softmax(x)),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.2 * x),
    "hard_silu": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_shrink": lambda x: np.where(np.abs(x) > 0.5, x, 0),
    "soft_shrink": lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
    "tanh_shrink": lambda x: x - np.tanh(x),
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x < 1, (x + 1) ** 2 / 4, x)),
    "glu": lambda x: x[..., : x.shape[-1] // 2] * sigmoid(x[..., x.shape[-1] // 2:]),
}


def hard_sigmoid(version):
    return (lambda x: np.clip(x / 6 + 0.5, 0, 1)) if version == 3 else (lambda x: np.clip(0.2 * x + 0.5, 0, 1))


def many(value, count):
    return [value] * count if isinstance(value, int) else list(value)


def windows(x, kernel, strides, padding, dilation, fill=0.0):
    """For every tap of the kernel, the elements of x that it meets at all positions."""
    count = len(kernel)
    pads = []
    for extent, k, s, d in zip(x.shape[1:], kernel, strides, dilation):
        reach = (k - 1) * d + 1
        total = max((-(-extent // s) - 1) * s + reach - extent, 0)
        pads.append({"valid": (0, 0), "same": (total // 2, total - total // 2), "causal": (reach - 1, 0)}[padding])
    padded = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill)
    sizes = [(padded.shape[1 + i] - (kernel[i] - 1) * dilation[i] - 1) // strides[i] + 1 for i in range(count)]
    for tap in itertools.product(*map(range, kernel)):
        at = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, sizes, strides))
        yield tap, padded[(slice(None), *at)]


def conv(x, w, strides=1, padding="valid", dilation=1, groups=1):
    count = x.ndim - 2
    strides, dilation, y = many(strides, count), many(dilation, count), 0
    each, outputs = x.shape[-1] // groups, w.shape[-1] // groups
    for tap, part in windows(x, w.shape[:count], strides, padding, dilation):
        y = y + np.concatenate([part[..., g * each:(g + 1) * each] @ w[tap][:, g * outputs:(g + 1) * outputs]
                                for g in range(groups)], -1)
    return y


def depthwise(x, w, strides=1, padding="valid", dilation=1):
    count = x.ndim - 2
    y = 0
    for tap, part in windows(x, w.shape[:count], many(strides, count), padding, many(dilation, count)):
        y = y + part[..., None] * w[tap]
    return y.reshape(*y.shape[:-2], -1)


def conv_transpose(x, w, strides=1, padding="valid", dilation=1, output_padding=None):
    """The gradient of a convolution: w is kernel... x outputs x inputs."""
    count = x.ndim - 2
    strides, dilation = many(strides, count), many(dilation, count)
    reach = [(w.shape[i] - 1) * dilation[i] + 1 for i in range(count)]
    room = 64  # behind what the kernel reaches
    full = np.zeros([x.shape[0], *[(x.shape[1 + i] - 1) * strides[i] + reach[i] + room for i in range(count)], w.shape[-2]])
    for tap in itertools.product(*map(range, w.shape[:count])):
        at = tuple(slice(tap[i] * dilation[i], tap[i] * dilation[i] + (x.shape[1 + i] - 1) * strides[i] + 1, strides[i])
                   for i in range(count))
        full[(slice(None), *at)] += x @ w[tap].T
    cut = []
    for i in range(count):
        extent, k, s = x.shape[1 + i], reach[i], strides[i]
        if output_padding is None:
            size = extent * s if padding == "same" else (extent - 1) * s + max(k, s)
        else:
            size = (extent - 1) * s + (k % 2 if padding == "same" else k) + many(output_padding, count)[i]
        # A forward convolution of `size` elements with the same padding begins that far outside.
        begin = max((extent - 1) * s + k - size, 0) // 2 if padding == "same" else 0
        cut.append(slice(begin, begin + size))
    return full[(slice(None), *cut)]


def max_pool(x, size, strides, padding):
    count = x.ndim - 2
    return np.max([part for _, part in windows(x, many(size, count), many(strides, count), padding, [1] * count, -np.inf)], 0)


def average_pool(x, size, strides, padding):
    count = x.ndim - 2
    sums = sum(part for _, part in windows(x, many(size, count), many(strides, count), padding, [1] * count))
    ones = sum(part for _, part in windows(np.ones_like(x), many(size, count), many(strides, count), padding, [1] * count))
    return sums / ones


# ---- Recurrent layers: steps of (x, states) to states, the result first


def lstm_cell(kernel, recurrent, bias, f=sigmoid, g=np.tanh):
    def step(x, states):
        h, c = states
        i, forget, candidate, o = np.split(x @ kernel + h @ recurrent + bias, 4, -1)
        c = f(forget) * c + f(i) * g(candidate)
        return [f(o) * g(c), c]
    return step, 2, recurrent.shape[0]


def gru_cell(kernel, recurrent, bias, reset_after, f=sigmoid, g=np.tanh):
    def step(x, states):
        h = states[0]
        own, other = (bias[0], bias[1]) if reset_after else (bias, 0)
        xz, xr, xh = np.split(x @ kernel + own, 3, -1)
        rz, rr, rh = np.split(recurrent, 3, -1)
        bz, br, bh = np.split(other, 3, -1) if reset_after else (0, 0, 0)
        z, r = f(xz + h @ rz + bz), f(xr + h @ rr + br)
        candidate = g(xh + (r * (h @ rh + bh) if reset_after else (r * h) @ rh))
        return [z * h + (1 - z) * candidate]
    return step, 1, recurrent.shape[0]


def rnn_cell(kernel, recurrent, bias, g=np.tanh):
    return (lambda x, states: [g(x @ kernel + states[0] @ recurrent + bias)]), 1, recurrent.shape[0]


def run_cell(cell, x, mask=None, initial=None, backwards=False, zero_masked=False):
    """Results in the order of processing, the last one, and the states. Step by step and row by row."""
    step, count, units = cell
    batch, steps = x.shape[:2]
    states = [np.array(each) for each in initial] if initial is not None else [np.zeros((batch, units)) for _ in range(count)]
    before, results = np.zeros((batch, units)), []
    for t in (reversed(range(steps)) if backwards else range(steps)):
        new = step(x[:, t], states)
        counts = np.ones((batch, 1), bool) if mask is None else mask[:, t, None]
        states = [np.where(counts, n, old) for n, old in zip(new, states)]
        before = np.where(counts, new[0], 0 if zero_masked else before)
        results.append(before)
    return np.stack(results, 1), before, states


def attention(q, k, v, scale=1.0, mask=None):
    scores = np.einsum("...td,...sd->...ts", q, k) * scale
    if mask is not None:
        scores = scores + np.where(mask, 0, -1e9)
    weights = softmax(scores)
    return weights @ v, weights


# ---- Pictures and signals


def lanczos(radius):
    def weight(x):
        return np.where(x > radius, 0, np.sinc(x) * np.sinc(x / radius))
    return radius, weight


def mitchell(x):
    near = (7 * x ** 3 - 12 * x ** 2 + 16 / 3) / 6
    far = (-7 / 3 * x ** 3 + 12 * x ** 2 - 20 * x + 32 / 3) / 6
    return np.where(x < 1, near, np.where(x < 2, far, 0))


KERNELS = {"lanczos3": lanczos(3), "lanczos5": lanczos(5), "gaussian": (1.5, lambda x: np.where(x < 1.5, np.exp(-2 * x * x), 0)),
           "mitchellcubic": (2, mitchell), "triangle": (1, lambda x: np.maximum(1 - x, 0))}


def resampled(x, size, kernel, antialias=False):
    """Height and width of NHWC pictures by a kernel whose weights sum to 1."""
    for axis, count in zip((1, 2), size):
        own = x.shape[axis]
        centers, pixels = (np.arange(count) + 0.5) * own / count, np.arange(own) + 0.5
        wide = max(own / count, 1) if antialias else 1
        distances = np.abs(pixels - centers[:, None]) / wide
        weights = np.where(distances <= KERNELS[kernel][0] + 1e-9, KERNELS[kernel][1](distances), 0)
        weights /= weights.sum(1, keepdims=True)
        x = np.moveaxis(np.tensordot(weights, x, (1, axis)), 0, axis)
    return x


def spectrum(x, window, step, count):
    """Frames of the last axis, each times a window in the middle of `count` values: ... x frames x frequencies."""
    frames = np.stack([x[..., at:at + count] for at in range(0, x.shape[-1] - count + 1, step)], -2)
    left = (count - len(window)) // 2
    return np.fft.rfft(frames * np.pad(window, (left, count - len(window) - left)))


def mel_bands(bands, frequencies, rate, low, high):
    """Triangles whose tops are equally far apart in mel: frequencies x bands."""
    def mel(hertz):
        return 1127 * np.log(1 + hertz / 700)

    at = mel(np.linspace(0, rate / 2, frequencies))
    edges = np.linspace(mel(low), mel(high), bands + 2)
    result = np.stack([np.interp(at, edges[i:i + 3], [0, 1, 0]) for i in range(bands)], 1)
    result[0] = 0
    return result
