"""Nodes under a scope, named as the functions of TensorFlow 1 name them."""
import numpy as np

from graph_files import Type

FLOAT, INT = Type("float32"), Type("int32")


class Scope:
    """Names every node `SCOPE/NAME`. Methods take and return names of tensors."""

    def __init__(self, graph, prefix, random=None):
        self.graph, self.prefix, self.random = graph, prefix, random

    def within(self, name):
        return Scope(self.graph, self.path(name), self.random)

    def path(self, name):
        return f"{self.prefix}/{name}" if self.prefix else name

    def node(self, name, op, inputs=(), **attributes):
        return self.graph.node(self.path(name), op, inputs, **attributes)

    def float(self, name, op, inputs, **attributes):
        return self.node(name, op, inputs, T=FLOAT, **attributes)

    def const(self, name, value, dtype=None):
        return self.graph.const(self.path(name), value, dtype)

    def weight(self, name, *extents, deviation=None):
        """A frozen variable of TensorFlow 1: a constant and its reading."""
        fan = int(np.prod(extents[:-1])) or 1
        value = self.random.normal(0, (1.5 / fan) ** 0.5 if deviation is None else deviation, extents)
        return self.float(name + "/read", "Identity", [self.const(name, value)])

    def conv(self, name, x, size, channels, filters, strides=1, relu=True, padding="SAME"):
        """slim's convolution: Conv2D, BiasAdd, Relu."""
        scope = self.within(name)
        kernel = scope.weight("weights", *size, channels, filters)
        y = scope.float("Conv2D", "Conv2D", [x, kernel], data_format="NHWC", strides=[1, strides, strides, 1],
                        padding=padding, dilations=[1, 1, 1, 1])
        y = scope.float("BiasAdd", "BiasAdd", [y, scope.weight("biases", filters, deviation=0.1)], data_format="NHWC")
        return scope.float("Relu", "Relu", [y]) if relu else y

    def norm(self, name, x, channels):
        scope, random = self.within(name), self.random
        values = [random.uniform(0.5, 1.5, channels), random.uniform(-0.5, 0.5, channels),
                  random.uniform(-0.5, 0.5, channels), random.uniform(0.5, 2, channels)]
        weights = [scope.float(each + "/read", "Identity", [scope.const(each, value)])
                   for each, value in zip(("gamma", "beta", "moving_mean", "moving_variance"), values)]
        return scope.float("FusedBatchNorm", "FusedBatchNorm", [x, *weights], data_format="NHWC", epsilon=0.001,
                           is_training=False)

    def pool(self, name, x, size, strides):
        return self.float(name, "MaxPool", [x], data_format="NHWC", ksize=[1, *size, 1], strides=[1, *strides, 1],
                          padding="VALID")

    def dense(self, name, x, inputs, units, relu=False):
        scope = self.within(name)
        y = scope.float("MatMul", "MatMul", [x, scope.weight("weights", inputs, units)], transpose_a=False,
                        transpose_b=False)
        y = scope.float("BiasAdd", "BiasAdd", [y, scope.weight("biases", units, deviation=0.1)], data_format="NHWC")
        return scope.float("Relu", "Relu", [y]) if relu else y

    def extent(self, name, shape, index):
        """shape[index], as a scalar."""
        ends = [self.const(f"{name}/stack{end}", [value]) for end, value in (("", index), ("_1", index + 1), ("_2", 1))]
        return self.node(name, "StridedSlice", [shape, *ends], T=INT, Index=INT, begin_mask=0, end_mask=0,
                         ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=1)

    def shape(self, name, x):
        return self.float(name, "Shape", [x], out_type=INT)

    def concat(self, name, parts, axis, kind=FLOAT):
        return self.node(name, "ConcatV2", [*parts, self.const(name + "/axis", axis)], N=len(parts), T=kind, Tidx=INT)

    def reshape(self, name, x, extents):
        """`extents` are numbers, or a tensor."""
        shape = extents if isinstance(extents, str) else self.const(name + "/shape", extents)
        return self.float(name, "Reshape", [x, shape], Tshape=INT)

    def transpose(self, name, x, permutation):
        axes = permutation if isinstance(permutation, str) else self.const(name + "/perm", permutation)
        return self.float(name, "Transpose", [x, axes], Tperm=INT)
