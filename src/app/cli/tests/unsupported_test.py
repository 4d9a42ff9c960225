"""Models with operators that Lathe does not know, and models whose stated extents --shape replaces."""
import unittest

import numpy as np

from fixture import Cli, main
from onnx_writer import model, node, tensor, value


class Unsupported(Cli):
    def around(self, *infos, outputs="y"):
        """Relu, an operator of another domain, and Relu again."""
        nodes = [node("Relu", "x", "a", "first"), node("Scramble", "a", "b", "own", domain="my.company", level=3), node("Neg", "b", "c", "second"), node("Relu", "c", "y", "last")]
        return model(self.path("custom.onnx"), nodes, [value("x", ["N", 4])], [value(name, None) for name in outputs.split()], infos=infos)

    def test_the_rest_is_checked(self):
        file = self.around(value("b", ["N", 4]))
        said = self.lathe("check", file, code=1).stdout
        self.assertRegex(said, r"not supported: 1 node(.|\n)*my.company(.|\n)*The rest of the model:\nreference calls: 0")
        figures = self.figures("check", file, code=1)
        self.assertEqual([row["op"] for row in figures["unsupported"]], ["Scramble"])
        self.assertFalse(figures["supported"])
        self.assertEqual((figures["left_behind"], figures["symbols"]), (0, ["N"]))
        self.assertGreaterEqual(figures["kernels"], 2)

    def test_inspect_shows_the_rest(self):
        figures = self.figures("inspect", self.around(value("b", ["N", 4])))
        self.assertEqual({op: row["count"] for op, row in figures["operators"].items()}, {"relu": 2, "neg": 1})
        self.assertEqual([port["name"] for port in figures["inputs"]], ["x", "b"])
        self.assertEqual([port["name"] for port in figures["outputs"]], ["y", "a"])
        self.assertEqual(figures["unsupported"][0]["node"], "own")

    def test_unknown_extents(self):
        file = self.around()
        said = self.lathe("inspect", file).stdout
        self.assertRegex(said, "2 nodes behind it left out as well; give the extents of its results with --shape b=...")
        self.assertEqual(list(self.figures("inspect", file)["operators"]), ["relu"])
        figures = self.figures("inspect", file, "--shape", "b=2x4")
        self.assertEqual((figures["left_behind"], sorted(figures["operators"])), (0, ["neg", "relu"]))

    def test_parts_around_it_are_extracted(self):
        file, part = self.around(value("b", ["N", 4])), self.path("part.onnx")
        x = np.arange(8, dtype=np.float32).reshape(2, 4) - 4
        np.save(self.path("x.npy"), x)
        for ends, expected in ((["--to", "first"], np.maximum(x, 0)), (["--from", "second"], np.maximum(-x, 0)), (["--from", "second", "--to", "c"], -x)):
            self.assertIn("Scramble", self.lathe("extract", file, *ends, "-o", part).stdout)
            np.testing.assert_array_equal(list(self.outputs(part, "-i", self.path("x.npy")).values())[0], expected)

    def test_what_runs_the_model_still_refuses(self):
        file = self.around(value("b", ["N", 4]))
        for verb in ("compile", "verify"):
            self.error(verb, file, *(["-o", self.path("m.lathe")] if verb == "compile" else []), says="not supported: 'own'")
        nothing = model(self.path("nothing.onnx"), [node("Scramble", "x", "y", domain="my.company")], [value("x", [4])], [value("y", None)])
        self.lathe("check", nothing, code=1)
        self.error("inspect", nothing, says="not supported: 'y'")

    def test_fixed_extents(self):
        ports = [[value("x", [1, 4])], [value("y", None)]]
        free = model(self.path("free.onnx"), [node("Relu", "x", "y")], *ports)
        self.assertEqual(self.outputs(free, "--shape", "x=3x5", "--fill", "ones")["y"].shape, (3, 5))
        self.assertEqual(self.outputs(free, "--shape", "x=-1x5", "--fill", "ones")["y"].shape, (1, 5))
        bound = model(self.path("bound.onnx"), [node("Reshape", "x s", "r", "flatten"), node("MatMul", "r w", "y", "dense")], *ports,
                      [tensor("s", np.array([1, -1])), tensor("w", np.zeros((4, 2), np.float32))])
        self.error("run", bound, "--shape", "x=2x4", "--fill", "ones", says=r"'dense' \(MatMul.*\(--shape: input 'x' is 1x4 in the model\)$")
        self.error("run", bound, "--shape", "x=4", "--fill", "ones", says="gives input 'x' 1 extents, expected 2")

    def test_names_that_ports_share(self):
        empty = model(self.path("empty.onnx"), [], [value("x", [2, 3])], [value("x", [2, 3])])
        both = model(self.path("both.onnx"), [node("Relu", "x", "y")], [value("x", [2, 3])], [value("y", [2, 3]), value("x", [2, 3])])
        for file, names in ((empty, ["x"]), (both, ["x", "y"])):
            self.lathe("export", file, "-o", self.path("again.onnx"))
            figures = self.figures("inspect", self.path("again.onnx"))
            self.assertEqual(sorted(port["name"] for port in figures["outputs"]), names)
            self.assertEqual([port["name"] for port in figures["inputs"]], ["x"])
            self.assertEqual(sorted(self.outputs(self.path("again.onnx"), "--fill", "ones")), names)


if __name__ == "__main__":
    main()
