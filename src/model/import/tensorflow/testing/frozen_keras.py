"""The Keras networks of import/keras/testing/networks.py as frozen graphs of TensorFlow 2.

The nodes are those that the layers of Keras make, and the constants have the names that
convert_variables_to_constants_v2 gives them: `resnet50/conv1_conv/Conv2D/ReadVariableOp/resource`.
"""
import os
import sys

import numpy as np

from graph_files import Graph, Type

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "keras", "testing"))
import networks  # noqa: E402

FLOAT = {"T": Type("float32")}


class Freezer:
    """Adds the nodes of one layer after the other; `results` are the nodes by layer."""

    def __init__(self, model):
        self.model, self.graph, self.results = model, Graph(), {}

    def freeze(self):
        for layer in self.model.layers:
            if layer.kind == "InputLayer":
                extents = [-1 if extent is None else extent for extent in layer.config["batch_shape"]]
                self.results[layer.name] = self.graph.placeholder("x", extents)
                continue
            argument = layer.calls[0][0][0]
            inputs = [self.results[each.layer] for each in (argument if isinstance(argument, list) else [argument])]
            self.results[layer.name] = getattr(self, layer.kind)(layer, f"{self.model.name}/{layer.name}", *inputs)
        self.graph.node("Identity", "Identity", [self.results[self.model.outputs[0].layer]], **FLOAT)
        return self.graph

    def variable(self, name, value):
        """A variable as it is frozen: a constant, and what was its reading."""
        resource = self.graph.const(name + "/resource", value)
        return self.graph.node(name, "Identity", [resource], **FLOAT)

    def window(self, name, op, inputs, layer, **attributes):
        config = layer.config
        return self.graph.node(name, op, inputs, T=Type("float32"), data_format="NHWC", strides=[1, *config["strides"], 1],
                               padding=config["padding"].upper(), **attributes)

    def bias(self, scope, x, value):
        weight = self.variable(scope + "/BiasAdd/ReadVariableOp", value)
        return self.graph.node(scope + "/BiasAdd", "BiasAdd", [x, weight], data_format="NHWC", **FLOAT)

    def Conv2D(self, layer, scope, x):
        kernel = self.variable(scope + "/Conv2D/ReadVariableOp", layer.weights[0])
        x = self.window(scope + "/Conv2D", "Conv2D", [x, kernel], layer, dilations=[1, 1, 1, 1], explicit_paddings=[],
                        use_cudnn_on_gpu=True)
        return self.bias(scope, x, layer.weights[1]) if layer.config["use_bias"] else x

    def DepthwiseConv2D(self, layer, scope, x):
        kernel = self.variable(scope + "/depthwise/ReadVariableOp", layer.weights[0])
        return self.window(scope + "/depthwise", "DepthwiseConv2dNative", [x, kernel], layer, dilations=[1, 1, 1, 1],
                           explicit_paddings=[])

    def BatchNormalization(self, layer, scope, x):
        weights = list(layer.weights)
        scales = layer.config["scale"]
        gamma = self.variable(scope + "/ReadVariableOp", weights.pop(0)) if scales else self.graph.const(
            scope + "/Const", np.ones(weights[0].shape))
        beta = self.variable(scope + ("/ReadVariableOp_1" if scales else "/ReadVariableOp"), weights.pop(0))
        mean, variance = (self.variable(f"{scope}/FusedBatchNormV3/ReadVariableOp{end}", each)
                          for end, each in zip(("", "_1"), weights))
        return self.graph.node(scope + "/FusedBatchNormV3", "FusedBatchNormV3", [x, gamma, beta, mean, variance],
                               T=Type("float32"), U=Type("float32"), data_format="NHWC", exponential_avg_factor=1.0,
                               epsilon=layer.config["epsilon"], is_training=False)

    def Activation(self, layer, scope, x):
        assert layer.config["activation"] == "relu"
        return self.graph.node(scope + "/Relu", "Relu", [x], **FLOAT)

    def ReLU(self, layer, scope, x):
        assert layer.config["max_value"] == 6
        return self.graph.node(scope + "/Relu6", "Relu6", [x], **FLOAT)

    def ZeroPadding2D(self, layer, scope, x):
        paddings = self.graph.const(scope + "/Pad/paddings", [[0, 0], *layer.config["padding"], [0, 0]])
        return self.graph.node(scope + "/Pad", "Pad", [x, paddings], T=Type("float32"), Tpaddings=Type("int32"))

    def MaxPooling2D(self, layer, scope, x):
        return self.window(scope + "/MaxPool", "MaxPool", [x], layer, ksize=[1, *layer.config["pool_size"], 1],
                           explicit_paddings=[])

    def AveragePooling2D(self, layer, scope, x):
        return self.window(scope + "/AvgPool", "AvgPool", [x], layer, ksize=[1, *layer.config["pool_size"], 1])

    def GlobalAveragePooling2D(self, layer, scope, x):
        axes = self.graph.const(scope + "/Mean/reduction_indices", [1, 2])
        return self.graph.node(scope + "/Mean", "Mean", [x, axes], T=Type("float32"), Tidx=Type("int32"), keep_dims=False)

    def Dense(self, layer, scope, x):
        kernel = self.variable(scope + "/MatMul/ReadVariableOp", layer.weights[0])
        x = self.graph.node(scope + "/MatMul", "MatMul", [x, kernel], transpose_a=False, transpose_b=False, **FLOAT)
        return self.graph.node(scope + "/Softmax", "Softmax", [self.bias(scope, x, layer.weights[1])], **FLOAT)

    def Add(self, layer, scope, *inputs):
        return self.graph.node(scope + "/add", "AddV2", inputs, **FLOAT)

    def Concatenate(self, layer, scope, *inputs):
        axis = self.graph.const(scope + "/concat/axis", layer.config["axis"])
        return self.graph.node(scope + "/concat", "ConcatV2", [*inputs, axis], N=len(inputs), T=Type("float32"),
                               Tidx=Type("int32"))


def frozen(network):
    return Freezer(networks.NETWORKS[network]()).freeze()
