"""`lathe extract`: a part of a network as a network."""
import os

import numpy as np

from fixture import PEER, Cli, main


class Extract(Cli):
    def test_a_part_computes_what_the_whole_computes(self):
        cut = self.path("part.onnx")
        for title, arguments, inputs, outputs in [("segment", ["--from", "conv2", "--to", "relu2"], ["relu1"], ["relu2"]),
                                                  ("operator", ["--node", "add2"], ["conv2", "relu1"], ["add2"]),
                                                  ("head", ["--to", "relu1"], ["data"], ["relu1"]),
                                                  ("tail", ["--from", "pool"], ["relu2"], ["prob"])]:
            with self.subTest(title):
                figures = self.figures("extract", self.net, *arguments, "-o", cut, "--inputs", "--seed", "7")
                self.assertEqual(sorted(port["name"] for port in figures["inputs"]), sorted(inputs))
                self.assertEqual([port["name"] for port in figures["outputs"]], outputs)
                computed = self.outputs(cut, "-i", figures["inputs_folder"])[outputs[0]]
                expected = np.load(os.path.join(figures["expected_folder"], outputs[0] + ".npy"))
                # A part may read other layouts than the whole does, and so be computed by another algorithm.
                np.testing.assert_allclose(computed, expected, rtol=1e-4, atol=2e-5)
                if os.path.isdir(PEER):
                    self.lathe("compare", cut, "-i", figures["inputs_folder"], "--max-rounds", "1")
                else:
                    print("ONNX RUNTIME IS NOT INSTALLED (make peers): cuts are not loaded by it")

    def test_a_cut_that_cannot_be(self):
        cut = self.path("none.onnx")
        self.error("extract", self.net, "-o", cut, says="nothing to cut")
        self.error("extract", self.net, "-o", cut, "--to", "conv22", says="--to conv22: has no node or tensor of that name .did you mean .conv2.")
        self.error("extract", self.net, "-o", cut, "--from", "relu2", "--to", "conv1", says="--to conv1 does not depend on --from relu2")
        self.error("extract", self.net, "-o", cut, "--to", "relu1", "--inputs", "-i", "data=nowhere.npy", says="nowhere.npy")


if __name__ == "__main__":
    main()
