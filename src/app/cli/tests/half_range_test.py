"""Networks of float16: between operators a value has the range of float32, at every level, on the references and in the judge."""
import numpy as np

from fixture import Cli, main

MODES = [["-O", str(level)] for level in range(5)] + [["-O", "3", "--exact-math"], ["--reference"]]
SHAPE = (4, 16)


class Graph:
    """A graph of f16 values as text, beside what it computes in float64."""

    def __init__(self, x):
        self.lines, self.count = [], 0
        self.x = ("x", np.asarray(x, np.float64))

    @staticmethod
    def type(array):
        return f"tensor<{'x'.join([*map(str, array.shape), 'f16'])}>"

    def add(self, op, operands, result, attributes=""):
        name = f"v{self.count}"
        self.count += 1
        types = ", ".join(self.type(array) for _, array in operands)
        names = ", ".join(f"%{each}" for each, _ in operands)
        self.lines.append(f'%{name} = nn.{op} {names} {attributes} : ({types}) -> {self.type(result)} loc("{name}")')
        return name, result

    def constant(self, array):
        array = np.asarray(array, np.float16)
        name = f"c{self.count}"
        self.count += 1
        data = '"0x' + array.tobytes().hex().upper() + '"'
        self.lines.append(f"%{name} = nn.constant {{value = dense<{data}> : {self.type(array)}}} : {self.type(array)}")
        return name, array.astype(np.float64)

    def number(self, value):
        name = f"c{self.count}"
        self.count += 1
        self.lines.append(f"%{name} = nn.constant {{value = dense<{float(value):e}> : tensor<f16>}} : tensor<f16>")
        return name, np.asarray(np.float16(value), np.float64)

    def binary(self, op, a, b):
        compute = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "max": np.maximum}
        return self.add(op, [a, b], compute[op](a[1], b[1]))

    def unary(self, op, a):
        compute = {"sqrt": np.sqrt, "abs": np.abs, "exp": np.exp, "log": np.log, "tanh": np.tanh, "neg": np.negative,
                   "relu": lambda v: np.maximum(v, 0), "reciprocal": lambda v: 1 / v}
        return self.add(op, [a], compute[op](a[1]))

    def reduce(self, op, a):
        compute = {"sum": np.sum, "mean": np.mean, "max": np.max, "sum_square": lambda v, **k: np.sum(v * v, **k)}
        return self.add(f"reduce_{op}", [a], compute[op](a[1], axis=1, keepdims=True),
                        "{axes = array<i64: 1>, keepdims = true}")

    def matmul(self, a, b):
        return self.add("matmul", [a, b], a[1] @ b[1])

    def transpose(self, a):
        return self.add("transpose", [a], a[1].T, "{perm = array<i64: 1, 0>}")

    def conv(self, a, w):
        """A pointwise convolution of an image of one row."""
        y = np.einsum("ncl,oc->nol", a[1], w[1][:, :, 0])
        return self.add("conv", [a, w], y, "{strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>}")

    def text(self, *outputs):
        types = ", ".join(f'{self.type(array)} {{nn.name = "y{i}"}}' for i, (_, array) in enumerate(outputs))
        body = "\n  ".join(self.lines)
        names, plain = ", ".join(f"%{name}" for name, _ in outputs), ", ".join(self.type(array) for _, array in outputs)
        return (f'func.func @main(%x: {self.type(self.x[1])} {{nn.name = "x"}}) -> ({types}) {{\n  {body}\n'
                f"  return {names} : {plain}\n}}\n")


class HalfRange(Cli):
    def check(self, title, graph, *outputs, tolerance=4e-3):
        path, x = self.path(f"{title}.mlir"), self.path(f"{title}.npy")
        with open(path, "w") as file:
            file.write(graph.text(*outputs))
        np.save(x, graph.x[1].astype(np.float16))
        for mode in MODES:
            got = self.outputs(path, "-i", f"x={x}", *mode)
            for i, (_, expected) in enumerate(outputs):
                with self.subTest(title, mode=" ".join(mode), output=i):
                    self.compare(got[f"y{i}"], expected, tolerance)
        package = self.path(f"{title}.lathe")
        self.lathe("compile", path, "--references-only", "-o", package)
        for i, (_, expected) in enumerate(outputs):
            with self.subTest(title, mode="--references-only", output=i):
                self.compare(self.outputs(package, "-i", f"x={x}")[f"y{i}"], expected, tolerance)
        with self.subTest(title, mode="verify"):
            self.lathe("verify", path, "-i", f"x={x}", "--seeds", "0")

    def compare(self, got, expected, tolerance):
        with np.errstate(over="ignore"):
            rounded = expected.astype(np.float16).astype(np.float64)  # an output has the range of its type
        got = got.astype(np.float64)
        self.assertEqual(np.isinf(rounded).tolist(), np.isinf(got).tolist(), (got, rounded))
        finite = np.isfinite(rounded)
        if finite.any():
            largest = max(np.abs(rounded[finite]).max(), 1e-30)
            self.assertLess(np.abs(got - rounded)[finite].max(), tolerance * largest, (got, rounded))

    def graph(self, seed=1, scale=300.0, shape=SHAPE):
        rng = np.random.default_rng(seed)
        return Graph((rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape) * scale).astype(np.float16).astype(np.float64))

    def test_squares_between_kernels(self):
        g = self.graph()
        square = g.binary("mul", g.x, g.x)
        self.check("square", g, g.binary("div", g.x, g.unary("sqrt", square)))

    def test_norms_that_are_written_out(self):
        for exponent in (True, False):
            g = self.graph()
            square = g.binary("pow", g.x, g.number(2)) if exponent else g.binary("mul", g.x, g.x)
            root = g.unary("sqrt", g.binary("add", g.reduce("mean", square), g.number(1e-5)))
            scale = g.constant(np.linspace(0.5, 2, SHAPE[1]))
            self.check(f"rms{exponent}", g, g.binary("mul", scale, g.binary("div", g.x, root)))
        g = self.graph(scale=2000)
        centred = g.binary("sub", g.x, g.reduce("mean", g.x))
        variance = g.reduce("mean", g.binary("pow", centred, g.number(2)))
        root = g.unary("sqrt", g.binary("add", variance, g.number(1e-5)))
        scaled = g.binary("mul", g.binary("div", centred, root), g.constant(np.linspace(0.5, 2, SHAPE[1])))
        self.check("layernorm", g, g.binary("add", scaled, g.constant(np.linspace(-1, 1, SHAPE[1]))))

    def test_outputs_round(self):
        g = self.graph()
        square = g.binary("mul", g.x, g.x)
        self.check("rounds", g, square, g.unary("sqrt", square))
        self.assertTrue((np.abs(square[1]) > 65504).any())

    def test_sums_and_products(self):
        rng = np.random.default_rng(3)
        g = self.graph(scale=30000)
        total = g.reduce("sum", g.unary("abs", g.x))
        self.check("sum", g, g.binary("div", g.x, total))
        g = self.graph(scale=40000)
        self.check("double", g, g.binary("mul", g.binary("add", g.x, g.x), g.number(0.25)))
        g = self.graph()
        self.check("scores", g, g.binary("div", g.matmul(g.x, g.transpose(g.x)), g.number(1000)))
        g = self.graph()
        product = g.matmul(g.x, g.constant(rng.uniform(-100, 100, (SHAPE[1], 24))))
        self.check("weights", g, g.binary("div", product, g.reduce("max", g.unary("abs", product))))
        g = self.graph()
        product = g.matmul(g.binary("mul", g.x, g.x), g.constant(np.full((SHAPE[1], 8), 1 / SHAPE[1])))
        self.check("mean_by_product", g, g.unary("sqrt", product))

    def test_convolutions(self):
        rng = np.random.default_rng(4)
        g = self.graph(shape=(1, 8, 20))
        y = g.conv(g.x, g.constant(rng.uniform(-100, 100, (40, 8, 1))))
        y = g.conv(g.unary("relu", y), g.constant(rng.uniform(-1e-3, 1e-3, (8, 40, 1))))
        self.check("convolutions", g, y)

    def test_small_divisors(self):
        g = self.graph(scale=2e-3)
        square = g.binary("mul", g.x, g.x)
        total = g.reduce("sum", square)
        self.check("small", g, g.binary("div", square, total))
        g = self.graph(scale=12)
        self.check("log", g, g.unary("log", g.reduce("mean", g.unary("exp", g.unary("neg", g.unary("abs", g.x))))))

    def test_constants_fold_in_the_range_of_float32(self):
        g = self.graph()
        c = g.constant(np.full((1, SHAPE[1]), 300))
        self.check("constants", g, g.binary("div", g.x, g.unary("sqrt", g.binary("mul", c, c))))

    def test_random_chains(self):
        for seed in range(100, 104):
            rng = np.random.default_rng(seed)
            g = self.graph(seed)
            values = [g.x]
            for _ in range(6):
                a, b = (values[rng.integers(len(values))] for _ in range(2))
                kind = rng.integers(6)
                y = (g.binary("mul", a, b) if kind == 0 else g.binary("add", a, b) if kind == 1
                     else g.reduce("sum", a) if kind == 2 else g.unary("abs", a) if kind == 3
                     else g.binary("max", a, b) if kind == 4 else g.binary("mul", a, g.number(rng.uniform(-40, 40))))
                if np.abs(y[1]).max() < 1e30:  # within float32
                    values.append(y)
            last = values[-1]
            # Back into the range of an output. Of operands of one sign sums lose no digits.
            scaled = g.binary("div", last, g.binary("add", g.reduce("max", g.unary("abs", last)), g.number(1)))
            print("seed", seed)
            self.check(f"chain{seed}", g, scaled, tolerance=2e-2)


if __name__ == "__main__":
    main()
