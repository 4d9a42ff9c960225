"""`lathe verify`: verdicts, where a network diverges first, outputs nobody should trust."""
import shlex

from fixture import Cli, main, network


class Verify(Cli):
    def test_verify_passes_and_remembers(self):
        report = self.figures("verify", self.net)
        self.assertTrue(report["passed"])
        self.assertLess(report["relative_error"], 1e-5)
        self.assertTrue(self.figures("bench", self.net, "--repetitions", "3")["verified"])

    def test_verify_names_the_first_diverging_node(self):
        # One weight, one pad, one stride: each must be found, and where.
        text = network()
        for title, old, new in [("weight", "dense<[0.1, -0.2", "dense<[0.9, -0.2"),
                                ("relu", "nn.relu %3", "nn.abs %3")]:
            mutant = self.path("mutant.mlir")
            with open(mutant, "w") as file:
                file.write(text.replace(old, new))
            package = self.path("mutant.lathe")
            self.lathe("compile", mutant, "-o", package)
            with self.subTest(title):
                report = self.figures("verify", self.net, "--package", package, code=1)
                self.assertFalse(report["passed"])
                self.assertIn(report["first_diverging_node"], {"weight": ["conv1", "relu1"], "relu": ["relu2", "add2"]}[title])
                # The command it prints cuts that kernel out, and the cut alone is right.
                command = shlex.split(report["extract_command"])
                self.assertEqual(command[:3], ["lathe", "extract", self.net])
                cut = self.path("diverging.onnx")
                command[command.index("-o") + 1] = cut
                self.lathe(*command[1:])
                self.lathe("verify", cut, "-i", self.path("diverging.inputs"), "--seeds", "0")

    def test_outputs_nobody_should_trust(self):
        path = self.path("zero.mlir")
        with open(path, "w") as file:
            file.write("""func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
              %0 = nn.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              return %0 : tensor<4xf32> }""")
        said = self.lathe("verify", path, code=1).stdout
        self.assertIn("mistrusted", said)
        self.assertRegex(said, r"output 'y' .* is all zero: first all zero in node '.*' \(sub\)")
        self.assertIn("mistrusted", self.lathe("bench", path, code=1).stderr)


if __name__ == "__main__":
    main()
