#!/usr/bin/env python3
"""lathe.builder: what it builds computes what it should, and mistakes are said:  builder_test.py LATHE RECORDS.json (in a folder that
PYTHONPATH and LATHE_LIBRARY_DIR belong to)"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import lathe
from lathe.builder import Graph

LATHE, RECORDS = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]


class Builder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)
        os.environ["XDG_CACHE_HOME"] = self.path("cache")

    def mistake(self, says, function):
        with self.assertRaisesRegex(lathe.Error, says) as caught:
            function()
        self.assertEqual(len(str(caught.exception).splitlines()), 1)

    def test_every_operator_has_a_function(self):
        with open(RECORDS) as file:
            records = json.load(file)
        names = [record["opName"] for record in records.values()
                 if isinstance(record, dict) and "NnOp" in record.get("!superclasses", []) and not record.get("!anonymous")]
        self.assertGreater(len(names), 150)
        for name in names:
            self.assertTrue(hasattr(Graph, name) or hasattr(Graph, name + "_"), name)

    def test_a_graph_computes(self):
        net = Graph("net")
        x = net.input("x", "f32", ["N", 4])
        table = np.arange(12, dtype=np.float32).reshape(3, 4)
        values, indices = net.top_k(net.matmul(x, net.constant(table.T.copy())), k=2, name="best")
        negative = net.not_(net.less(values, net.constant(0.0, "f32")))
        parts = net.split(net.concat([values, net.cast(negative, to="f32")], axis=1), axis=1, sizes=[1, 3])
        self.assertEqual(parts[1].type, "tensor<?x3xf32>")
        net.output("parts", parts[1])
        net.output("indices", indices)
        given = np.array([[1, 0, 0, -1], [1, 2, 3, 4]], np.float32)
        net.write(self.path("net.mlir"))
        outputs = net.compile(self.path("net.lathe")).run({"x": given})
        products = given @ table.T
        order = np.argsort(-products, axis=1, kind="stable")[:, :2]
        np.testing.assert_array_equal(outputs["indices"], order)
        best = np.take_along_axis(products, order, axis=1)
        np.testing.assert_allclose(outputs["parts"], np.concatenate([best[:, 1:], best >= 0], axis=1), rtol=1e-6)
        self.mistake("has been compiled", lambda: net.relu(x))
        written = lathe.compile(self.path("net.mlir"), self.path("again.lathe")).run({"x": given})
        np.testing.assert_array_equal(written["parts"], outputs["parts"])

    def test_control_flow(self):
        def doubled(net):
            net.input("i", "i64")
            condition, x = net.input("condition", "bool"), net.input("x", "f32", [2])
            net.output("condition", condition)
            net.output("x", net.add(x, x))

        bodies = []

        def negated(net):
            bodies.append(net)
            net.output("y", net.neg(net.input("x", "f32", [2])))

        def same(net):
            net.output("y", net.input("x", "f32", [2]))

        net = Graph("net")
        x, times, odd = net.input("x", "f32", [2]), net.input("times", "i64"), net.input("odd", "bool")
        (powers,) = net.loop(times, net.constant(True, "bool"), [x], 1, doubled)
        (y,) = net.branch(odd, [powers], negated, same)
        net.output("y", y)
        model = net.compile(self.path("net.lathe"))
        for odd in (False, True):
            got = model.run({"x": np.array([1, -3], np.float32), "times": np.int64(5), "odd": np.bool_(odd)})["y"]
            np.testing.assert_array_equal(got, np.array([32, -96], np.float32) * (-1 if odd else 1))
        self.mistake("has been compiled", lambda: bodies[0].input("late", "f32", [2]))

    def test_weights_of_a_file(self):
        first = Graph("first")
        big = np.random.default_rng(1).standard_normal((16, 32)).astype(np.float32)
        x = first.input("x", "f32", [1, 16])
        first.output("y", first.matmul(x, first.constant(big, name="fc.weight")))
        first.write(self.path("first.mlir"))
        second = Graph("second", self.path("first.mlir.safetensors"))
        x = second.input("x", "f32", [1, 16])
        inner = second.at("fc.")
        second.output("y", inner.matmul(x, "weight", name="product"))
        second.write(self.path("second.mlir"))
        texts = [subprocess.run([LATHE, "inspect", self.path(name), "--canonical"], capture_output=True, text=True, check=True).stdout
                 for name in ("first.mlir", "second.mlir")]
        self.assertEqual(*texts)
        self.assertIn("f32[16, 32]", texts[0])
        self.mistake("weight 'fc.weigth': is not in .*did you mean 'fc.weight'", lambda: inner.matmul(x, "weigth"))
        third = Graph("third", self.path("first.mlir.safetensors"))
        self.mistake("has 2048 bytes, expected 4096", lambda: third.weight("fc.weight", "f32", [32, 32]))
        self.mistake("is F32 in .*, expected i8", lambda: third.weight("fc.weight", "i8", [2048]))
        self.mistake("nowhere", lambda: Graph("third", self.path("nowhere")))

    def test_mistakes(self):
        net = Graph("net")
        x = net.input("x", "f32", [1, 3, 8, 8])
        w = net.constant(np.zeros((4, 2, 3, 3), np.float32))
        self.mistake("net: node 1 'c' .conv.: conv_c2", lambda: net.conv(x, w, strides=[1, 1], dilations=[1, 1], pads=[0] * 4, name="c"))
        self.mistake("conv: attribute 'strides' is 'two', expected int64s", lambda: net.conv(x, w, strides="two"))
        self.mistake("attribute 'group' is 1.5, expected int64", lambda: net.conv(x, w, group=1.5))
        self.mistake("attribute 'group' is 18446744073709551617, expected int64", lambda: net.conv(x, w, group=2**64 + 1))
        self.mistake("operand 7: expected a value", lambda: net.relu(7))
        self.mistake("without zero bytes", lambda: net.relu(x, name="a\0b"))
        self.mistake("no file of weights", lambda: net.relu("weight"))
        self.mistake("constant of type 'f8'", lambda: net.constant(1, "f8"))
        self.mistake("5 elements, expected one or those of", lambda: net.constant([1, 2, 3, 4, 5], "i64", [2, 3]))
        self.mistake("has no output", lambda: net.write(self.path("net.mlir")))
        self.mistake("a value of another graph", lambda: net.branch(net.constant(True, "bool"), [x], lambda body: body.relu(x), lambda body: None))
        self.mistake("a value of another graph", lambda: Graph("other").relu(x))
        self.mistake("layout 'rows': expected one of auto", lambda: net.compile(self.path("net.lathe"), layout="rows"))
        self.assertFalse(os.path.exists(self.path("net.mlir")))

    def test_a_value_keeps_its_graph(self):
        self.assertEqual(repr(Graph("net").input("x", "f32", [2])), "<value 0: tensor<2xf32>>")


unittest.main()
