"""Symbolic extents: variants, ranges, and several sizes measured from one package."""
import json

import numpy as np

from fixture import Cli, main, planned_points

# A dense layer for each image, and its mean: N images of H x 12.
OPEN = """
func.func @main(%x: tensor<?x8x?x12xf32> {nn.name = "x", nn.dims = ["N", "8", "H", "12"]}) -> (tensor<?x8x?x12xf32> {nn.name = "y"}) {
  %w = nn.constant {value = dense<0.25> : tensor<12x12xf32>} : tensor<12x12xf32>
  %0 = nn.matmul %x, %w : (tensor<?x8x?x12xf32>, tensor<12x12xf32>) -> tensor<?x8x?x12xf32> loc("product")
  %1 = nn.tanh %0 : (tensor<?x8x?x12xf32>) -> tensor<?x8x?x12xf32> loc("tanh")
  return %1 : tensor<?x8x?x12xf32>
}
"""


class Dynamic(Cli):
    def setUp(self):
        self.model, self.made = self.path("open.mlir"), self.path("open.lathe")
        with open(self.model, "w") as file:
            file.write(OPEN)

    def compiled(self, *flags):
        self.lathe("compile", self.model, "-o", self.made, *flags)
        return self.made

    def run_at(self, package, batch, height):
        x = np.linspace(-1, 1, batch * 8 * height * 12, dtype="f4").reshape(batch, 8, height, 12)
        np.save(self.path("x.npy"), x)
        y = self.outputs(package, "-i", self.path("x.npy"))["y"]
        np.testing.assert_allclose(y, np.tanh(np.broadcast_to(x.sum(-1, keepdims=True) * 0.25, x.shape)), rtol=1e-5, atol=1e-6)

    def test_one_package_runs_at_every_size(self):
        package = self.compiled("--specialize", "N=1,4", "--specialize", "N=2 H=6,7")
        for batch, height in [(1, 5), (4, 9), (2, 6), (2, 7), (2, 8), (17, 1)]:
            self.run_at(package, batch, height)
        plans = self.figures("inspect", package)["plans"]
        self.assertEqual([plan["variant"] for plan in plans], ["H=6, N=2", "H=7, N=2", "N=1", "N=4", ""])
        text = self.lathe("inspect", package).stdout
        self.assertIn("extents known at run time: N and H", text)
        self.assertIn("variant N=4", text)
        self.assertIn("variant H=6, N=2", self.lathe("verify", package, "--model", self.model).stdout)

    def test_check_says_what_variants_become(self):
        figures = self.figures("check", self.model, "--specialize", "N=1,8", "--range", "N=1..8")
        self.assertEqual([variant["extents"] for variant in figures["variants"]], ["N=1", "N=8"])
        self.assertEqual(figures["symbols"], ["N from 1 to 8", "H"])
        self.assertIn("variant N=8", self.lathe("check", self.model, "--specialize", "N=8").stdout)

    def test_inputs_outside_a_range(self):
        package = self.compiled("--range", "N=2..4", "--range", "H=1..32", "--specialize", "N=3")
        for batch in 2, 3, 4:
            self.run_at(package, batch, 5)
        self.error("run", package, "--fill", "ones", "--batch", "5", says="input 'x' .f32 Nx8xHx12.: expected N from 2 to 4, got 5$")
        self.error("run", package, "--fill", "ones", "--shape", "x=3x8x33x12", says="expected H from 1 to 32, got 33$")
        self.assertEqual(self.figures("inspect", package)["symbols"], ["N from 2 to 4", "H from 1 to 32"])

    def test_extents_that_the_model_does_not_have(self):
        for flag, value, says in [("--specialize", "M=2", "unknown symbol, the model's symbols are N, H"), ("--specialize", "N", "expected SYMBOL=EXTENT,EXTENT"),
                                  ("--specialize", "N=0.5", "expected SYMBOL=EXTENT,EXTENT"), ("--range", "N=4", "expected SYMBOL=FIRST..LAST"),
                                  ("--range", "N=4..1", "expected SYMBOL=FIRST..LAST"), ("--range", "W=1..2", "unknown symbol"),
                                  ("--optimize-for", "N=1,2", "expected SYMBOL=EXTENT"), ("--optimize-for", "W=1", "unknown symbol")]:
            with self.subTest(f"{flag} {value}"):
                self.error("compile", self.model, "-o", self.made, flag, value, says=f"{flag}.*{says}")
        self.error("compile", self.model, "-o", self.made, "--specialize", "N=8", "--range", "N=1..4", says="--specialize N=8: expected 1 to 4")
        self.error("compile", self.model, "-o", self.made, "--specialize", "N=" + ",".join(map(str, range(1, 80))), says="at most 64")
        self.error("compile", self.net, "-o", self.made, "--specialize", "N=8", says="the model has no symbolic extent")

    def test_bench_measures_one_package_at_several_sizes(self):
        package = self.compiled("--specialize", "N=4")
        store = ["--store", self.path("sizes.db"), "--repetitions", "5"]
        figures = self.figures("bench", package, "--batch", "1,2..8", *store)
        self.assertEqual([size["extents"] for size in figures["sizes"]], ["H=1, N=1", "H=1, N=2", "H=1, N=4", "H=1, N=8"])
        self.assertEqual([size["variant"] for size in figures["sizes"]], ["", "", "N=4", ""])
        shapes = self.lathe("bench", self.model, "--shape", "x=2x8x3x12", "--shape", "x=2x8x9x12", "--no-store", "--repetitions", "3").stdout
        self.assertRegex(shapes, "x 2x8x3x12")
        self.assertRegex(shapes, "x 2x8x9x12")
        self.error("bench", package, "--batch", "8..2", says="--batch 8..2: expected numbers from 1")
        self.error("bench", package, "--batch", "x", says="--batch x: expected numbers from 1")

    def test_the_curve_over_sizes_is_kept(self):
        self.lathe("verify", self.model)
        store = ["--store", self.path("curve.db")]
        self.lathe("bench", self.model, "--batch", "1,2,4,8,16", "--repetitions", "5", *store)
        found = self.figures("ops", "analyze", *store, "--what", "turning")
        curves = [curve for curve in found["turning"]["curves"] if "N" in curve["resource"] or "[0]" in curve["resource"]]
        self.assertEqual(len(curves), 1, json.dumps(found["turning"]))

    def test_compare_at_several_sizes(self):
        other = self.compiled("--specialize", "N=2")
        figures = self.figures("compare", self.model, "--with", other, "--check-only", "--batch", "1,2", "--store", self.path("compared.db"))
        self.assertEqual([size["inputs"] for size in figures["sizes"]], ["x 1x8x1x12", "x 2x8x1x12"])
        self.assertTrue(all(size["agrees"] for size in figures["sizes"]))
        experiment, = self.figures("store", "list", "--store", self.path("compared.db"))["experiments"]
        self.assertTrue(experiment["finished"])
        self.assertEqual((experiment["points"], planned_points(self.path("compared.db"))), (4, [4]))

    def test_profile_shows_the_extents_bound(self):
        package = self.compiled("--specialize", "N=4")
        self.assertRegex(self.lathe("profile", package, "--batch", "4", "--repetitions", "3", "--no-check", "--no-store").stdout, r"x 4x8x1x12; H=1, N=4, variant N=4\)")


if __name__ == "__main__":
    main()
