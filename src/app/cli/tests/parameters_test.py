"""Parameters of operators that are inputs: axes, sizes, bounds and statistics; initializers as defaults; sparse ones."""
import os
import subprocess
import unittest

import numpy as np

from fixture import LATHE, Cli, main
from onnx_writer import graph, model, node, sparse, tensor, value

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
LEVELS = (["-O", "0"], ["-O", "3"], ["--reference"])


class Parameters(Cli):
    def written(self, nodes, inputs, outputs="y", kind="float32", **more):
        ports = [value(name, dims, kind) for name, dims, kind in inputs]
        return model(self.path("m.onnx"), nodes, ports, [value(name, kind=kind) for name in outputs.split()], **more)

    def expect(self, file, given, expected, *flags, levels=LEVELS):
        """The outputs, by name, of the file at several levels."""
        inputs = []
        for name, array in given.items():
            np.save(self.path(name + ".npy"), array)
            inputs += ["-i", f"{name}={self.path(name + '.npy')}"]
        for level in levels:
            found = self.outputs(file, *inputs, *level, *flags)
            for name, array in expected.items():
                with self.subTest(name=name, level=level):
                    self.assertEqual(found[name].shape, np.shape(array))
                    np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)
        return inputs

    def refused(self, file, given, says):
        inputs = []
        for name, array in given.items():
            np.save(self.path(name + ".npy"), array)
            inputs += ["-i", f"{name}={self.path(name + '.npy')}"]
        for level in LEVELS:
            self.error("run", file, *inputs, *level, says=says)

    def test_axes_of_reductions(self):
        ports = [("x", [2, 3, 4], "float32"), ("a", [1], "int64")]
        for op, expected in {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMean": np.mean}.items():
            file = self.written([node(op, "x a", "y")], ports)
            for axis in (0, 2, -1):
                self.expect(file, {"x": X, "a": np.array([axis])}, {"y": expected(X, axis, keepdims=True)}, levels=LEVELS[1:])
        squares = self.written([node("ReduceL2", "x a", "n", keepdims=0), node("Relu", "n", "y")], [ports[0], ("a", [2], "int64")])
        self.expect(squares, {"x": X, "a": np.array([2, 0])}, {"y": np.sqrt((X * X).sum(axis=(0, 2)))})
        logical = self.written([node("ReduceMax", "x a", "y")], [("x", [2, 2], "bool"), ports[1]], kind="bool", opset=20)
        self.expect(logical, {"x": np.array([[True, False], [False, False]]), "a": np.array([0])}, {"y": np.array([[True, False]])})
        file = self.written([node("ReduceSum", "x a", "y")], ports)
        self.refused(file, {"x": X, "a": np.array([3])}, "reduce_c1|axis")

    def test_axes_of_squeeze_and_unsqueeze(self):
        x = X[:1].reshape(1, 3, 1, 4)
        ports = [("x", [1, 3, 1, "N"], "float32"), ("a", [1], "int64")]
        squeezed = self.written([node("Squeeze", "x a", "s"), node("Relu", "s", "y")], ports)
        for axis in (0, 2, -2, -4):
            self.expect(squeezed, {"x": x, "a": np.array([axis])}, {"y": np.maximum(np.squeeze(x, axis), 0)}, levels=LEVELS[1:])
        for axes in ([1], [4]):  # of extent 3; none
            self.refused(squeezed, {"x": x, "a": np.array(axes)}, "m.onnx: .*'s'")
        ports[1] = ("a", [2], "int64")
        both = self.written([node("Squeeze", "x a", "y")], ports)
        self.expect(both, {"x": x, "a": np.array([2, 0])}, {"y": x[0, :, 0]})
        self.refused(both, {"x": x, "a": np.array([0, 0])}, "m.onnx: .*index|m.onnx: .*indices")
        ports[0] = ("x", ["N", 3], "float32")
        more = self.written([node("Unsqueeze", "x a", "y")], ports)
        for axes in ([0, 3], [1, -1], [-1, -2], [2, 0]):
            self.expect(more, {"x": X[0, :2, :3], "a": np.array(axes)}, {"y": np.expand_dims(X[0, :2, :3], tuple(axes))})

    def test_sizes_of_split(self):
        ports = [("x", ["N", 3, 4], "float32"), ("s", [3], "int64")]
        file = self.written([node("Split", "x s", "a b c", axis=1), node("Relu", "b", "d")], ports, "a c d")
        for sizes in ([1, 1, 1], [0, 3, 0], [2, 1, 0]):
            a, b, c = np.split(X, np.cumsum(sizes)[:2], axis=1)
            self.expect(file, {"x": X, "s": np.array(sizes)}, {"a": a, "c": c, "d": np.maximum(b, 0)})
        for sizes in ([1, 1, 2], [-1, 3, 1], [1, 1, 0]):
            self.refused(file, {"x": X, "s": np.array(sizes)}, "m.onnx: node 0 'a' \\(Split")

    def test_split_of_an_open_extent(self):
        for opset, extents in ((18, (3, 4, 5, 8)), (13, (3, 6))):  # before 18 it must divide
            stated = {"num_outputs": 3} if opset >= 18 else {}
            file = self.written([node("Split", "x", "a b c", axis=1, **stated)], [("x", [2, "N"], "float32")], "a b c", opset=opset)
            for extent in extents:
                x = np.arange(2 * extent, dtype=np.float32).reshape(2, extent)
                size = -(-extent // 3)
                pieces = [x[:, i * size : (i + 1) * size] for i in range(3)]
                self.expect(file, {"x": x}, dict(zip("abc", pieces)), levels=LEVELS[1:])
        self.refused(file, {"x": np.zeros((2, 4), np.float32)}, "m.onnx: node 0 'a' \\(Split")

    def test_pads_and_bounds(self):
        ports = [("x", [2, 3, 4], "float32"), ("p", [2], "int64"), ("v", [], "float32")]
        known = self.written([node("Pad", "x p v a", "y")], ports, initializers=[tensor("a", np.array([-1]))])
        pads = {"x": X, "p": np.array([1, 2]), "v": np.float32(9)}
        expected = np.pad(X, ((0, 0), (0, 0), (1, 2)), constant_values=9)
        self.expect(known, pads, {"y": expected})
        self.expect(self.written([node("Pad", "x p v a", "y")], ports + [("a", [1], "int64")]), {**pads, "a": np.array([2])}, {"y": expected})
        clip = self.written([node("Clip", "x l h", "y")], [ports[0], ("l", [], "float32"), ("h", [], "float32")])
        self.expect(clip, {"x": X, "l": np.float32(-2), "h": np.float32(3)}, {"y": np.clip(X, -2, 3)})
        resize = self.written([node("Resize", ["x", "", "", "s"], "y", axes=[2], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")],
                              [ports[0], ("s", [1], "int64")])
        self.expect(resize, {"x": X, "s": np.array([8])}, {"y": np.repeat(X, 2, axis=2)})

    def test_statistics(self):
        names = ("scale", "bias", "mean", "var")
        file = self.written([node("BatchNormalization", "x scale bias mean var", "y")], [("x", ["N", 3, 4], "float32")] + [(n, [3], "float32") for n in names])
        given = {name: np.array([0.5, 1, 2], np.float32) + i for i, name in enumerate(names)}
        s, b, m, v = (given[name][:, None] for name in names)
        self.expect(file, {"x": X, **given}, {"y": (X - m) / np.sqrt(v + 1e-5) * s + b})

    def test_defaults(self):
        ports = [("x", [2, 3], "float32"), ("s", [], "float32"), ("t", None, "float32")]
        nodes = [node("Mul", "x s", "m"), node("Add", "m t", "y")]
        weights = [tensor("s", np.float32(2)), tensor("t", np.float32([1, 2, 3]))]
        file = self.written(nodes, ports, initializers=weights, opset=13)
        x, t = X[0, :2, :3], np.float32([1, 2, 3])
        self.expect(file, {"x": x}, {"y": x * 2 + t})
        self.expect(file, {"x": x, "s": np.float32(5)}, {"y": x * 5 + t})
        self.expect(file, {"x": x, "s": np.float32(5), "t": t * 4}, {"y": x * 5 + t * 4})
        package = self.path("m.lathe")
        self.lathe("compile", file, "--override", "t", "-o", package)
        inputs = self.expect(package, {"x": x, "t": t * 4}, {"y": x * 2 + t * 4}, levels=[[]])
        self.error("run", package, *inputs[:2], says="'t' is missing")
        self.assertEqual([port["name"] for port in self.figures("inspect", file)["inputs"]], ["x"])
        self.error("run", file, *inputs[:2], "-i", f"z={inputs[1].split('=')[1]}", says="no input 'z', expected 'x'")
        for name, reason in (("x", "an input without one"), ("z", "no input 'z' with a default value$"), ("m", "no input 'm'")):
            self.error("compile", file, "--override", name, "-o", package, says=reason)
        old = self.written(nodes, ports, initializers=weights, opset=13, ir=3)
        self.expect(old, {"x": x}, {"y": x * 2 + t}, levels=[[]])
        self.error("compile", old, "--override", "t", "-o", package, says="IR version 3")
        constant = self.written(nodes, ports[:1], initializers=weights, opset=13)
        self.error("compile", constant, "--override", "s", "-o", package, says="it is a constant")
        self.error("compile", self.net, "--override", "s", "-o", package, says="no ONNX file")

    def test_listed_weights_stay_constants(self):
        nodes, weight = [node("MatMul", "x w", "y")], tensor("w", X[0])
        listed = self.written(nodes, [("x", [2, 3], "float32"), ("w", [3, 4], "float32")], initializers=[weight])
        assembly = lambda file: self.lathe("compile", file, "--emit", "asm").stdout
        first = assembly(listed)
        plain = self.written(nodes, [("x", [2, 3], "float32")], initializers=[weight])
        self.assertEqual(first, assembly(plain))

    def test_sparse(self):
        ports, x = [("x", [2, 4], "float32")], X[0, :2]
        dense = np.zeros((4, 3), np.float32)
        dense[0, 0], dense[1, 1], dense[3, 2] = 2, -3, 5
        for indices in ([0, 4, 11], [[0, 0], [1, 1], [3, 2]]):
            file = self.written([node("MatMul", "x w", "y")], ports, sparses=[sparse("w", np.float32([2, -3, 5]), indices, (4, 3))])
            self.expect(file, {"x": x}, {"y": x @ dense}, levels=LEVELS[1:])
            constant = self.written([node("Constant", "", "w", sparse_value=(np.float32([2, -3, 5]), indices, (4, 3))), node("MatMul", "x w", "y")], ports)
            self.expect(constant, {"x": x}, {"y": x @ dense}, levels=LEVELS[1:])
        for indices, shape, says in (([0, 4, 12], (4, 3), "index 12, expected 0 to 11"), ([[0, 0], [1, 1], [3, -2]], (4, 3), "index -2 on axis 1"), ([0, 1], (4, 3), "indices are"),
                                     ([0, 4, 11], (1 << 20, 1 << 19), "sparse with 3 of")):
            file = self.written([node("MatMul", "x w", "y")], ports, sparses=[sparse("w", np.float32([2, -3, 5]), indices, shape)])
            self.error("check", file, says=f"initializer 'w': .*{says}")

    def test_blocks_that_are_not_full(self):
        random = np.random.default_rng(5)
        for bits, k, block, zeros in ((4, 17, 16, False), (4, 20, 16, True), (8, 33, 16, True), (4, 40, 32, False), (4, 70, 32, True)):
            n, blocks = 5, -(-k // block)
            codes = random.integers(0, 1 << bits, (n, blocks * block), dtype=np.uint8)
            zero = random.integers(0, 1 << bits, (n, blocks), dtype=np.uint8)
            scale = random.uniform(0.1, 1, (n, blocks)).astype(np.float32)
            packed = lambda c: c if bits == 8 else (lambda p: p[..., ::2] | p[..., 1::2] << 4)(np.pad(c, ((0, 0), (0, c.shape[1] % 2))))
            weights = [tensor("b", packed(codes).reshape(n, blocks, -1)), tensor("s", scale.ravel())] + ([tensor("z", packed(zero).ravel())] if zeros else [])
            file = self.written([node("MatMulNBits", "x b s z" if zeros else "x b s", "y", domain="com.microsoft", K=k, N=n, bits=bits, block_size=block)], [("x", [3, k], "float32")],
                                initializers=weights)
            whole = (codes.reshape(n, blocks, block) - (zero if zeros else np.full_like(zero, 1 << (bits - 1))).astype(np.float32)[..., None]) * scale[..., None]
            x = random.uniform(-1, 1, (3, k)).astype(np.float32)
            self.expect(file, {"x": x}, {"y": x @ whole.reshape(n, -1)[:, :k].T})

    def test_branches_of_different_rank(self):
        extent = [node("Shape", "x", "n"), node("Gather", "n zero", "first"), node("Equal", "first one", "c")]
        weights = [tensor("zero", np.int64(0)), tensor("one", np.int64(1))]
        then = graph([node("Squeeze", "x a", "s")], outputs=[value("s")], initializers=[tensor("a", np.array([0]))])
        file = self.written(extent + [node("If", "c", "y", name="squeeze", then_branch=then, else_branch=graph([node("Identity", "x", "i")], outputs=[value("i")]))],
                            [("x", ["N", 2], "float32")], initializers=weights, opset=13)
        one, three = X[0, :1, :2], X[0, :3, :2]
        self.expect(file, {"x": one}, {"y": one[0]})
        self.expect(file, {"x": three}, {"y": three}, "--shape", "x=3x2")
        self.assertRegex(self.lathe("compile", file, "-o", self.path("m.lathe")).stderr, "'squeeze' depends on extent N, which is taken as 1; --shape gives another")
        self.assertRegex(self.lathe("run", file, "--reference", "-i", f"x={self.path('x.npy')}", code=2).stderr, "taken as 1; --shape gives another\n.*input 'x' is 3x2, expected 1x2\n$")
        data = self.written([node("If", "c", "y", then_branch=then, else_branch=graph([node("Identity", "x", "i")], outputs=[value("i")]))],
                            [("x", [1, 2], "float32"), ("c", [], "bool")], opset=13)
        self.lathe("check", data, code=1)

    def test_an_extent_of_minus_1(self):
        file = self.written([node("Softmax", "x", "y", axis=0)], [("x", [-1, 2], "float32")])
        for rows in (1, 3):
            x = X[0, :rows, :2]
            power = np.exp(x - x.max(axis=0))
            self.expect(file, {"x": x}, {"y": power / power.sum(axis=0)})
        self.error("check", self.written([node("Relu", "x", "y")], [("x", [-2, 2], "float32")]), says="extent -2")


if __name__ == "__main__":
    main()
