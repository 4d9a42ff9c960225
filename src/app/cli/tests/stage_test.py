"""`lathe stage`: a model as source. Arguments behind the program: the folders of the source and of the build, a C++ compiler."""
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE, BUILD, CXX = [sys.argv.pop(2) for _ in range(3)]

from fixture import Cli, main  # noqa: E402 (takes its own argument)

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.join(SOURCE, "python"), "PYTHONDONTWRITEBYTECODE": "1",
               "LATHE_LIBRARY_DIR": os.path.join(BUILD, "lib")}

# Names that no language likes: quotes, line ends, keywords, a text direction mark, an end of a comment, an empty scope, a macro.
# The zero of %5 has another sign than the default.
HOSTILE = r'''
func.func @main(%a: tensor<?x4xf32> {nn.name = "def", nn.dims = ["N", "4"]}, %b: tensor<2x4xf32> {nn.name = "\22; import os\0A#"},
    %c: tensor<2x4xf32> {nn.name = "net"}, %d: tensor<2x4xf32> {nn.name = "NAN"}) -> (tensor<?x4xf32> {nn.name = "return */ \5C"}, tensor<2x4xf32> {nn.name = "\E2\80\AEtxt"},
    tensor<2x4xf32> {nn.name = "class"}) {
  %w = nn.constant {value = dense<[0.5, 1.5, 2.5, 3.5]> : tensor<4xf32>} : tensor<4xf32> loc("while\22\0A (initializer)")
  %v = nn.constant {value = dense<[0.25, 1.5, 2.5, 3.5]> : tensor<4xf32>} : tensor<4xf32> loc("__metadata__ (initializer)")
  %i = nn.constant {value = dense<[0x7FC00001, 0xFF800000, 0x80000000, 0x00000001]> : tensor<4xf32>} : tensor<4xf32>
  %0 = nn.add %a, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> loc("f\22\22\22{x}\5C (Add)")
  %1 = nn.clip %0 {operandSegmentSizes = array<i32: 1, 0, 0>, min = 0xFFF0000000000000 : f64, max = 1.0000000000000002 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32> loc("*/ \3F\3F/ (Clip)")
  %2 = nn.mul %b, %v : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> loc("lambda (Mul)")
  %3 = nn.add %2, %i : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> loc("'; DROP TABLE nodes; -- (Add)")
  %4 = nn.add %c, %d : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> loc("a.\C3\A9\00b (Add)")
  %5 = nn.pad %4 {operandSegmentSizes = array<i32: 1, 0, 0>, pads = array<i64: 0, 0, 0, 0>, value = -0.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1, %3, %5 : tensor<?x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
'''

# Two branches, and a loop whose body reads a value from outside and has a loop of its own.
CONTROL = '''
module {
  func.func @main(%x: tensor<2xf32> {nn.name = "x"}, %c: tensor<i1> {nn.name = "c"}, %n: tensor<i64> {nn.name = "n"})
      -> (tensor<2xf32> {nn.name = "y"}, tensor<?x2xf32> {nn.name = "all"}) {
    %0 = nn.if %c, %x {then_body = @build, else_body = @def} : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
    %1:2 = nn.loop %n, %c, %0, %x {body = @turn, carried = 1 : i64}
      : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>)
    return %1#0, %1#1 : tensor<2xf32>, tensor<?x2xf32>
  }
  module @build {
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  }
  module @def {
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.constant {value = dense<[1.5, -3.0]> : tensor<2xf32>} : tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  }
  module @turn {
    func.func @main(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<2xf32>, %x: tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>, tensor<2xf32>) {
      %0 = nn.add %s, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %1 = nn.loop %i, %c, %0 {body = @turn, carried = 1 : i64} : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
      return %c, %1, %0 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
    }
    module @turn {
      func.func @main(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>) {
        %0 = nn.neg %s : (tensor<2xf32>) -> tensor<2xf32>
        return %c, %0 : tensor<i1>, tensor<2xf32>
      }
    }
  }
}
'''


class Stage(Cli):
    def command(self, *words, code=0):
        done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def python(self, source, written):
        self.command(sys.executable, source, written)
        return written

    def cpp(self, source, written):
        program = self.path("program")
        self.command(CXX, "-std=c++20", "-Wall", "-Werror", "-Wno-unused-variable", "-Wno-error=unused-but-set-variable", f"-I{SOURCE}/include",
                     f"-I{BUILD}/include", source, "-o", program, f"-L{BUILD}/lib", "-llathe_compiler", f"-Wl,-rpath,{BUILD}/lib")
        self.command(program, written)
        return written

    def canonical(self, model):
        return self.lathe("inspect", model, "--canonical").stdout

    def text(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def model(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def check(self, model, cpp=True):
        expected = self.canonical(model)
        for ending, run in ((".py", self.python), (".cpp", self.cpp))[:1 + cpp]:
            with self.subTest(model=model, ending=ending):
                source = self.path("staged" + ending)
                self.lathe("stage", model, "-o", source)
                self.assertTrue(self.text(source).isascii())
                self.assertEqual(self.canonical(run(source, self.path("staged.mlir"))), expected)

    def test_small_network(self):
        self.check(self.net, cpp=False)
        for _ in range(2):  # also of the source of its own output
            self.lathe("stage", self.net, "-o", self.path("n.py"))
            written = self.python(self.path("n.py"), self.path("n.mlir"))
            self.net = written

    def test_hostile_names(self):
        self.check(self.model("hostile.mlir", HOSTILE))
        self.assertIn("'; DROP TABLE nodes; -- (add)", self.text(self.path("staged.mlir")))  # the canonical text has no names

    def test_control_flow(self):
        self.check(self.model("control.mlir", CONTROL))

    def test_layouts_and_late_extents(self):
        """The graph behind the passes has layouts, and symbols of extents that only a run knows."""
        late = self.model("late.mlir", """func.func @main(%x: tensor<6xf32> {nn.name = "x"}) -> (tensor<?xf32> {nn.name = "y"}) {
            %0 = nn.non_zero %x {nn.extents = ["", "found"]} : (tensor<6xf32>) -> tensor<1x?xi64>
            %1 = nn.cast %0 {to = f32} : (tensor<1x?xi64>) -> tensor<1x?xf32>
            %2 = nn.reshape %1 {shape = array<i64: -1>} : (tensor<1x?xf32>) -> tensor<?xf32>
            return %2 : tensor<?xf32>\n}""")
        graph = self.path("graph.mlir")
        self.lathe("compile", self.net, "--emit", "graph", "--layout", "blocked", "-o", graph)
        for model, sign in ((graph, "#nn.blocked<"), (late, '"found"')):
            self.assertIn(sign, self.canonical(model))
            self.check(model)

    def test_one_function_for_sixteen_blocks_and_an_edit_of_one_line(self):
        source = self.path("r50.py")
        said = self.figures("stage", "zoo:resnet50", "-o", source)
        text = self.text(source)
        self.assertLess(len(text.splitlines()), 150)
        self.assertEqual(said["lines"], len(text.splitlines()))
        blocks = re.findall(r'def (\w+)\(net, x, y, .*:\n    """16 occurrences', text)
        self.assertEqual(len(blocks), 1, text)
        head = re.search(rf"def {blocks[0]}\(.*\n    \"\"\".*\n", text)[0]
        edit = '    if net.prefix.startswith("layer3."): net.relu = net.hard_swish\n'
        edited = self.model("edited.py", text.replace(head, head + edit))
        shutil.copy(self.path("r50.safetensors"), self.path("edited.safetensors"))
        before = self.canonical(self.python(source, self.path("r50.mlir"))).count("= relu(")
        after = self.canonical(self.python(edited, self.path("edited.mlir")))
        self.assertEqual(before - after.count("= relu("), 18)  # three in each of six blocks
        self.assertEqual(after.count("= hard_swish("), 18)

    def test_flat(self):
        source = self.path("flat.py")
        self.lathe("stage", "zoo:squeezenet", "-o", source, "--flat")
        self.assertNotIn("occurrences", self.text(source))
        self.assertEqual(self.canonical(self.python(source, self.path("flat.mlir"))), self.canonical("zoo:squeezenet"))

    def test_program_of_the_source(self):
        source = self.path("small.py")
        self.lathe("stage", self.net, "-o", source)
        package = self.path("direct.lathe")
        self.python(source, package)
        expected, got = self.path("expected.npz"), self.path("got.npz")
        self.lathe("run", self.net, "--fill", "random", "-o", expected)
        self.lathe("run", package, "--fill", "random", "-o", got)
        with open(expected, "rb") as a, open(got, "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.assertIn("usage", self.command(sys.executable, source, code=2))
        self.assertIn("usage", self.command(sys.executable, source, "net.txt", code=2))
        os.rename(self.path("small.safetensors"), self.path("elsewhere.safetensors"))
        self.assertIn("small.safetensors", self.command(sys.executable, source, self.path("n.mlir"), code=2))
        self.command(sys.executable, source, self.path("n.mlir"), self.path("elsewhere.safetensors"))
        self.assertIn("wrong", self.command(sys.executable, self.model("wrong.py", self.text(source).replace('"conv1"', '"wrong"')
                                                                       .replace("pads=[1, 1, 1, 1]", "pads=[1, 1, 1]", 1)),
                                            self.path("n.mlir"), self.path("elsewhere.safetensors"), code=2))

    def test_mistakes_in_a_source_are_one_line(self):
        for statement, says in (("net.relux(x)", "there.py, line 5: a graph has no operator 'relux' (did you mean 'relu'?)"),
                                ("net.leaky_relu(x, alpa=3)", "there.py, line 5: leaky_relu has no argument 'alpa' (did you mean 'alpha'?); "
                                                              "it takes x, alpha, name, types, extents"),
                                ("net.relu(q)", "there.py, line 5: NameError: name 'q' is not defined"),
                                ("net.relu(x, types='abc')", "there.py, line 5: types 'abc': expected a list, one type each"),
                                ("net.input('z', 'f32', 'abc')", "there.py, line 5: extents 'abc': expected a list, one extent each")):
            source = self.model("there.py", "from lathe.builder import main\n\ndef build(net):\n    x = net.input('x', 'f32', [4])\n"
                                f"    net.output('y', {statement})\n\nmain('n', build, __file__, None)\n")
            self.assertEqual(self.command(sys.executable, source, self.path("n.mlir"), code=2), f"error: {says}\n")

    def test_mistakes(self):
        self.error("stage", self.net, "-o", self.path("net.txt"), says=r"expected a name that ends in .py .Python. or .cpp")
        kernels = self.path("kernels.mlir")
        self.lathe("compile", self.net, "--emit", "kernels", "-o", kernels)
        self.error("stage", kernels, "-o", self.path("kernels.py"), says="kernels level")
        self.error("inspect", kernels, "--canonical", says="kernels level")
        self.assertFalse(os.path.exists(self.path("kernels.py")))


if __name__ == "__main__":
    main()
