"""Small networks of thirteen families as ONNX files, for dev/predict_eval.py: each follows from its name alone.

A family has networks that are built alike (repeated blocks of one kind) and differ in depth, widths and input. Weights are
drawn so that activations keep their size. All networks are float32 and have one input.
"""
import os
import sys
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
import onnx_writer as onnx

FAMILIES = {}


def family(function):
    FAMILIES[function.__name__] = function
    return function


class Net:
    """A network under construction; values are names, whose extents it knows."""

    def __init__(self, rng, *dims):
        self.rng, self.nodes, self.constants, self.dims, self.input = rng, [], [], {"x": list(dims)}, list(dims)

    def add(self, op, inputs, dims, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(onnx.node(op, inputs, names, name=names[0], **attributes))
        self.dims[names[0]] = list(dims)
        return names[0]

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.tensor(name, array))
        return name

    def weights(self, *dims, fan):
        return self.constant((self.rng.standard_normal(dims) * np.sqrt(2 / fan)).astype("f4"))

    def bias(self, count):
        return self.constant((self.rng.standard_normal(count) * 0.1).astype("f4"))

    def conv(self, x, filters, size, stride=1, groups=1, act="Relu"):
        n, c, h, w = self.dims[x]
        pad = size // 2
        dims = [n, filters, (h + 2 * pad - size) // stride + 1, (w + 2 * pad - size) // stride + 1]
        weights = self.weights(filters, c // groups, size, size, fan=c // groups * size * size)
        y = self.add("Conv", [x, weights, self.bias(filters)], dims, kernel_shape=[size] * 2, strides=[stride] * 2,
                     pads=[pad] * 4, group=groups)
        return self.act(y, act)

    def act(self, x, act):
        if not act:
            return x
        if act == "Relu6":
            return self.add("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))], self.dims[x])
        if act == "Silu":
            return self.add("Mul", [x, self.add("Sigmoid", [x], self.dims[x])], self.dims[x])
        if act == "Gelu":
            inner = self.add("Erf", [self.scale(x, 0.70710678)], self.dims[x])
            inner = self.add("Add", [inner, self.constant(np.float32(1))], self.dims[x])
            return self.scale(self.add("Mul", [x, inner], self.dims[x]), 0.5)
        return self.add(act, [x], self.dims[x])

    def scale(self, x, factor):
        return self.add("Mul", [x, self.constant(np.float32(factor))], self.dims[x])

    def pool(self, x, size=2, stride=2, kind="MaxPool", pad=0):
        n, c, h, w = self.dims[x]
        dims = [n, c, (h + 2 * pad - size) // stride + 1, (w + 2 * pad - size) // stride + 1]
        return self.add(kind, [x], dims, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def join(self, op, *inputs):
        dims = list(self.dims[inputs[0]])
        if op == "Concat":
            dims[1] = sum(self.dims[one][1] for one in inputs)
            return self.add(op, list(inputs), dims, axis=1)
        return self.add(op, list(inputs), dims)

    def dense(self, x, units, act=None):
        """Over the last axis."""
        dims = self.dims[x]
        y = self.add("MatMul", [x, self.weights(dims[-1], units, fan=dims[-1])], dims[:-1] + [units])
        return self.act(self.add("Add", [y, self.bias(units)], self.dims[y]), act)

    def norm(self, x):
        count = self.dims[x][-1]
        return self.add("LayerNormalization", [x, self.constant(np.ones(count, "f4")), self.bias(count)], self.dims[x],
                        axis=-1)

    def transpose(self, x, *perm):
        return self.add("Transpose", [x], [self.dims[x][i] for i in perm], perm=list(perm))

    def reshape(self, x, *dims):
        return self.add("Reshape", [x, self.constant(np.array(dims, "i8"))], dims)

    def classes(self, x, count):
        n, c = self.dims[x][:2]
        x = self.reshape(self.add("GlobalAveragePool", [x], [n, c, 1, 1]), n, c)
        return self.add("Softmax", [self.dense(x, count)], [n, count], axis=-1)

    def write(self, path, y):
        onnx.model(path, self.nodes, [onnx.value("x", self.input)], [onnx.value(y, self.dims[y])], self.constants)


def image(rng, batch, *sizes, channels=3):
    size = int(rng.choice(sizes))
    return Net(rng, batch, channels, size, size)


@family
def vgg(rng, batch):
    net, x, width = image(rng, batch, 48, 64, 96, 112), "x", int(rng.choice([8, 16, 24, 32]))
    for stage in range(int(rng.integers(3, 5))):
        for _ in range(int(rng.integers(1, 4))):
            x = net.conv(x, width << min(stage, 3), 3)
        x = net.pool(x)
    n, c, h, w = net.dims[x]
    x = net.reshape(x, n, c * h * w)
    x = net.dense(x, int(rng.choice([64, 128, 256])), "Relu")
    return net, net.dense(x, 100)


@family
def resnet(rng, batch):
    net, width, deep = image(rng, batch, 64, 96, 112, 128), int(rng.choice([16, 32, 48, 64])), bool(rng.integers(2))
    x = net.conv("x", width, int(rng.choice([3, 7])), 2)
    for stage in range(int(rng.integers(2, 5))):
        for block in range(int(rng.integers(1, 4))):
            filters, stride = width << stage, 2 if stage and not block else 1
            if deep:
                y = net.conv(net.conv(net.conv(x, filters // 2, 1), filters // 2, 3, stride), filters * 2, 1, act=None)
            else:
                y = net.conv(net.conv(x, filters, 3, stride), filters, 3, act=None)
            if net.dims[x] != net.dims[y]:
                x = net.conv(x, net.dims[y][1], 1, stride, act=None)
            x = net.act(net.join("Add", x, y), "Relu")
    return net, net.classes(x, 100)


@family
def mobilenet(rng, batch):
    net, width, act = image(rng, batch, 96, 128, 160, 192), int(rng.choice([8, 16, 24])), str(rng.choice(["Relu6", "Silu", "HardSwish"]))
    x = net.conv("x", 2 * width, 3, 2, act=act)
    for stage in range(int(rng.integers(2, 5))):
        for block in range(int(rng.integers(1, 4))):
            inner = net.dims[x][1] * int(rng.choice([2, 4, 6]))
            y = net.conv(x, inner, 1, act=act)
            y = net.conv(y, inner, int(rng.choice([3, 3, 5])), 1 if block else 2, groups=inner, act=act)
            y = net.conv(y, width * (stage + 1), 1, act=None)
            x = net.join("Add", x, y) if net.dims[x] == net.dims[y] else y
    return net, net.classes(net.conv(x, 16 * width, 1, act=act), 100)


@family
def squeezenet(rng, batch):
    net, width = image(rng, batch, 64, 96, 128, 160), int(rng.choice([8, 16, 24, 32]))
    x = net.pool(net.conv("x", 4 * width, 3, 2), 3, 2)
    for stage in range(int(rng.integers(2, 4))):
        for _ in range(int(rng.integers(1, 4))):
            squeezed = net.conv(x, width * (stage + 1), 1)
            expand = 4 * width * (stage + 1)
            x = net.join("Concat", net.conv(squeezed, expand, 1), net.conv(squeezed, expand, 3))
        x = net.pool(x, 3, 2)
    return net, net.classes(net.conv(x, 100, 1), 100)


@family
def inception(rng, batch):
    net, width = image(rng, batch, 64, 96, 112, 128), int(rng.choice([16, 32, 48]))
    x = net.pool(net.conv(net.conv("x", width, 3, 2), 2 * width, 3), 3, 2, pad=1)
    for stage in range(int(rng.integers(1, 4))):
        for _ in range(int(rng.integers(1, 3))):
            part = width * (stage + 1)
            x = net.join("Concat", net.conv(x, part, 1), net.conv(net.conv(x, part, 1), part * 3 // 2 // 8 * 8, 3),
                         net.conv(net.conv(x, part // 4 // 4 * 4, 1), part // 2, 5),
                         net.conv(net.pool(x, 3, 1, pad=1), part // 2, 1))
        x = net.pool(x, 3, 2, pad=1)
    return net, net.classes(x, 100)


@family
def nasnet(rng, batch):
    """Random cells as in NASNet (Zoph et al., "Learning Transferable Architectures for Scalable Image Recognition", CVPR 2018): each
    of four or five blocks adds two of what came before, after an operator each; what no block uses is joined."""
    net, width = image(rng, batch, 48, 64, 96), int(rng.choice([8, 16, 24, 32]))

    def separable(x, size):
        return net.conv(net.conv(x, width, size, groups=width, act=None), width, 1)

    operators = [lambda x: x, lambda x: separable(x, 3), lambda x: separable(x, 5), lambda x: net.conv(x, width, 1),
                 lambda x: net.pool(x, 3, 1, "AveragePool", 1), lambda x: net.pool(x, 3, 1, "MaxPool", 1)]
    blocks = [[(int(rng.integers(2 + block)), int(rng.integers(len(operators)))) for _ in range(2)]
              for block in range(int(rng.integers(4, 6)))]
    before = x = net.conv("x", width, 3, 2)
    for stage in range(int(rng.integers(1, 4))):
        for _ in range(int(rng.integers(1, 3))):
            values = [net.conv(before, width, 1), net.conv(x, width, 1)]
            for block in blocks:
                values.append(net.scale(net.join("Add", *(operators[operator](values[of]) for of, operator in block)), 0.7))
            used = {of for block in blocks for of, _ in block}
            before, x = x, net.join("Concat", *(value for i, value in enumerate(values) if i not in used))
        before = x = net.pool(x, 3, 2, pad=1)
        width *= 2
    return net, net.classes(x, 100)


@family
def densenet(rng, batch):
    net, growth = image(rng, batch, 64, 96, 112, 128), int(rng.choice([8, 12, 16, 24, 32]))
    x = net.pool(net.conv("x", 2 * growth, 7, 2))
    for _ in range(int(rng.integers(2, 4))):
        for _ in range(int(rng.integers(2, 6))):
            y = net.conv(net.conv(net.act(x, "Relu"), 4 * growth, 1), growth, 3, act=None)
            x = net.join("Concat", x, y)
        x = net.pool(net.conv(x, net.dims[x][1] // 2 // 8 * 8, 1), kind="AveragePool")
    return net, net.classes(x, 100)


@family
def mlp(rng, batch):
    net = Net(rng, batch * int(rng.choice([1, 4, 16, 64])), int(rng.choice([64, 256, 784])))
    x, act = "x", str(rng.choice(["Relu", "Tanh", "Gelu"]))
    for _ in range(int(rng.integers(2, 8))):
        x = net.dense(x, int(rng.choice([64, 128, 256, 512, 1024])), act)
    return net, net.dense(x, 10)


def attend(net, x, heads):
    n, t, c = net.dims[x]
    def part(perm):
        return net.transpose(net.reshape(net.dense(x, c), n, t, heads, c // heads), *perm)
    q, k, v = part([0, 2, 1, 3]), part([0, 2, 3, 1]), part([0, 2, 1, 3])
    scores = net.scale(net.add("MatMul", [q, k], [n, heads, t, t]), (c // heads) ** -0.5)
    scores = net.add("Softmax", [scores], net.dims[scores], axis=-1)
    y = net.transpose(net.add("MatMul", [scores, v], net.dims[v]), 0, 2, 1, 3)
    return net.dense(net.reshape(y, n, t, c), c)


@family
def transformer(rng, batch):
    net = Net(rng, batch, int(rng.choice([16, 32, 64, 128])), int(rng.choice([64, 128, 192, 256])))
    x, heads, before = "x", int(rng.choice([2, 4])), bool(rng.integers(2))
    for _ in range(int(rng.integers(1, 5))):
        if before:
            x = net.join("Add", x, attend(net, net.norm(x), heads))
            x = net.join("Add", x, net.dense(net.dense(net.norm(x), 4 * net.dims[x][2], "Gelu"), net.dims[x][2]))
        else:
            x = net.norm(net.join("Add", x, attend(net, x, heads)))
            x = net.norm(net.join("Add", x, net.dense(net.dense(x, 4 * net.dims[x][2], "Gelu"), net.dims[x][2])))
    return net, net.dense(x, 100)


@family
def recurrent(rng, batch):
    steps, width = int(rng.choice([8, 16, 32, 64])), int(rng.choice([32, 64, 128, 256]))
    net, x, op = Net(rng, steps, batch, int(rng.choice([16, 64, 128]))), "x", str(rng.choice(["LSTM", "GRU"]))
    gates = 4 if op == "LSTM" else 3
    for _ in range(int(rng.integers(1, 4))):
        inputs = net.dims[x][2]
        w = net.constant((rng.standard_normal((1, gates * width, inputs)) / np.sqrt(inputs)).astype("f4"))
        r = net.constant((rng.standard_normal((1, gates * width, width)) / np.sqrt(width)).astype("f4"))
        more = {} if op == "LSTM" else {"linear_before_reset": 1}
        x = net.add(op, [x, w, r, net.bias((1, 2 * gates * width))], [steps, 1, batch, width], hidden_size=width, **more)
        x = net.reshape(x, steps, batch, width)
    return net, net.dense(x, 40)


@family
def unet(rng, batch):
    net, width, depth = image(rng, batch, 48, 64, 96, 128), int(rng.choice([8, 16, 24, 32])), int(rng.integers(2, 4))
    transposed, x, kept = bool(rng.integers(2)), "x", []
    for stage in range(depth):
        x = net.conv(net.conv(x, width << stage, 3), width << stage, 3)
        kept.append(x)
        x = net.pool(x)
    x = net.conv(x, width << depth, 3)
    for stage in reversed(range(depth)):
        n, c, h, w = net.dims[x]
        if transposed:
            x = net.add("ConvTranspose", [x, net.weights(c, width << stage, 2, 2, fan=c), net.bias(width << stage)],
                        [n, width << stage, 2 * h, 2 * w], kernel_shape=[2, 2], strides=[2, 2])
        else:
            x = net.add("Resize", [x, "", net.constant(np.array([1, 1, 2, 2], "f4"))], [n, c, 2 * h, 2 * w], mode="nearest",
                        coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        x = net.conv(net.conv(net.join("Concat", kept[stage], x), width << stage, 3), width << stage, 3)
    return net, net.conv(x, 2, 1, act="Sigmoid")


@family
def resnext(rng, batch):
    net, width = image(rng, batch, 64, 96, 112, 128), int(rng.choice([16, 32, 64]))
    groups, gated = int(rng.choice([4, 8])), bool(rng.integers(2))
    x = net.conv("x", width, 3, 2)
    for stage in range(int(rng.integers(2, 4))):
        for block in range(int(rng.integers(1, 4))):
            filters, stride = width << stage, 1 if block else 2
            y = net.conv(net.conv(net.conv(x, filters, 1), filters, 3, stride, groups), 2 * filters, 1, act=None)
            if gated:
                n, c = net.dims[y][:2]
                s = net.add("GlobalAveragePool", [y], [n, c, 1, 1])
                y = net.join("Mul", y, net.conv(net.conv(s, max(8, c // 8), 1), c, 1, act="Sigmoid"))
            if net.dims[x] != net.dims[y]:
                x = net.conv(x, net.dims[y][1], 1, stride, act=None)
            x = net.act(net.join("Add", x, y), "Relu")
    return net, net.classes(x, 100)


@family
def mixer(rng, batch):
    patch, width = int(rng.choice([8, 16])), int(rng.choice([64, 96, 128, 192]))
    net = image(rng, batch, 64, 96, 128)
    n, c, h, w = net.dims["x"]
    x = net.add("Conv", ["x", net.weights(width, c, patch, patch, fan=c * patch * patch), net.bias(width)],
                [n, width, h // patch, w // patch], kernel_shape=[patch] * 2, strides=[patch] * 2)
    tokens = h // patch * (w // patch)
    x = net.transpose(net.reshape(x, n, width, tokens), 0, 2, 1)
    for _ in range(int(rng.integers(2, 6))):
        y = net.transpose(net.norm(x), 0, 2, 1)
        x = net.join("Add", x, net.transpose(net.dense(net.dense(y, 2 * tokens, "Gelu"), tokens), 0, 2, 1))
        x = net.join("Add", x, net.dense(net.dense(net.norm(x), 4 * width, "Gelu"), width))
    return net, net.dense(x, 100)


def write(path, family, number, batch):
    """Writes network `number` of a family: the same structure and weights for every batch."""
    rng = np.random.default_rng(zlib.crc32(f"{family}{number}".encode()))
    net, y = FAMILIES[family](rng, batch)
    net.write(path, y)
