"""`lathe run --steps` and `lathe verify --steps`: states between runs, growing keys and values."""
import os

import numpy as np

from fixture import Cli, main

DECODER = """
func.func @main(%x: tensor<1x1x16xf32> {nn.name = "x"},
                %pk: tensor<1x2x?x4xf32> {nn.name = "past.key", nn.dims = ["1", "2", "P", "4"]},
                %pv: tensor<1x2x?x4xf32> {nn.name = "past.value", nn.dims = ["1", "2", "P", "4"]})
    -> (tensor<1x4x1x4xf32> {nn.name = "y"}, tensor<1x2x?x4xf32> {nn.name = "present.key"},
        tensor<1x2x?x4xf32> {nn.name = "present.value"}) {
  %q = nn.reshape %x {shape = array<i64: 1, 4, 1, 4>} : (tensor<1x1x16xf32>) -> tensor<1x4x1x4xf32>
  %s = nn.sin %q : (tensor<1x4x1x4xf32>) -> tensor<1x4x1x4xf32>
  %k:2 = nn.split %s {axis = 1 : i64, sizes = array<i64: 2, 2>} : (tensor<1x4x1x4xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>)
  %key = nn.concat %pk, %k#0 {axis = 2 : i64} : (tensor<1x2x?x4xf32>, tensor<1x2x1x4xf32>) -> tensor<1x2x?x4xf32>
  %value = nn.concat %pv, %k#1 {axis = 2 : i64} : (tensor<1x2x?x4xf32>, tensor<1x2x1x4xf32>) -> tensor<1x2x?x4xf32>
  %y = nn.attention %q, %key, %value {scale = 0.5 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} :
    (tensor<1x4x1x4xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>) -> tensor<1x4x1x4xf32>
  return %y, %key, %value : tensor<1x4x1x4xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>
}
"""

STATE = """
func.func @main(%x: tensor<3xf32> {nn.name = "x"}, %h: tensor<3xf32> {nn.name = "h"}) -> (tensor<3xf32> {nn.name = "next"}) {
  %t = nn.tanh %h : (tensor<3xf32>) -> tensor<3xf32>
  %y = nn.add %t, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
"""

QUANTISED = """
func.func @main(%x: tensor<3xi8> {nn.name = "x"}, %h: tensor<3xi8> {nn.name = "h", nn.quantization = "0.5 * (q - -3)"})
    -> (tensor<3xi8> {nn.name = "next"}) {
  %y = nn.max %x, %h : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
  return %y : tensor<3xi8>
}
"""

# Variables of as many rows as the input has.
OPEN_BATCH = """
func.func @main(%x: tensor<?x3xf32> {nn.name = "x", nn.dims = ["N", "3"]}, %h: tensor<?x3xf32> {nn.name = "h.past", nn.dims = ["N", "3"]})
    -> (tensor<?x3xf32> {nn.name = "h.next"}) {
  %y = nn.add %x, %h : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
"""

STEPS = 40
GROWS = ["--state", "past.*=present.*:max=64"]


class State(Cli):
    def model(self, name, text):
        path = self.path(name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def tokens(self):
        x = np.random.default_rng(1).standard_normal((STEPS, 1, 1, 16)).astype(np.float32)
        path = self.path("tokens.npy")
        np.save(path, x)
        return x, path

    def expected(self, x):
        """The same without a past: every query against all keys up to its own, in float64."""
        q = x.reshape(STEPS, 4, 4).astype(np.float64)
        k, v = np.sin(q)[:, :2], np.sin(q)[:, 2:]
        results = []
        for step in range(STEPS):
            heads = []
            for head in range(4):
                scores = 0.5 * k[:step + 1, head // 2] @ q[step, head]
                weights = np.exp(scores - scores.max())
                heads.append(weights @ v[:step + 1, head // 2] / weights.sum())
            results.append(heads)
        return np.array(results).reshape(STEPS, 1, 4, 1, 4)

    def test_growing_in_place(self):
        decoder = self.model("decoder.mlir", DECODER)
        x, tokens = self.tokens()
        flags = ["-i", f"x={tokens}", "--steps", str(STEPS)]
        grown = self.outputs(decoder, *flags, *GROWS)
        np.testing.assert_allclose(grown["y"], self.expected(x), rtol=1e-4, atol=1e-6)
        self.assertEqual(grown["present.key"].shape, (1, 2, STEPS, 4))
        # Bits are those of runs whose past the caller passes on.
        copied = self.outputs(decoder, *flags, "--state", "past.*=present.*")
        for name in grown:
            np.testing.assert_array_equal(grown[name], copied[name])
        past = {"past.key": np.zeros((1, 2, 0, 4), np.float32), "past.value": np.zeros((1, 2, 0, 4), np.float32)}
        for step in range(3):
            np.savez(self.path("in.npz"), x=x[step], **past)
            single = self.outputs(decoder, "-i", self.path("in.npz"))
            np.testing.assert_array_equal(single["y"], grown["y"][step])
            past = {name: single[name.replace("past", "present")] for name in past}
        np.testing.assert_array_equal(past["past.key"], grown["present.key"][:, :, :3])
        two = self.outputs(decoder, *flags, *GROWS, "--threads", "2")
        np.testing.assert_array_equal(two["y"], grown["y"])

    def test_a_past_that_is_given(self):
        decoder = self.model("decoder.mlir", DECODER)
        x, tokens = self.tokens()
        all_steps = self.outputs(decoder, "-i", f"x={tokens}", "--steps", str(STEPS), *GROWS)
        np.save(self.path("rest.npy"), x[10:])
        for part in "key", "value":
            np.save(self.path(f"{part}.npy"), all_steps[f"present.{part}"][:, :, :10].copy())
        rest = self.outputs(decoder, "-i", f"x={self.path('rest.npy')}", "-i", f"past.key={self.path('key.npy')}",
                            "-i", f"past.value={self.path('value.npy')}", "--steps", str(STEPS - 10), *GROWS)
        np.testing.assert_array_equal(rest["y"], all_steps["y"][10:])

    def test_verify(self):
        decoder = self.model("decoder.mlir", DECODER)
        self.lathe("verify", decoder, "--steps", "8", "--seeds", "1", *GROWS)
        self.lathe("verify", self.model("state.mlir", STATE), "--steps", "8", "--state", "h=next")

    def test_fixed_extents(self):
        path = self.model("state.mlir", STATE)
        x = np.random.default_rng(2).standard_normal((5, 3)).astype(np.float32)
        np.save(self.path("x.npy"), x)
        np.save(self.path("h.npy"), np.ones(3, np.float32))
        result = self.outputs(path, "-i", f"x={self.path('x.npy')}", "-i", f"h={self.path('h.npy')}", "--steps", "5",
                              "--state", "h=next")["next"]
        h = np.ones(3, np.float32)
        for step in range(5):
            h = np.tanh(h) + x[step]
        np.testing.assert_allclose(result, h, rtol=1e-5)

    def test_errors(self):
        decoder, state = self.model("decoder.mlir", DECODER), self.model("state.mlir", STATE)
        fill = ["--fill", "random", "--steps"]
        self.error("run", decoder, *fill, "70", *GROWS,
                   says="state 'past.key' has 65 positions after this run, expected at most its maximum of 64")
        self.error("run", state, *fill, "2", "--state", "h=next:max=8", says="does not let it grow in place")
        self.error("run", state, *fill, "2", "--state", "h=last", says="no output 'last', expected one of 'next'")
        self.error("run", state, *fill, "2", "--state", "g*=next*", says="no input 'g\\*', expected one of 'x', 'h'")
        self.error("run", state, *fill, "2", "--state", "h", says="expected INPUT=OUTPUT")
        self.error("run", state, *fill, "2", "--state", "h=next:max=0", says="a number of at least 1")
        self.error("run", state, *fill, "2", "--state", "h=next", "--state", "x=next", says="output 'next' is a state already")
        self.error("run", decoder, *fill, "2", "--state", "past.key=present.key:max=8",
                   says="'past.key' and 'past.value' grow together")

    def test_one_step(self):
        """A single run with --state is one of several: its outputs have the extents of the model."""
        state, x = self.model("state.mlir", STATE), self.path("one.npy")
        np.save(x, np.array([1, -2, 3], np.float32))
        one = self.outputs(state, "-i", f"x={x}", "--state", "h=next")["next"]
        np.testing.assert_array_equal(one, [1, -2, 3])
        np.save(x, np.array([[1, -2, 3]], np.float32))  # of one step
        np.testing.assert_array_equal(self.outputs(state, "-i", f"x={x}", "--steps", "1", "--state", "h=next")["next"], one)
        self.lathe("verify", state, "--state", "h=next")

    def test_variables_begin_with_zero(self):
        """NAME.past needs no file: it is the real number zero, whatever --fill says."""
        names = [('"h"', '"h.past"'), ('"next"', '"h.next"')]
        plain, quantised = STATE, QUANTISED
        for old, new in names:
            plain, quantised = plain.replace(old, new), quantised.replace(old, new)
        plain, quantised = self.model("variable.mlir", plain), self.model("variable8.mlir", quantised)
        x, x8 = self.path("x3.npy"), self.path("x8.npy")
        np.save(x, np.array([1, -2, 3], np.float32))
        np.save(x8, np.array([-100, 5, -4], np.int8))
        for flags in ([], ["--fill", "ones"], ["--reference"]):
            np.testing.assert_array_equal(self.outputs(plain, "-i", f"x={x}", *flags)["h.next"], [1, -2, 3])
            self.assertEqual(self.outputs(quantised, "-i", f"x={x8}", *flags)["h.next"].tolist(), [-3, 5, -3])
        self.assertEqual(self.outputs(quantised, "-i", f"x={x8}", "--state", "*.past=*.next")["h.next"].tolist(), [-3, 5, -3])
        open_batch = self.model("variables.mlir", OPEN_BATCH)
        np.save(x, np.array([[1, -2, 3], [4, 5, 6]], np.float32))
        np.testing.assert_array_equal(self.outputs(open_batch, "-i", f"x={x}")["h.next"], [[1, -2, 3], [4, 5, 6]])

    def test_a_quantised_state_begins_with_its_zero_point(self):
        model, x = self.model("quantised.mlir", QUANTISED), self.path("bytes.npy")
        np.save(x, np.array([-100, 5, -4], np.int8))
        flags = ["-i", f"x={x}", "--steps", "2", "--state", "h=next"]
        self.assertEqual(self.outputs(model, *flags)["next"].tolist(), [-3, 5, -3])
        self.lathe("verify", model, *flags, "--seeds", "0")


if __name__ == "__main__":
    main()
