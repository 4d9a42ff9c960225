"""`lathe compare`: models of every format, other files as sides, layouts."""
import os

from fixture import PEER, Cli, main, network


def channels_last(text):
    """The network with its input as pixels of an image: the channels behind the rows and columns."""
    text = text.replace('%data: tensor<1x3x12x12xf32> {nn.name = "data"}', '%pixels: tensor<1x12x12x3xf32> {nn.name = "pixels"}')
    moved = "  %data = nn.transpose %pixels {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x12x12x3xf32>) -> tensor<1x3x12x12xf32>\n"
    head, body = text.split("{\n", 1)
    return head + "{\n" + moved + body.replace('"prob"', '"scores"')


class Compare(Cli):
    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def check(self, *arguments, code=0):
        return self.figures("compare", *arguments, "--check-only", "--no-store", code=code)

    def test_onnx_runtime_runs_the_export(self):
        if not os.path.isdir(PEER):
            print("ONNX RUNTIME IS NOT INSTALLED (make peers): it runs no export")
            return
        figures = self.check(self.net, "--with", "onnxruntime")
        self.assertTrue(figures["agrees"])
        self.assertEqual(figures["sides"][1]["notes"], ["runs the export of net.mlir as ONNX"])
        self.assertIn("onnxruntime: runs the export of net.mlir as ONNX",
                      self.lathe("compare", self.net, "--check-only", "--no-store").stdout)

    def test_another_file_is_a_side(self):
        same, other = self.write("same.mlir", network()), self.write("other.mlir", network(2))
        figures = self.check(self.net, "--with", same)
        self.assertEqual([side["name"] for side in figures["sides"]], ["lathe", "same.mlir"])
        self.assertTrue(figures["agrees"])
        figures = self.check(self.net, "--with", f"{same},{other},reference", code=1)
        self.assertEqual([peer["agrees"] for peer in figures["peers"]], [True, False, True])
        figures = self.figures("compare", self.net, "--with", same, "--max-rounds", "2", "--max-seconds", "2", "--no-store")
        self.assertGreater(figures["peers"][0]["ratio"], 0)
        self.assertTrue(self.check(self.package, "--with", self.package)["agrees"])

    def test_layouts_are_adapted_on_request(self):
        last = self.write("last.mlir", channels_last(network()))
        said = self.error("compare", self.net, "--with", last, "--check-only", "--no-store", says="--adapt-layouts")
        for part in ("'pixels'", "1x12x12x3", "'data'", "1x3x12x12"):
            self.assertIn(part, said)
        figures = self.check(self.net, "--with", last, "--adapt-layouts")
        self.assertTrue(figures["agrees"])
        self.assertEqual(figures["sides"][1]["notes"], ["input 'pixels' takes 'data', transposed from 1x3x12x12 to 1x12x12x3"])
        self.assertTrue(self.check(last, "--with", self.net, "--adapt-layouts")["agrees"])
        wide = self.write("wide.mlir", network().replace("1x3x12x12", "1x3x14x14").replace("x12x12", "x14x14"))
        self.error("compare", self.net, "--with", wide, "--check-only", "--no-store", says="not the same network")

    def test_a_float_and_an_int8_file(self):
        """Both get the same real numbers; outputs are compared as such."""
        real = self.write("real.mlir", 'func.func @main(%x: tensor<2x9xf32> {nn.name = "x"}) -> (tensor<2x9xf32> {nn.name = "y"}) {\n'
                          "  %y = nn.relu %x : (tensor<2x9xf32>) -> tensor<2x9xf32>\n  return %y : tensor<2x9xf32>\n}\n")
        text = ('func.func @main(%x: tensor<2x9xi8> {nn.name = "x", nn.quantization = "0.0078125 * (q - ZERO)"})\n'
                '    -> (tensor<2x9xi8> {nn.name = "OUT", nn.quantization = "0.0078125 * (q - ZERO)"}) {\n'
                "  %z = nn.constant {value = dense<ZERO> : tensor<i8>} : tensor<i8>\n"
                "  %y = nn.max %x, %z : (tensor<2x9xi8>, tensor<i8>) -> tensor<2x9xi8>\n  return %y : tensor<2x9xi8>\n}\n")
        integer = self.write("integer.mlir", text.replace("ZERO", "-3").replace("OUT", "scores"))
        bounds = ["--relative", "0.02", "--maximum", "0.02"]
        for ours, theirs in (real, integer), (integer, real):
            figures = self.check(ours, "--with", theirs, *bounds)
            self.assertTrue(figures["agrees"])
            self.assertIn("has other types: quantised inputs and outputs are compared as real numbers", figures["sides"][1]["notes"])
            self.assertGreater(figures["peers"][0]["outputs"][0]["relative_l2"] if ours == real else 1, 1e-4)
        self.assertFalse(self.check(real, "--with", integer, code=1)["agrees"])
        self.assertNotIn("notes", self.check(integer, "--with", integer)["sides"][1])

    def test_errors_name_the_models(self):
        short = self.write("short.mlir", 'func.func @main(%a: tensor<4xf32> {nn.name = "a"}, %b: tensor<4xf32> {nn.name = "b"}) -> (tensor<4xf32> {nn.name = "c"}) {\n'
                           "  %0 = nn.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n")
        said = self.error("compare", self.net, "--with", short, "--check-only", "--no-store", says="not the same network")
        for part in (f"{self.net} has inputs", f"{short} has"):
            self.assertIn(part, said)
        self.assertNotIn(".lathe", said)

    def test_what_is_no_side(self):
        self.error("compare", self.net, "--with", "nothing", says="unknown runner 'nothing'.*tensorflowjs")
        self.error("compare", self.net, "--with", self.path("absent.keras"), says="absent.keras: cannot read")
        self.error("compare", self.package, "--with", self.net, says="only other packages can be compared with it")
        wrong = self.write("wrong.lathe", "text")
        self.error("compare", self.net, "--with", wrong, says="wrong.lathe: is not a package")


if __name__ == "__main__":
    main()
