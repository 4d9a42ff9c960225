"""Networks with the layers that keras.applications lists for them, and seeded weights.

usage: networks.py [--channels-first] NETWORK FILE...

NETWORK is resnet50, mobilenet_v2 or inception_v3; a FILE that ends in .h5 is written as Keras 2 does, .keras as Keras 3.
The weights are the same with the channels first.
"""
import sys

import numpy as np

from keras_files import Layer, Model, Ref, input_layer, write

data_format = "channels_last"


class Network:
    """Layers one after the other; every method returns the name of its layer."""

    def __init__(self, size, seed=1):
        self.random = np.random.RandomState(seed)
        first = data_format == "channels_first"
        self.axis = 1 if first else 3
        self.layers = [input_layer("input", [3, size, size] if first else [size, size, 3])]
        self.channels = {"input": 3}
        self.counts = {}

    def add(self, kind, name, inputs, channels, config=None, weights=()):
        if name is None:  # as Keras counts
            count = self.counts.get(kind, 0)
            self.counts[kind] = count + 1
            name = kind.lower() + (f"_{count}" if count else "")
        arguments = [[Ref(each) for each in inputs]] if isinstance(inputs, list) else [Ref(inputs)]
        self.layers.append(Layer(kind, name, config, weights, calls=[(arguments, {})]))
        self.channels[name] = channels
        return name

    def conv(self, x, filters, size, strides=1, padding="same", bias=False, name=None):
        size = [size, size] if isinstance(size, int) else list(size)
        shape = (*size, self.channels[x], filters)
        weights = [self.random.normal(0, (2 / np.prod(shape[:3])) ** 0.5, shape)]
        weights += [self.random.uniform(-0.1, 0.1, filters)] if bias else []
        config = {"filters": filters, "kernel_size": size, "strides": [strides, strides], "padding": padding,
                  "use_bias": bias, "activation": "linear", "groups": 1, "dilation_rate": [1, 1],
                  "data_format": data_format}
        return self.add("Conv2D", name, x, filters, config, weights)

    def depthwise(self, x, strides, padding, name):
        channels = self.channels[x]
        config = {"kernel_size": [3, 3], "strides": [strides, strides], "padding": padding, "depth_multiplier": 1,
                  "use_bias": False, "activation": "linear", "data_format": data_format, "dilation_rate": [1, 1]}
        return self.add("DepthwiseConv2D", name, x, channels, config, [self.random.normal(0, 1 / 3, (3, 3, channels, 1))])

    def norm(self, x, epsilon=1e-3, scale=True, name=None, gain=1):
        channels = self.channels[x]
        weights = [gain * self.random.uniform(0.5, 1.5, channels)] if scale else []
        weights += [self.random.uniform(-0.5, 0.5, channels), self.random.uniform(-0.5, 0.5, channels),
                    self.random.uniform(0.5, 2, channels)]
        return self.add("BatchNormalization", name, x, channels,
                        {"axis": [self.axis], "epsilon": epsilon, "scale": scale, "center": True}, weights)

    def relu(self, x, name=None):
        return self.add("Activation", name, x, self.channels[x], {"activation": "relu"})

    def pool(self, kind, x, size, strides, padding="valid", name=None):
        return self.add(kind, name, x, self.channels[x],
                        {"pool_size": [size, size], "strides": [strides, strides], "padding": padding,
                         "data_format": data_format})

    def pad(self, x, padding, name):
        return self.add("ZeroPadding2D", name, x, self.channels[x],
                        {"padding": padding, "data_format": data_format})

    def end(self, x, name):
        x = self.add("GlobalAveragePooling2D", "avg_pool", x, self.channels[x], {"data_format": data_format})
        weights = [self.random.normal(0, self.channels[x] ** -0.5, (self.channels[x], 1000)), self.random.normal(0, 0.1, 1000)]
        x = self.add("Dense", "predictions", x, 1000, {"units": 1000, "activation": "softmax", "use_bias": True}, weights)
        return Model(name, self.layers, ["input"], [Ref(x)])


def resnet50():
    n = Network(224)

    def unit(x, filters, size, strides, padding, name, gain=1):
        x = n.conv(x, filters, size, strides, padding, True, f"{name}_conv")
        return n.norm(x, 1.001e-5, name=f"{name}_bn", gain=gain)

    def block(x, filters, strides, name, shortcut):
        aside = unit(x, 4 * filters, 1, strides, "valid", f"{name}_0") if shortcut else x
        x = n.relu(unit(x, filters, 1, strides, "valid", f"{name}_1"), f"{name}_1_relu")
        x = n.relu(unit(x, filters, 3, 1, "same", f"{name}_2"), f"{name}_2_relu")
        x = unit(x, 4 * filters, 1, 1, "valid", f"{name}_3", 0.2)  # sums of many blocks stay small: no class is sure
        x = n.add("Add", f"{name}_add", [aside, x], 4 * filters)
        return n.relu(x, f"{name}_out")

    x = n.pad("input", [[3, 3], [3, 3]], "conv1_pad")
    x = n.relu(unit(x, 64, 7, 2, "valid", "conv1"), "conv1_relu")
    x = n.pool("MaxPooling2D", n.pad(x, [[1, 1], [1, 1]], "pool1_pad"), 3, 2, name="pool1_pool")
    for stack, (filters, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], 2):
        for i in range(blocks):
            x = block(x, filters, 2 if i == 0 and stack > 2 else 1, f"conv{stack}_block{i + 1}", i == 0)
    return n.end(x, "resnet50")


def mobilenet_v2():
    n = Network(224)

    def relu6(x, name):
        return n.add("ReLU", name, x, n.channels[x], {"max_value": 6.0, "negative_slope": 0.0, "threshold": 0.0})

    size = 112
    x = n.conv("input", 32, 3, 2, name="Conv1")
    x = relu6(n.norm(x, name="bn_Conv1"), "Conv1_relu")
    number = 0
    for filters, blocks, first, expansion in ((16, 1, 1, 1), (24, 2, 2, 6), (32, 3, 2, 6), (64, 4, 2, 6), (96, 3, 1, 6),
                                              (160, 3, 2, 6), (320, 1, 1, 6)):
        for i in range(blocks):
            strides, before, inputs = (first if i == 0 else 1), x, n.channels[x]
            prefix = f"block_{number}_" if number else "expanded_conv_"
            if number:
                x = n.conv(x, expansion * inputs, 1, name=prefix + "expand")
                x = relu6(n.norm(x, name=prefix + "expand_BN"), prefix + "expand_relu")
            if strides == 2:
                even = 1 - size % 2
                x = n.pad(x, [[1 - even, 1], [1 - even, 1]], prefix + "pad")
                size //= 2
            x = n.depthwise(x, strides, "same" if strides == 1 else "valid", prefix + "depthwise")
            x = relu6(n.norm(x, name=prefix + "depthwise_BN"), prefix + "depthwise_relu")
            x = n.norm(n.conv(x, filters, 1, name=prefix + "project"), name=prefix + "project_BN")
            if inputs == filters and strides == 1:
                x = n.add("Add", prefix + "add", [before, x], filters)
            number += 1
    x = n.conv(x, 1280, 1, name="Conv_1")
    return n.end(relu6(n.norm(x, name="Conv_1_bn"), "out_relu"), "mobilenetv2_1.00_224")


def inception_v3():
    n = Network(299)

    def conv(x, filters, rows, columns, strides=1, padding="same"):
        return n.relu(n.norm(n.conv(x, filters, (rows, columns), strides, padding), scale=False))

    def chain(x, *steps):
        for step in steps:
            x = conv(x, *step)
        return x

    def concat(parts, name=None):
        return n.add("Concatenate", name, parts, sum(n.channels[each] for each in parts), {"axis": n.axis})

    def averaged(x, filters):
        return conv(n.pool("AveragePooling2D", x, 3, 1, "same"), filters, 1, 1)

    x = chain("input", (32, 3, 3, 2, "valid"), (32, 3, 3, 1, "valid"), (64, 3, 3))
    x = n.pool("MaxPooling2D", x, 3, 2)
    x = chain(x, (80, 1, 1, 1, "valid"), (192, 3, 3, 1, "valid"))
    x = n.pool("MaxPooling2D", x, 3, 2)
    for i, pooled in enumerate((32, 64, 64)):
        x = concat([conv(x, 64, 1, 1), chain(x, (48, 1, 1), (64, 5, 5)), chain(x, (64, 1, 1), (96, 3, 3), (96, 3, 3)),
                    averaged(x, pooled)], f"mixed{i}")
    x = concat([conv(x, 384, 3, 3, 2, "valid"), chain(x, (64, 1, 1), (96, 3, 3), (96, 3, 3, 2, "valid")),
                n.pool("MaxPooling2D", x, 3, 2)], "mixed3")
    for i, c in enumerate((128, 160, 160, 192), 4):
        x = concat([conv(x, 192, 1, 1), chain(x, (c, 1, 1), (c, 1, 7), (192, 7, 1)),
                    chain(x, (c, 1, 1), (c, 7, 1), (c, 1, 7), (c, 7, 1), (192, 1, 7)), averaged(x, 192)], f"mixed{i}")
    x = concat([chain(x, (192, 1, 1), (320, 3, 3, 2, "valid")),
                chain(x, (192, 1, 1), (192, 1, 7), (192, 7, 1), (192, 3, 3, 2, "valid")), n.pool("MaxPooling2D", x, 3, 2)], "mixed8")
    for i in (9, 10):
        wide, double = conv(x, 384, 1, 1), chain(x, (448, 1, 1), (384, 3, 3))
        x = concat([conv(x, 320, 1, 1), concat([conv(wide, 384, 1, 3), conv(wide, 384, 3, 1)]),
                    concat([conv(double, 384, 1, 3), conv(double, 384, 3, 1)]), averaged(x, 192)], f"mixed{i}")
    return n.end(x, "inception_v3")


NETWORKS = {"resnet50": resnet50, "mobilenet_v2": mobilenet_v2, "inception_v3": inception_v3}

if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[0] == "--channels-first":
        data_format = "channels_first"
        arguments.pop(0)
    for path in arguments[1:]:
        write(path, NETWORKS[arguments[0]]())
