"""Random Keras networks, compared with TensorFlow.js: chains of layers with many settings, branches, open extents.

usage: keras_random_test.py LATHE SOURCE-FOLDER [--first SEED] [--count N]

What TensorFlow.js computes, Lathe computes at every level, or says that it is not supported. Exits with 77 (skipped) where
TensorFlow.js is missing.
"""
import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from runner_client import Runner, distance

WAYS = [["-O", "0", "--no-cache"], ["-O", "3", "--no-cache"], ["--reference"]]
LIMIT = 2e-4
ACTIVATIONS = ["linear", "relu", "tanh", "sigmoid", "elu", "selu", "softplus", "softsign", "swish", "relu6", "softmax"]
OLD_ONLY = ["hard_sigmoid"]  # another function in Keras 3, which TensorFlow.js does not have


class Network:
    """Draws layers. `shape`: extents without the batch; `open`: the extents between batch and channels are not in the file."""

    def __init__(self, seed, files):
        self.old = seed % 2 == 1  # a file of Keras 2
        self.random, self.numbers, self.files = random.Random(seed), np.random.RandomState(seed), files
        r = self.random
        rank = r.choice([1, 2, 2, 3, 3, 3])
        self.open = rank > 1 and r.random() < 0.3
        self.shape = [r.randint(1, 9) for _ in range(rank - 1)] + [r.choice([1, 2, 3, 5, 8, 16, 17])]
        stated = [None] * (rank - 1) + self.shape[-1:] if self.open else self.shape
        self.inputs = {"x": self.numbers.uniform(-1, 1, [r.choice([1, 2, 3]), *self.shape]).astype("f4")}
        self.layers, self.last = [files.input_layer("x", stated)], "x"
        self.values = [("x", list(self.shape))]
        for _ in range(r.randint(1, 6)):
            r.choice([self.dense, self.activation, self.activation, self.normalize, self.merge, self.merge]
                     + [[], [self.repeat, self.reshape], [self.conv, self.conv, self.pool, self.recurrent, self.recurrent, self.pad, self.permute, self.reduce],
                        [self.conv, self.conv, self.conv, self.depthwise, self.transposed, self.pool, self.pool, self.pad, self.pad, self.permute, self.reduce,
                         self.reshape]][len(self.shape)])()
        self.model = files.Model("model", self.layers, ["x"], [files.Ref(self.last)])

    def weights(self, *shapes):
        return [self.numbers.uniform(-1, 1, shape) / max(1, np.prod(shape[:-1])) ** 0.5 for shape in shapes]

    def add(self, kind, shape, config=None, weights=(), parts=None, inputs=None):
        name = f"{kind.lower()}_{len(self.layers)}"
        arguments = [[self.files.Ref(each) for each in inputs]] if inputs else [self.files.Ref(self.last)]
        self.layers.append(self.files.Layer(kind, name, config, weights, parts, [(arguments, {})]))
        self.last, self.shape = name, list(shape)
        self.values.append((name, list(shape)))

    def activation_name(self):
        return self.random.choice(ACTIVATIONS + OLD_ONLY * self.old)

    def dense(self):
        units, bias = self.random.randint(1, 18), self.random.random() < 0.7
        self.add("Dense", [*self.shape[:-1], units], {"units": units, "use_bias": bias, "activation": self.activation_name()},
                 self.weights((self.shape[-1], units), *([(units,)] if bias else [])))

    def activation(self):
        r, c = self.random, self.shape[-1]
        kind = r.choice(["Activation", "ReLU", "LeakyReLU", "ELU", "Softmax", "PReLU"])
        if kind == "PReLU":
            shared = list(range(1, len(self.shape)))
            self.add(kind, self.shape, {"shared_axes": shared}, [self.numbers.uniform(-1, 1, [1] * len(shared) + [c])])
            return
        config = {"Activation": {"activation": self.activation_name()}, "ReLU": {"max_value": r.choice([None, 6.0, 0.5]), "negative_slope": 0.0, "threshold": 0.0},
                  "LeakyReLU": {"alpha": 0.25, "negative_slope": 0.25}, "ELU": {"alpha": 1.0}, "Softmax": {"axis": -1}}[kind]
        self.add(kind, self.shape, config)

    def normalize(self):
        c = self.shape[-1]
        if self.random.random() < 0.3:
            self.add("LayerNormalization", self.shape, {"axis": [-1], "epsilon": 1e-3, "center": True, "scale": True},
                     [self.numbers.uniform(0.5, 1.5, c), self.numbers.uniform(-1, 1, c)])
            return
        scale, center = self.random.random() < 0.7, self.random.random() < 0.7
        weights = [self.numbers.uniform(0.5, 1.5, c)] * scale + [self.numbers.uniform(-1, 1, c)] * center
        self.add("BatchNormalization", self.shape, {"axis": [len(self.shape)], "epsilon": 1e-3, "scale": scale, "center": center},
                 weights + [self.numbers.uniform(-1, 1, c), self.numbers.uniform(0.5, 2, c)])

    def merge(self):
        equal = [name for name, shape in self.values if shape == self.shape and name != self.last]
        other = self.random.choice(equal) if equal else self.last
        kind = self.random.choice(["Add", "Multiply", "Maximum", "Minimum", "Average", "Concatenate"])
        shape, config = list(self.shape), {}
        if kind == "Concatenate":
            config, shape[-1] = {"axis": -1}, 2 * shape[-1]
        self.add(kind, shape, config, inputs=[self.last, other])

    def repeat(self):
        n = self.random.randint(1, 5)
        self.add("RepeatVector", [n, *self.shape], {"n": n})

    def reshape(self):
        if self.open:
            return
        if len(self.shape) > 1 and self.random.random() < 0.5:
            self.add("Flatten", [int(np.prod(self.shape))], {})
            return
        n = int(np.prod(self.shape))
        factor = self.random.choice([d for d in range(1, n + 1) if n % d == 0])
        self.add("Reshape", [factor, n // factor], {"target_shape": self.random.choice([[factor, n // factor], [-1, n // factor], [factor, -1]])})

    def permute(self):
        if self.open:
            return
        order = list(range(1, len(self.shape) + 1))
        self.random.shuffle(order)
        self.add("Permute", [self.shape[i - 1] for i in order], {"dims": order})

    def window(self, extent, same, pool=False):
        """Kernel, stride and the extent of the result."""
        kernel = self.random.randint(1, 4 if same else min(4, extent))
        # TensorFlow.js pads SAME wrongly where the stride is larger than the window.
        stride = self.random.randint(1, min(3, kernel) if same or pool else 3)
        return kernel, stride, -(-extent // stride) if same else (extent - kernel) // stride + 1

    def conv(self):
        r, rank, c = self.random, len(self.shape) - 1, self.shape[-1]
        same, filters, bias = r.random() < 0.6, r.randint(1, 17), r.random() < 0.7
        windows = [self.window(extent, same) for extent in self.shape[:-1]]
        dilation = [1] * rank
        if r.random() < 0.2:
            windows, dilation = [(k, 1, e) if same else (1, 1, e) for (k, _, _), e in zip(windows, self.shape)], [2] * rank
        kernel, strides, out = map(list, zip(*windows))
        self.add(f"Conv{rank}D", [*out, filters],
                 {"filters": filters, "kernel_size": kernel, "strides": strides, "padding": "same" if same else "valid", "use_bias": bias,
                  "activation": self.activation_name(), "groups": 1, "dilation_rate": dilation, "data_format": "channels_last"},
                 self.weights((*kernel, c, filters), *([(filters,)] if bias else [])))

    def depthwise(self):
        r, c = self.random, self.shape[-1]
        same, multiplier, stride = r.random() < 0.6, r.choice([1, 1, 2]), r.randint(1, 2)
        kernel = [r.randint(stride if same else 1, 4 if same else min(4, extent)) for extent in self.shape[:-1]]  # as in window()
        out = [-(-e // stride) if same else (e - k) // stride + 1 for e, k in zip(self.shape, kernel)]
        config = {"kernel_size": kernel, "strides": [stride, stride], "padding": "same" if same else "valid", "depth_multiplier": multiplier, "use_bias": True,
                  "activation": self.activation_name(), "dilation_rate": [1, 1], "data_format": "channels_last"}
        if r.random() < 0.5:
            self.add("DepthwiseConv2D", [*out, c * multiplier], config, self.weights((*kernel, c, multiplier), (c * multiplier,)))
            return
        filters = r.randint(1, 9)
        self.add("SeparableConv2D", [*out, filters], {**config, "filters": filters},
                 self.weights((*kernel, c, multiplier), (1, 1, c * multiplier, filters), (filters,)))

    def transposed(self):
        r, c = self.random, self.shape[-1]
        same, filters, stride = r.random() < 0.5, r.randint(1, 9), r.randint(1, 3)
        kernel = [r.randint(stride, 4) for _ in range(2)]
        out = [e * stride if same else e * stride + max(k - stride, 0) for e, k in zip(self.shape, kernel)]
        self.add("Conv2DTranspose", [*out, filters],
                 {"filters": filters, "kernel_size": kernel, "strides": [stride, stride], "padding": "same" if same else "valid", "use_bias": True,
                  "activation": self.activation_name(), "dilation_rate": [1, 1], "output_padding": None, "data_format": "channels_last"},
                 self.weights((*kernel, filters, c), (filters,)))

    def pool(self):
        r, rank = self.random, len(self.shape) - 1
        same = r.random() < 0.5
        kernel, strides, out = map(list, zip(*[self.window(extent, same, True) for extent in self.shape[:-1]]))
        self.add(f"{r.choice(['Max', 'Average'])}Pooling{rank}D", [*out, self.shape[-1]],
                 {"pool_size": kernel, "strides": strides, "padding": "same" if same else "valid", "data_format": "channels_last"})

    def pad(self):
        r, rank, c = self.random, len(self.shape) - 1, self.shape[-1]
        kind = r.choice(["ZeroPadding", "Cropping", "UpSampling"])
        pairs = [[r.randint(0, 2), r.randint(0, 2)] for _ in range(rank)]
        if kind == "UpSampling" and rank == 2:
            size = [r.randint(1, 3) for _ in range(rank)]
            if max(e * s for e, s in zip(self.shape, size)) < 40:
                self.add("UpSampling2D", [*(e * s for e, s in zip(self.shape, size)), c],
                         {"size": size, "interpolation": "nearest", "data_format": "channels_last"})
        elif kind == "ZeroPadding" and rank == 2:
            self.add("ZeroPadding2D", [*(e + sum(p) for e, p in zip(self.shape, pairs)), c], {"padding": pairs, "data_format": "channels_last"})
        elif all(e > sum(p) for e, p in zip(self.shape, pairs)) and kind == "Cropping":
            self.add(f"Cropping{rank}D", [*(e - sum(p) for e, p in zip(self.shape, pairs)), c],
                     {"cropping": pairs if rank > 1 else pairs[0], "data_format": "channels_last"})

    def recurrent(self):
        r, c = self.random, self.shape[-1]
        kind, units, sequences = r.choice(["LSTM", "GRU", "SimpleRNN"]), r.randint(1, 9), r.random() < 0.6
        gates, reset = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}[kind] * units, kind == "GRU" and r.random() < 0.5
        config = {"units": units, "activation": r.choice(["tanh", "relu"]), "recurrent_activation": r.choice(["sigmoid"] + OLD_ONLY * self.old), "use_bias": True,
                  "return_sequences": sequences, "go_backwards": r.random() < 0.3, "return_state": False, "reset_after": reset, "name": "inner"}
        draw = lambda: self.weights((c, gates), (units, gates), (2, gates) if reset else (gates,))
        ends = [*self.shape[:-1], units] if sequences else [units]
        if r.random() < 0.3:
            config["go_backwards"] = False
            mode = r.choice(["concat", "sum", "mul", "ave"])
            ends[-1] *= 2 if mode == "concat" else 1
            layer = {"class_name": kind, "config": config}
            self.add("Bidirectional", ends, {"layer": layer, "merge_mode": mode}, draw() + draw(), [("forward_layer/cell", 3), ("backward_layer/cell", 3)])
        else:
            self.add(kind, ends, config, draw(), [("cell", 3)])
        self.open = self.open and sequences

    def reduce(self):
        rank = len(self.shape) - 1
        self.add(f"Global{self.random.choice(['Max', 'Average'])}Pooling{rank}D", self.shape[-1:], {"data_format": "channels_last"})
        self.open = False


def of_peer(runner, path, inputs, folder):
    """Results in order, or why there are none."""
    loaded = runner.ask(do="load", path=path)
    if not loaded.get("ok"):
        return loaded["error"].replace(path + ": ", "")
    ran = runner.run(inputs, folder)
    return [np.load(ran["outputs"][port["name"]]) for port in loaded["outputs"]] if ran.get("ok") else ran["error"]


def outcome(lathe, runner, files, seed, folder):
    """-> one word, and its meaning."""
    network = Network(seed, files)
    path, outputs = os.path.join(folder, "model" + (".h5" if network.old else ".keras")), os.path.join(folder, "o.npz")
    files.write(path, network.model)
    given = {name: os.path.join(folder, name + ".npy") for name in network.inputs}
    for name, array in network.inputs.items():
        np.save(given[name], array)
    want = of_peer(runner, path, given, folder)
    what = f"seed {seed}, {' '.join(layer.kind for layer in network.layers)}{' (open)' if None in network.layers[0].config['batch_shape'][1:] else ''}: "
    if isinstance(want, str):
        return "no opinion", what + want
    if not all(np.isfinite(each).all() for each in want):
        return "no opinion", what + "not finite"
    for way in WAYS:
        done = subprocess.run([lathe, "run", path, *(word for name, file in given.items() for word in ("-i", f"{name}={file}")), "-o", outputs, "--quiet", *way],
                              capture_output=True, text=True)
        if done.returncode:
            return ("not supported" if "not supported" in done.stderr else "wrong"), what + " ".join(way) + ": " + done.stderr.strip()
        got = list(np.load(outputs).values())
        for ours, theirs in zip(got, want, strict=True):
            far = distance(ours, theirs.astype(ours.dtype))
            if isinstance(far, str) or far > LIMIT:
                return "wrong", what + " ".join(way) + f": {far}"
    return "equal", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lathe")
    parser.add_argument("source")
    parser.add_argument("--first", type=int, help="the first seed (default: 1 to 60, and 40 fresh ones)")
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    script = os.path.join(options.source, "src", "laboratory", "lab", "runners", "tensorflowjs", "Runner.mjs")
    if not shutil.which("node") or not os.path.isdir(os.path.join(os.path.dirname(script), "node_modules")):
        print("TENSORFLOW.JS IS NOT INSTALLED: make peers")
        sys.exit(77)
    sys.path.insert(0, os.path.join(options.source, "src", "model", "import", "keras", "testing"))
    import keras_files as files
    fresh = random.SystemRandom().randrange(1000, 10**9)
    seeds = range(options.first, options.first + options.count) if options.first is not None else [*range(1, 61), *range(fresh, fresh + 40)]
    said, faults = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner("node", script)
        for seed in seeds:
            word, text = outcome(options.lathe, runner, files, seed, folder)
            said[word] += 1
            if word in ("wrong", "not supported"):
                faults.append(f"{word}: {text}")
            elif word == "no opinion" and options.first is not None:
                print(text[:300])
    print(", ".join(f"{count} {word}" for word, count in said.most_common()), f"of {len(seeds)}")
    print("\n".join(faults))
    if said["equal"] < len(seeds) // 2:
        faults.append("too few networks were compared")
        print(faults[-1])
    sys.exit(bool(faults))


main()
