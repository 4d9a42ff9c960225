"""Help, exit codes, one-line errors, figures with units: what holds of every verb."""
import json
import os
import re
import subprocess

from fixture import LATHE, Cli, main


class Usage(Cli):
    def test_help_of_every_verb_has_examples(self):
        verbs = re.findall(r"^  ([a-z-]+) {2,}", self.lathe("--help").stdout, re.M)
        self.assertGreater(len(verbs), 20)
        for verb in verbs:
            text = self.lathe(verb, "--help").stdout
            self.assertIn("Examples:", text)
            self.assertIn(f"lathe {verb}", text)
            self.assertIn("Exit code", text)

    def test_version(self):
        self.assertRegex(self.lathe("--version").stdout, r"^lathe \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_one_line_and_code_2(self):
        self.error("frobnicate", says="no verb is called 'frobnicate'")
        self.error("run", says="MODEL")
        self.error("inspect", self.net, "--colour", says="--colour")
        self.error("run", "--fil", "zeros", self.net, says=r"^lathe run: --fil was not expected \(did you mean '--fill'\?\) \(see lathe run --help\)$")
        self.error("inspect", self.net, "other.onnx", says="other.onnx")
        self.error("compile", self.net, says="-o")
        self.error("compile", self.net, "-O", "7", "-o", self.path("x.lathe"), says="7")
        self.error("bench", self.package, "--repetitions", "many", says="many")
        self.lathe(code=2)

    def test_models_that_are_none(self):
        self.error("inspect", self.path("absent.onnx"), says="absent.onnx.*No such file")
        self.error("inspect", self.folder.name, says="is a folder without saved_model.pb, expected a model")
        for verb in ("check", "inspect", "run"):
            self.error(verb, "/dev/zero", says="/dev/zero: expected a file, got a device")
        for name, content in [("empty.onnx", b""), ("noise.onnx", bytes(range(256)) * 8), ("text.mlir", b"func.func @main( {")]:
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.error("inspect", self.path(name), says=name)
            self.error("run", self.path(name), "--fill", "ones", says=name)
        with open(self.path("control.mlir"), "wb") as file:
            file.write(b"func.func @main(\x01")
        for verb in ("inspect", "run", "check"):
            self.error(verb, self.path("control.mlir"), says="control.mlir: line 1: ")
        self.error("inspect", "zoo:nonsense", says="nonsense")
        with open(self.path("big.onnx"), "wb") as file:
            file.truncate(1 << 40)
        for verb in ("check", "run", "verify"):
            self.error(verb, self.path("big.onnx"), says="big.onnx: has 1099511627776 bytes, expected at most 2 GB")

    def test_surroundings(self):
        model = self.path("whole.onnx")
        self.lathe("zoo", "squeezenet", "-o", model)
        for stream in (0, 1, 2):
            result = subprocess.run(["sh", "-c", f'exec "$@" {stream}>&-', "sh", LATHE, "extract", model, "-o", self.path("part.onnx")],
                                    capture_output=True, text=True, timeout=60)
            self.assertIn(result.returncode, (0, 1, 2), f"stream {stream}: {result.stderr}")
        limited = subprocess.run(["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", LATHE, "zoo", "squeezenet", "-o", self.path("limited.onnx")],
                                 capture_output=True, text=True, timeout=60)
        self.assertEqual(limited.returncode, 2, limited.stderr)
        self.assertEqual(len(limited.stderr.strip().splitlines()), 1, limited.stderr)
        self.assertFalse(os.path.exists(self.path("limited.onnx")))

    def test_outputs_that_cannot_be_written(self):
        self.error("compile", self.net, "-o", self.path("no/such/folder/x.lathe"), says="cannot write")
        self.error("compile", self.net, "-o", self.folder.name, says="cannot write.*directory")
        self.error("inspect", self.net, "--json", self.path("no/such/x.json"), says="cannot write")
        self.error("run", self.package, "--fill", "ones", "-o", self.path("no/such/x.npz"), says="x.npz")

    UNITS = re.compile(r"(_ms|_us|_s|_bytes|_cycles|flops|_gb_s|ratio|_share|share|count|_error|_tolerance|index|threads|kernels|"
                       r"conversions|parameters|seed|batch|repetitions|opset|not_finite|min|max|mean|cores|shared_by|flops_per_run)$")

    def check_units(self, document, key="", place=""):
        if isinstance(document, dict):
            for name, value in document.items():
                self.check_units(value, name, f"{place}.{name}")
        elif isinstance(document, list):
            for value in document:
                self.check_units(value, key, place)
        elif isinstance(document, (int, float)) and not isinstance(document, bool):
            if key not in ("dims", "count"):
                self.assertRegex(key, self.UNITS, f"{place} has no unit in its key")

    def test_every_figure_has_a_unit(self):
        for arguments in [("inspect", self.net), ("check", self.net), ("compile", self.net, "-o", self.path("j.lathe")),
                          ("run", self.package, "--fill", "random"), ("verify", self.net),
                          ("bench", self.package, "--repetitions", "3")]:
            with self.subTest(arguments[0]):
                self.check_units(self.figures(*arguments))

    def test_json_on_standard_output_stands_alone(self):
        for arguments in [("inspect", self.net), ("bench", self.package, "--repetitions", "3")]:
            json.loads(self.lathe(*arguments, "--json", "-").stdout)


if __name__ == "__main__":
    main()
