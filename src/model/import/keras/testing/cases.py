"""Models of one or a few layers, each with inputs and the outputs that NumPy computes.

A case is (name, model, inputs, outputs); `all_cases(version)` yields those of Keras `version` (2 or 3).
"""
import numpy as np

import reference as ref
from keras_files import Layer, Model, Ref, input_layer

random = np.random.RandomState(7)


def data(*shape):
    return random.uniform(-1, 1, shape).astype("float32").astype("float64")


def model_of(layer, inputs, outputs=1, dtypes=None, as_list=False, opened=False):
    """One layer on all inputs. `opened`: the file leaves all extents between batch and channels open."""
    names = [f"x{i}" for i in range(len(inputs))]
    shapes = [[None] * (each.ndim - 2) + [each.shape[-1]] if opened else each.shape[1:] for each in inputs]
    layers = [input_layer(name, shape, str(each.dtype).replace("float64", "float32"))
              for name, shape, each in zip(names, shapes, inputs)]
    if not layer.calls:
        arguments = [Ref(name) for name in names]
        layer.calls = [([arguments] if as_list else arguments, {})]
    return Model("model", [*layers, layer], names, [Ref(layer.name, 0, i) for i in range(outputs)])


def one(name, kind, config, inputs, outputs, weights=(), parts=None, as_list=False, calls=None, opened=False):
    layer = Layer(kind, "layer", config, weights, parts, calls or [])
    return name, model_of(layer, inputs, len(outputs), as_list=as_list, opened=opened), inputs, outputs


# ---- Convolutions and pooling


def convolutions():
    x1, x2, x3 = data(2, 9, 4), data(2, 7, 8, 4), data(1, 5, 6, 7, 2)
    for x, count in ((x1, 1), (x2, 2), (x3, 3)):
        c = x.shape[-1]
        for padding, stride, dilation in (("valid", 1, 1), ("same", 2, 1), ("same", 1, 2)):
            w, b = data(*[3] * count, c, 5), data(5)
            yield one(f"Conv{count}D_{padding}{stride}{dilation}", f"Conv{count}D",
                      {"filters": 5, "kernel_size": [3] * count, "strides": [stride] * count, "padding": padding,
                       "dilation_rate": [dilation] * count, "activation": "relu"},
                      [x], [np.maximum(ref.conv(x, w, stride, padding, dilation) + b, 0)], [w, b])
        for padding, stride, output_padding in (("valid", 2, None), ("same", 2, None), ("same", 3, None), ("same", 2, 1),
                                                ("valid", 2, 1), ("valid", 4, None)):
            w, b = data(*[3] * count, 5, c), data(5)
            config = {"filters": 5, "kernel_size": [3] * count, "strides": [stride] * count, "padding": padding,
                      "dilation_rate": [1] * count,
                      "output_padding": None if output_padding is None else [output_padding] * count}
            yield one(f"Conv{count}DTranspose_{padding}{stride}{output_padding}", f"Conv{count}DTranspose", config, [x],
                      [ref.conv_transpose(x, w, stride, padding, 1, output_padding) + b], [w, b])
    w, d = data(3, 3, 4, 5), data(3, 3, 4, 2)
    for rows, columns in ((7, 8), (8, 7), (1, 2)): # strided and padded along extents that the file leaves open
        x, config = data(2, rows, columns, 4), {"kernel_size": [3, 3], "strides": [2, 2], "padding": "same", "use_bias": False}
        yield one(f"Conv2D_open{rows}", "Conv2D", {"filters": 5, **config}, [x], [ref.conv(x, w, 2, "same")], [w], opened=True)
        yield one(f"DepthwiseConv2D_open{rows}", "DepthwiseConv2D", {"depth_multiplier": 2, **config}, [x],
                  [ref.depthwise(x, d, 2, "same")], [d], opened=True)
        pool = {"pool_size": [3, 3], "strides": [2, 2], "padding": "same"}
        yield one(f"MaxPooling2D_open{rows}", "MaxPooling2D", pool, [x], [ref.max_pool(x, 3, 2, "same")], opened=True)
        yield one(f"AveragePooling2D_open{rows}", "AveragePooling2D", pool, [x], [ref.average_pool(x, 3, 2, "same")],
                  opened=True)
    w = data(2, 2, 2, 6)
    yield one("Conv2D_groups", "Conv2D", {"filters": 6, "kernel_size": [2, 2], "groups": 2, "use_bias": False}, [x2],
              [ref.conv(x2, w, groups=2)], [w])
    w = data(3, 4, 5)
    yield one("Conv1D_causal", "Conv1D", {"filters": 5, "kernel_size": [3], "padding": "causal", "use_bias": False,
                                          "dilation_rate": [2]}, [x1], [ref.conv(x1, w, 1, "causal", 2)], [w])
    first = np.transpose(x2, (0, 3, 1, 2))
    w = data(3, 3, 4, 5)
    yield one("Conv2D_first", "Conv2D", {"filters": 5, "kernel_size": [3, 3], "data_format": "channels_first",
                                         "use_bias": False}, [first], [np.transpose(ref.conv(x2, w), (0, 3, 1, 2))], [w])
    for x, count in ((x1, 1), (x2, 2)):
        c = x.shape[-1]
        w, b = data(*[3] * count, c, 2), data(2 * c)
        yield one(f"DepthwiseConv{count}D", f"DepthwiseConv{count}D",
                  {"kernel_size": [3] * count, "depth_multiplier": 2, "padding": "same", "strides": [2] * count}, [x],
                  [ref.depthwise(x, w, 2, "same") + b], [w, b])
        p, b = data(*[1] * count, 2 * c, 3), data(3)
        yield one(f"SeparableConv{count}D", f"SeparableConv{count}D",
                  {"filters": 3, "kernel_size": [3] * count, "depth_multiplier": 2, "padding": "valid", "activation": "tanh"},
                  [x], [np.tanh(ref.conv(ref.depthwise(x, w), p) + b)], [w, p, b])


def pools():
    x1, x2, x3 = data(2, 9, 4), data(2, 7, 8, 4), data(1, 5, 6, 7, 2)
    for x, count in ((x1, 1), (x2, 2), (x3, 3)):
        axes = tuple(range(1, count + 1))
        for padding, stride in (("valid", None), ("same", 2)):
            config = {"pool_size": [3] * count, "strides": stride and [stride] * count, "padding": padding}
            steps = stride or 3
            yield one(f"MaxPooling{count}D_{padding}", f"MaxPooling{count}D", config, [x], [ref.max_pool(x, 3, steps, padding)])
            yield one(f"AveragePooling{count}D_{padding}", f"AveragePooling{count}D", config, [x],
                      [ref.average_pool(x, 3, steps, padding)])
        yield one(f"GlobalMaxPooling{count}D", f"GlobalMaxPooling{count}D", {}, [x], [x.max(axes)])
        yield one(f"GlobalAveragePooling{count}D", f"GlobalAveragePooling{count}D", {"keepdims": True}, [x],
                  [x.mean(axes, keepdims=True)])
    rows = [slice(i * 7 // 3, -(-(i + 1) * 7 // 3)) for i in range(3)]
    columns = [slice(i * 8 // 2, -(-(i + 1) * 8 // 2)) for i in range(2)]
    for kind, combine in (("AdaptiveAveragePooling2D", np.mean), ("AdaptiveMaxPooling2D", np.max)):
        y = np.stack([np.stack([combine(x2[:, r, c], axis=(1, 2)) for c in columns], 1) for r in rows], 1)
        yield one(kind, kind, {"output_size": [3, 2]}, [x2], [y])


# ---- Products, normalisation, activations


def products():
    x, x3 = data(3, 5), data(2, 4, 5)
    w, b = data(5, 6), data(6)
    yield one("Dense", "Dense", {"units": 6, "activation": "sigmoid"}, [x], [ref.sigmoid(x @ w + b)], [w, b])
    yield one("Dense_rank3", "Dense", {"units": 6, "use_bias": False}, [x3], [x3 @ w], [w])
    w4, b4 = data(5, 2, 3), data(2, 3)
    yield one("EinsumDense", "EinsumDense", {"equation": "abc,cde->abde", "output_shape": [4, 2, 3], "bias_axes": "de",
                                             "activation": "relu"},
              [x3], [np.maximum(np.einsum("abc,cde->abde", x3, w4) + b4, 0)], [w4, b4])
    yield one("EinsumDense_ellipsis", "EinsumDense", {"equation": "...x,xy->...y", "output_shape": [6], "bias_axes": "y"},
              [x3], [x3 @ w + b], [w, b])
    table, indices = data(10, 4), np.array([[1, 0, 9], [3, 3, 7]], "int32")
    yield one("Embedding", "Embedding", {"input_dim": 10, "output_dim": 4, "mask_zero": False}, [indices], [table[indices]],
              [table])


def normalizations(version):
    x, x4 = data(3, 6), data(2, 5, 4, 6)
    gamma, beta, mean, variance = data(6), data(6), data(6), np.abs(data(6)) + 0.5
    for name, value in (("BatchNormalization_2", x), ("BatchNormalization_4", x4)):
        yield one(name, "BatchNormalization", {"axis": [value.ndim - 1] if version == 2 else -1, "epsilon": 0.002}, [value],
                  [(value - mean) / np.sqrt(variance + 0.002) * gamma + beta], [gamma, beta, mean, variance])
    yield one("BatchNormalization_plain", "BatchNormalization", {"axis": -1, "scale": False, "center": False}, [x4],
              [(x4 - mean) / np.sqrt(variance + 1e-3)], [mean, variance])

    def normalized(value, axes, epsilon=1e-3):
        return (value - value.mean(axes, keepdims=True)) / np.sqrt(value.var(axes, keepdims=True) + epsilon)

    yield one("LayerNormalization", "LayerNormalization", {"axis": [-1], "epsilon": 0.01}, [x4],
              [normalized(x4, -1, 0.01) * gamma + beta], [gamma, beta])
    g2, b2 = data(4, 6), data(4, 6)
    yield one("LayerNormalization_two", "LayerNormalization", {"axis": [2, 3]}, [x4], [normalized(x4, (2, 3)) * g2 + b2],
              [g2, b2])
    g1 = data(5)
    yield one("LayerNormalization_inner", "LayerNormalization", {"axis": [1], "center": False}, [x4],
              [normalized(x4, 1) * g1[:, None, None]], [g1])
    y = x4.reshape(2, 5, 4, 3, 2)
    yield one("GroupNormalization", "GroupNormalization", {"groups": 3, "axis": -1}, [x4],
              [normalized(y, (1, 2, 4)).reshape(x4.shape) * gamma + beta], [gamma, beta])
    yield one("UnitNormalization", "UnitNormalization", {"axis": -1}, [x], [x / np.sqrt((x * x).sum(-1, keepdims=True))])
    if version == 3:
        root = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        yield one("RMSNormalization", "RMSNormalization", {"axis": -1, "epsilon": 1e-6}, [x], [x / root * gamma], [gamma])


def activations(version):
    x = data(3, 8) * 4
    for name, function in {**ref.ACTIVATIONS, "hard_sigmoid": ref.hard_sigmoid(version)}.items():
        yield one(f"Activation_{name}", "Activation", {"activation": name}, [x], [function(x)])
    yield one("ReLU", "ReLU", {"max_value": 2.0, "negative_slope": 0.1, "threshold": 0.5}, [x],
              [np.minimum(np.where(x >= 0.5, x, 0.1 * (x - 0.5)), 2)])
    yield one("ReLU_6", "ReLU", {"max_value": 6, "negative_slope": 0.0, "threshold": 0.0}, [x], [np.clip(x, 0, 6)])
    yield one("LeakyReLU", "LeakyReLU", {"negative_slope" if version == 3 else "alpha": 0.25}, [x],
              [np.where(x > 0, x, 0.25 * x)])
    slopes, x4 = data(1, 1, 4), data(2, 3, 5, 4)
    yield one("PReLU", "PReLU", {"shared_axes": [1, 2]}, [x4], [np.where(x4 > 0, x4, slopes * x4)], [slopes])
    yield one("ELU", "ELU", {"alpha": 0.7}, [x], [np.where(x > 0, x, 0.7 * np.expm1(x))])
    if version == 2:
        yield one("ThresholdedReLU", "ThresholdedReLU", {"theta": 0.8}, [x], [np.where(x > 0.8, x, 0)])
    yield one("Softmax", "Softmax", {"axis": 1}, [x4], [ref.softmax(x4, 1)])
    both = np.exp(x4) / np.exp(x4).sum((1, 2), keepdims=True)
    yield one("Softmax_two", "Softmax", {"axis": [1, 2]}, [x4], [both])
    yield one("Dense_class", "Dense", {"units": 3, "use_bias": False,
                                       "activation": {"class_name": "LeakyReLU", "config": {"alpha": 0.1}}},
              [x], [(lambda y: np.where(y > 0, y, 0.1 * y))(x @ np.eye(8, 3))], [np.eye(8, 3)])


# ---- Merging and moving


def merges():
    a, b, c = data(2, 3, 4), data(2, 3, 4), data(2, 3, 4)
    for kind, y in (("Add", a + b + c), ("Multiply", a * b * c), ("Average", (a + b + c) / 3),
                    ("Maximum", np.maximum(np.maximum(a, b), c)), ("Minimum", np.minimum(np.minimum(a, b), c)),
                    ("Concatenate", np.concatenate([a, b, c], -1))):
        yield one(kind, kind, {"axis": -1} if kind == "Concatenate" else {}, [a, b, c], [y], as_list=True)
    yield one("Subtract", "Subtract", {}, [a, b], [a - b], as_list=True)
    yield one("Concatenate_1", "Concatenate", {"axis": 1}, [a, b], [np.concatenate([a, b], 1)], as_list=True)
    row = data(2, 4)
    yield one("Add_ranks", "Add", {}, [a, row], [a + row[:, None]], as_list=True)
    p, q = data(2, 3, 4), data(2, 5, 4)
    yield one("Dot", "Dot", {"axes": [2, 2]}, [p, q], [np.einsum("abc,adc->abd", p, q)], as_list=True)
    u, v = data(3, 4), data(3, 4)
    unit = lambda t: t / np.sqrt((t * t).sum(-1, keepdims=True))
    yield one("Dot_cosine", "Dot", {"axes": 1, "normalize": True}, [u, v], [(unit(u) * unit(v)).sum(-1, keepdims=True)],
              as_list=True)


def movements():
    x, x3, x4, x5 = data(3, 8), data(2, 6, 4), data(2, 4, 6, 3), data(1, 3, 4, 5, 2)
    yield one("Flatten", "Flatten", {}, [x4], [x4.reshape(2, -1)])
    yield one("Reshape", "Reshape", {"target_shape": [2, -1]}, [x3], [x3.reshape(2, 2, 12)])
    yield one("Permute", "Permute", {"dims": [3, 1, 2]}, [x4], [x4.transpose(0, 3, 1, 2)])
    yield one("RepeatVector", "RepeatVector", {"n": 3}, [x], [np.repeat(x[:, None], 3, 1)])
    yield one("ZeroPadding1D", "ZeroPadding1D", {"padding": [1, 2]}, [x3], [np.pad(x3, ((0, 0), (1, 2), (0, 0)))])
    yield one("ZeroPadding2D", "ZeroPadding2D", {"padding": [[1, 0], [2, 3]]}, [x4],
              [np.pad(x4, ((0, 0), (1, 0), (2, 3), (0, 0)))])
    yield one("ZeroPadding3D", "ZeroPadding3D", {"padding": [1, 2, 0]}, [x5],
              [np.pad(x5, ((0, 0), (1, 1), (2, 2), (0, 0), (0, 0)))])
    yield one("Cropping1D", "Cropping1D", {"cropping": [1, 2]}, [x3], [x3[:, 1:-2]])
    yield one("Cropping2D", "Cropping2D", {"cropping": [[1, 0], [2, 1]]}, [x4], [x4[:, 1:, 2:-1]])
    yield one("Cropping3D", "Cropping3D", {"cropping": [[1, 1], [0, 1], [2, 0]]}, [x5], [x5[:, 1:-1, :-1, 2:]])
    yield one("UpSampling1D", "UpSampling1D", {"size": 3}, [x3], [np.repeat(x3, 3, 1)])
    yield one("UpSampling2D", "UpSampling2D", {"size": [2, 3]}, [x4], [np.repeat(np.repeat(x4, 2, 1), 3, 2)])
    yield one("UpSampling3D", "UpSampling3D", {"size": [2, 1, 2]}, [x5], [np.repeat(np.repeat(x5, 2, 1), 2, 3)])

    def linear(value, axis, size):
        extent = value.shape[axis]
        at = np.clip((np.arange(extent * size) + 0.5) / size - 0.5, 0, extent - 1)
        low = np.floor(at).astype(int)
        high, part = np.minimum(low + 1, extent - 1), at - low
        shape = [-1 if i == axis else 1 for i in range(value.ndim)]
        return np.take(value, low, axis) * (1 - part).reshape(shape) + np.take(value, high, axis) * part.reshape(shape)

    yield one("UpSampling2D_bilinear", "UpSampling2D", {"size": [2, 2], "interpolation": "bilinear"}, [x4],
              [linear(linear(x4, 1, 2), 2, 2)])
    yield one("Dropout", "Dropout", {"rate": 0.5}, [x], [x])


def lookups():
    """Places of numbers in a vocabulary. An unknown number has place 0, or 1 behind the mask; several unknown ones divide."""
    x = np.array([[12, 36, 7], [1138, 12, 42]], "int64")
    config = {"vocabulary": [12, 36, 1138, 42], "num_oov_indices": 1, "mask_token": None, "oov_token": -1, "output_mode": "int"}
    yield one("IntegerLookup", "IntegerLookup", config, [x], [np.array([[1, 2, 0], [3, 1, 4]])])
    yield one("IntegerLookup_mask", "IntegerLookup", dict(config, mask_token=7), [x], [np.array([[2, 3, 0], [4, 2, 5]])])
    yield one("IntegerLookup_special", "IntegerLookup", dict(config, vocabulary=[-1, 12, 36, 1138]), [x],
              [np.array([[1, 2, 0], [3, 1, 0]])])
    yield one("IntegerLookup_several", "IntegerLookup", dict(config, vocabulary=[12, 36], num_oov_indices=3), [x],
              [np.array([[3, 4, 7 % 3], [1138 % 3, 3, 42 % 3]])])
    places = np.array([[1, 0, 4], [2, 2, 3]], "int64")
    yield one("IntegerLookup_invert", "IntegerLookup", dict(config, invert=True), [places],
              [np.array([[12, -1, 42], [36, 36, 1138]])])
    exact = 2**53  # above it not every integer is a double
    yield one("IntegerLookup_wide", "IntegerLookup", dict(config, vocabulary=[exact + 1, 2**63 - 1, exact + 3]),
              [np.array([[exact + 3, 2**63 - 1, exact + 1], [exact + 2, exact, exact + 4]], "int64")],
              [np.array([[3, 2, 1], [0, 0, 0]])])
    found = (np.array([[1, 2, 0], [3, 1, 4]])[..., None] == np.arange(5)).astype("float64")
    for mode, y in (("one_hot", found), ("multi_hot", found.max(1)), ("count", found.sum(1))):
        yield one(f"IntegerLookup_{mode}", "IntegerLookup", dict(config, output_mode=mode), [x], [y])


def preprocessing(version):
    x, x4 = data(3, 4), data(2, 4, 6, 3)
    yield one("Rescaling", "Rescaling", {"scale": 1 / 127.5, "offset": -1.0}, [x4], [x4 / 127.5 - 1])
    mean, variance = data(4), np.abs(data(4)) + 0.1
    yield one("Normalization", "Normalization", {"axis": [-1], "mean": None, "variance": None, "invert": False}, [x],
              [(x - mean) / np.sqrt(variance)], [mean, variance])
    yield one("Normalization_given", "Normalization",
              {"axis": [-1], "mean": [float(v) for v in mean], "variance": [float(v) for v in variance]}, [x],
              [(x - mean) / np.sqrt(variance)])
    rows, columns = np.floor((np.arange(2) + 0.5) * 2).astype(int), np.floor((np.arange(4) + 0.5) * 1.5).astype(int)
    yield one("Resizing", "Resizing", {"height": 2, "width": 4, "interpolation": "nearest"}, [x4], [x4[:, rows][:, :, columns]])
    # From 4 x 6 to 2 x 2: the middle 4 columns, or a row above and below.
    middle, padded = x4[:, :, 1:5], np.pad(x4, ((0, 0), (1, 1), (0, 0), (0, 0)), constant_values=0.5)
    yield one("Resizing_crop", "Resizing", {"height": 2, "width": 2, "interpolation": "nearest", "crop_to_aspect_ratio": True},
              [x4], [middle[:, 1::2, 1::2]])
    if version == 3:
        yield one("Resizing_pad", "Resizing", {"height": 2, "width": 2, "interpolation": "nearest", "fill_mode": "constant",
                                               "pad_to_aspect_ratio": True, "fill_value": 0.5}, [x4], [padded[:, 1::3, 1::3]])
    yield one("CenterCrop", "CenterCrop", {"height": 2, "width": 3}, [x4], [x4[:, 1:3, 1:4]])
    ids = np.array([[1, 3, 3], [0, 2, 1]], "int32")
    ones = (ids[..., None] == np.arange(5)).astype("float64")
    for mode, y in (("multi_hot", ones.max(1)), ("count", ones.sum(1)), ("one_hot", ones)):
        yield one(f"CategoryEncoding_{mode}", "CategoryEncoding", {"num_tokens": 5, "output_mode": mode}, [ids], [y])
    yield from lookups()
    bins = [-0.5, 0.0, 0.25]
    yield one("Discretization", "Discretization", {"bin_boundaries": bins, "output_mode": "int"}, [x],
              [np.digitize(x, bins).astype("int32" if version == 3 else "int64")])
