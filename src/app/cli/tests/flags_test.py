"""A flag that cannot be honoured is an error: every verb, every flag, every kind of model."""
import re

import numpy as np

from fixture import Cli, field, main, onnx_model, onnx_node

# A value for each flag of MODEL, by what it is about.
COMPILE = {"--target": ["x86-64-v3"], "--machine": ["nowhere.json"], "-O": ["2"], "--layout": ["nhwc"], "--exact-math": [], "--references-only": [], "--memory": ["small"], "--streams": ["auto"], "--precision": ["bf16"],
           "--schedule": ["nowhere.txt"], "--optimize-for": ["N=2"]}
VARIANTS = {"--specialize": ["N=2"], "--range": ["N=1..2"]}  # of verbs that make a package
CODE = {"--no-cache": [], "--no-records": []}
SHAPE = {"--shape": ["x=1x4"]}
IMPORT = {"--override": ["s"], "--requantize-rounding": ["optimised"], "--signature": ["serving_default"], "--custom": ["Scale=nowhere.mlir"]}
PICTURES = ["--random-crops", "--seed", "--preprocess", "--fit", "--resize", "--pixel-range", "--mean", "--std", "--channels", "--input-layout", "--input-scale", "--input-zero-point"]
ZOO = {"--zoo-seed": ["3"], "--zoo-batch": ["2"], "--zoo-sequence": ["5"]}
THREADS = {"--threads": ["2"]}
INPUTS = {"--input": ["x.npy"], "--fill": ["ones"], "--seed": ["1"], "--batch": ["2"]}
RECORD = ["--store", "--no-store", "--tag", "--note", "--name"]
RESOURCES = ["--cpus", "--memory-node", "--frequency-cap", "--cache-share"]
SELECT = ["--task", "--family", "--cpu", "--platform"]

# What each verb does with MODEL.
GRAPH, KERNELS, COMPILES, RUNS = range(4)
CHOOSES_SCHEDULES = ["--references-only", "--schedule", "--no-records", "--optimize-for"]  # not of `tune`, whose search does
USE = {"diff-models": GRAPH, "export": GRAPH, "stage": GRAPH, "extract": GRAPH, "inspect": KERNELS, "check": KERNELS, "ops problems": KERNELS, "compile": COMPILES, "predict": COMPILES, "segments": COMPILES, "tune": COMPILES, "quantize": COMPILES,
       "run": RUNS, "evaluate": RUNS, "bench": RUNS, "profile": RUNS, "compare": RUNS, "verify": RUNS}
WITH_INPUTS = ["run", "bench", "profile", "compare", "verify", "extract", "segments"]
NEEDED = {"diff-models": ["model.onnx"], "export": ["-o", "whole.onnx"], "stage": ["-o", "net.py"], "extract": ["--to", "conv1", "-o", "cut.onnx"], "compile": ["-o", "x.lathe"], "verify": ["--model", "model.onnx"],
          "compare": ["--with", "other.lathe"], "tune": ["--list-tasks"], "quantize": ["-o", "q.onnx"], "evaluate": ["--data", "pictures"]}

BESIDE = ["--beside", "--beside-threads", "--beside-place", "--beside-runs"]

# Flags of single verbs. Each stands here once it is either honoured with every other flag, or among the conflicts below.
OWN = {"check": ["--strict", "--layouts", "--quiet"], "inspect": ["--blocks", "--canonical", "--layouts", "--quiet"], "diff-models": ["--other-shape", "--other-signature", "--tolerance", "--all", "--values", "--seed", "--input", "--batch", "--fill"],
       "compile": ["--output", "--emit", "--explain", "--export-space", "--points", "--seed", "--layouts", "--jobs", "--store", "--quiet", *BESIDE],
       "predict": ["--points", "--rows", "--store", "--quiet"],
       "run": ["--output", "--print-top", "--reference", "--dequantize", "--steps", "--state", "--store", "--quiet"], "bench": ["--instances", "--repetitions", "--warm-up", "--max-seconds", "--interval", "--quiet", *RECORD, *RESOURCES],
       "profile": ["--until", "--repetitions", "--trace", "--trace-events", "--html", "--svg", "--wide", "--no-check", "--quiet", *RECORD],
       "verify": ["--package", "--model", "--seeds", "--steps", "--state", "--output", "--all", "--relative", "--maximum", "--store", "--quiet"],
       "export": ["--output", "--quiet"], "stage": ["--output", "--flat", "--quiet"], "extract": ["--from", "--to", "--node", "--output", "--inputs", "--quiet"],
       "segments": ["--with", "--checkpoints", "--at", "--list", "--repeat", "--max-seconds", "--quiet", *RECORD],
       "compare": ["--with", "--tflite-library", "--adapt-layouts", "--check-only", "--max-seconds", "--starts", "--max-rounds", "--relative", "--maximum", "--quiet", *RECORD],
       "corun": ["--policy", "--payoff", "--weights", "--batch", "--instances", "--margin", "--max-measurements", "--fresh", "--processes", "--window", "--least-runs", "--starts", "--max-seconds", "--seed", "--check-constants",
                 "--quiet", *RECORD, *RESOURCES],
       "tune": ["--trials", "--budget", "--early-stopping", "--margin", "--searcher", "--seed", "--tasks", "--list-tasks", "--evaluate-model", "--train-model", "--start-model", "--export-space", "--points", "--problem", "--suite", "--problems",
                "--all", "--max-seconds", "--again", "--via", "--via-directory", "--compare", "--output", "--quiet", *RECORD, *BESIDE],
       "quantize": ["--output", "--calibration", "--samples", "--calibrate-method", "--percentile", "--activation-type", "--activation-symmetric",
                    "--per-tensor", "--reduce-range", "--dynamic", "--weights", "--block", "--zero-points", "--equalize", "--bias-correction", "--nodes-to-exclude", "--max-drop", "--min-cosine",
                    "--only-faster", *RECORD, "--quiet", *PICTURES],
       "evaluate": ["--data", "--tflite-library", "--labels", "--skip-unreadable", "--against", "--confusion", *RECORD, "--quiet", *PICTURES],
       "sweep": [*SHAPE, *IMPORT, *ZOO, "--exact-math", "--memory", "--precision", "--no-records", "--with", "--against", "--tflite-library", "--html", "--markdown", "--levels", "--layouts", "--target", "--threads", "--input",
                 "--fill", "--data", "--labels", "--skip-unreadable", "--max-seconds", "--starts", "--quiet", *RECORD, *RESOURCES, *PICTURES],
       "ops problems": ["--csv", "--quiet"], "machine": ["--refresh", "--threads", "--quiet"],
       "zoo": ["--output", "--batch", "--dynamic-batch", "--sequence", "--seed", "--list", "--quiet"],
       "ops bench": ["--suite", "--problems", "--from-model", "--provider", "--threads", "--type", "--batch", "--cache", "--layout", "--schedule",
                     "--epilogue", "--repetitions", "--starts", "--max-starts", "--max-seconds", "--max-minutes", "--timeout", "--memory-limit",
                     "--seed", "--check-only", "--list", "--dry-run", "--via", "--via-directory", "--fresh", "--log", "--quiet", *RECORD, *RESOURCES, *BESIDE],
       "ops analyze": ["--store", "--experiment", "--kind", "--tag", "--operator", "--provider", "--threads", "--what", "--baseline", "--from-model",
                       "--suite", "--problems", "--epilogue", "--measured-ms", "--rows", "--wide"],
       "ops diff": ["--fail-on", "--all", "--rows", "--store"],
       "serve": ["--store", "--port", "--host", "--token", "--open"],
       "report": ["--store", "--experiment", "--kind", "--tag", "--operator", "--provider", "--output", "--svg", "--title", "--baseline", "--from-model",
                  "--suite", "--problems", "--epilogue"],
       "store path": ["--store"], "store list": ["--store", "--kind", "--tag"], "store show": ["--store"],
       "store tag": ["--store", "--remove"], "store note": ["--store"], "store name": ["--store"],
       "records list": [*SELECT, "--status", "--rows", "--store", "--shipped"], "records best": [*SELECT, "--rows", "--store", "--shipped"],
       "records export": [*SELECT, "--status", "--store"], "records import": ["--store"], "records merge": [],
       "records prune": [*SELECT, "--keep", "--failures", "--other-versions", "--dry-run", "--store"], "records ship": ["--store"],
       "store export": ["--format", "--samples", "--store", "--experiment", "--kind", "--tag", "--operator", "--provider"],
       "store import": ["--format", "--store"], "store merge": [], "store trend": ["--experiment", "--kind", "--tag", "--operator", "--provider", "--variant", "--store", "--csv"], "completion": []}
MAY_HAVE = ["--wide", "--quiet"]  # flags of tables and progress, which never change a figure
WITHOUT_JSON = ["store path", "serve", "completion"]

# Command lines in which one flag leaves another nothing to do. The flag that the error names comes first.
# No word of these commands holds a blank.
CONFLICTS = [
    ("--blocks", "inspect MODEL --canonical --blocks", "canonical text"),
    ("--specialize N=2", "compile MODEL --emit graph --specialize N=2", "no package is made"),
    ("--range N=1..2", "compile MODEL --explain conv1 --range N=1..2", "no package is made"),
    ("--layout nhwc", "compile MODEL -o x.lathe --references-only --layout nhwc", "makes no code"),
    ("--layouts", "compile MODEL --emit graph --layouts", "no package"),
    ("--layouts", "compile MODEL --explain conv1 --layouts", "no package"),
    ("--layouts", "compile MODEL --export-space x.json --layouts", "no package"),
    ("--layout nhwc", "inspect MODEL --layout nhwc", "only --layouts compiles"),
    ("-O 2", "inspect MODEL -O 2", "only --layouts compiles"),
    ("--threads 2", "inspect MODEL --threads 2", "only --layouts compiles"),
    ("--layouts", "inspect PACKAGE --layouts", "net.lathe is a compiled package"),
    ("--threads 2", "inspect PACKAGE --threads 2", "net.lathe is a compiled package"),
    ("--optimize-for N=2", "compile MODEL -o x.lathe --references-only --optimize-for N=2", "makes no code"),
    ("--beside-threads 2", "compile MODEL -o x.lathe --beside-threads 2", "nothing runs beside"),
    ("--beside y.lathe", "compile MODEL -o x.lathe --references-only --beside y.lathe", "no records are used"),
    ("--beside y.lathe", "compile MODEL -o x.lathe --no-records --beside y.lathe", "no records are used"),
    ("--beside y.lathe", "compile MODEL --export-space x.json --beside y.lathe", "makes no package"),
    ("--beside-place core", "tune MODEL --beside-place core", "nothing runs beside"),
    ("--beside y.lathe", "tune --all MODEL --beside y.lathe", "--all measures"),
    ("--beside y.lathe", "tune MODEL --via cat --beside y.lathe", "not the model"),
    ("--beside y.lathe", "tune MODEL --export-space x.json --beside y.lathe", "measures nothing"),
    ("--beside y.lathe", "tune --evaluate-model --beside y.lathe", "--evaluate-model measures nothing"),
    ("--beside y.lathe", "tune --train-model x.jsonl --beside y.lathe", "--train-model measures nothing"),
    ("--trials 3", "tune MODEL --list-tasks --trials 3", "measures nothing"),
    ("--budget 300", "tune MODEL --list-tasks --budget 5m", "measures nothing"),
    ("--early-stopping 3", "tune MODEL --list-tasks --early-stopping 3", "measures nothing"),
    ("--searcher ga", "tune MODEL --list-tasks --searcher ga", "measures nothing"),
    ("--seed 3", "tune MODEL --list-tasks --seed 3", "measures nothing"),
    ("--margin 0.1", "tune MODEL --list-tasks --margin 0.1", "measures nothing"),
    ("--points 3", "tune MODEL --points 3", "only --export-space"),
    ("--trials 3", "tune MODEL --export-space x.json --trials 3", "measures nothing"),
    ("--list-tasks", "tune MODEL --export-space x.json --list-tasks", "measures nothing"),
    ("--store x.db", "tune MODEL --export-space x.json --store x.db", "measures nothing"),
    ("--list-tasks", "tune --evaluate-model --list-tasks", "--evaluate-model measures nothing"),
    ("--export-space x.json", "tune MODEL --evaluate-model --export-space x.json", "--evaluate-model measures nothing"),
    ("--trials 3", "tune --evaluate-model --trials 3", "--evaluate-model measures nothing"),
    ("--problem softmax:8x10:axis1", "tune --evaluate-model --problem softmax:8x10:axis1", "--evaluate-model measures nothing"),
    ("--all zoo:lstm", "tune --evaluate-model --all zoo:lstm", "--evaluate-model measures nothing"),
    ("--suite x", "tune --evaluate-model --suite x", "--evaluate-model measures nothing"),
    ("--via cat", "tune MODEL --evaluate-model --via cat", "--evaluate-model measures nothing"),
    ("--searcher ga", "tune --evaluate-model --searcher ga", "--evaluate-model measures nothing"),
    ("--output x.lathe", "tune MODEL --evaluate-model -o x.lathe", "--evaluate-model measures nothing"),
    ("--no-store", "tune --evaluate-model --no-store", "reads the store"),
    ("--no-cache", "tune MODEL --evaluate-model --no-cache", "makes no code"),
    ("--seed 3", "tune MODEL --evaluate-model --seed 3", "draws nothing"),
    ("--target x86-64-v3", "tune --evaluate-model --target x86-64-v3", "compiles no MODEL"),
    ("--threads 2", "tune --evaluate-model --threads 2", "compiles no MODEL"),
    ("--train-model x.jsonl", "tune --evaluate-model --train-model x.jsonl", "--evaluate-model measures nothing"),
    ("--start-model x.jsonl", "tune --evaluate-model --start-model x.jsonl", "--evaluate-model measures nothing"),
    ("--start-model x.jsonl", "tune MODEL --list-tasks --start-model x.jsonl", "--list-tasks measures nothing"),
    ("--start-model x.jsonl", "tune --train-model y.jsonl --start-model x.jsonl", "--train-model measures nothing"),
    ("--trials 3", "tune --train-model x.jsonl --trials 3", "--train-model measures nothing"),
    ("--no-store", "tune --train-model x.jsonl --no-store", "reads the store"),
    ("--target x86-64-v3", "tune --train-model x.jsonl --target x86-64-v3", "compiles no MODEL"),
    ("--tasks conv", "tune --problem softmax:8x10:axis1 --tasks conv", "only a MODEL"),
    ("--problems x.csv", "tune --problem softmax:8x10:axis1 --problems x.csv", "only --suite"),
    ("--via-directory d", "tune MODEL --via-directory d", "only --via"),
    ("--max-seconds 3", "tune MODEL --max-seconds 3", "only --all"),
    ("--again", "tune MODEL --again", "only --all"),
    ("--list-tasks", "tune --all MODEL --list-tasks", "--all measures"),
    ("--no-store", "tune --all MODEL --no-store", "keeps their records"),
    ("--tasks conv", "tune --all MODEL --tasks conv", "only a MODEL"),
    ("--compare", "tune --all MODEL --compare", "only a MODEL"),
    ("--compare", "tune MODEL --via cat --compare", "not the model"),
    ("--max-seconds 1", "bench MODEL --repetitions 3 --max-seconds 1", "--repetitions decides"),
    ("--interval 0.1", "bench MODEL --repetitions 3 --interval 0.1", "--repetitions decides"),
    ("--repetitions 3", "bench MODEL --instances 2 --repetitions 3", "--instances counts runs in windows"),
    ("--warm-up 1", "bench MODEL --instances 2 --warm-up 1", "--instances counts runs in windows"),
    ("--interval 0.1", "bench MODEL --instances 2 --interval 0.1", "--instances counts runs in windows"),
    ("--max-seconds 1", "compare MODEL --check-only --max-seconds 1", "times nothing"),
    ("--max-rounds 3", "compare MODEL --check-only --max-rounds 3", "times nothing"),
    ("--starts 3", "compare MODEL --check-only --starts 3", "times nothing"),
    ("--with reference", "compare PACKAGE --with reference", "net.lathe is a compiled package"),
    ("--seed 4", "run MODEL --fill ones --seed 4", "draws no random numbers"),
    ("--check-constants never", "run MODEL --reference --fill ones --check-constants never", "loads no package"),
    ("--seeds 3", "verify MODEL --fill ones --seeds 3", "draws no random numbers"),
    ("--model", "verify MODEL --model MODEL", "is a model and judges itself"),
    ("--package", "verify PACKAGE --package PACKAGE", "give one package"),
    ("--fill ones", "extract MODEL --to conv1 -o CUT --fill ones", "only run with --inputs"),
    ("--input", "extract MODEL --to conv1 -o CUT -i x.npy", "only run with --inputs"),
    ("--batch 2", "extract MODEL --to conv1 -o CUT --batch 2", "only run with --inputs"),
    ("--repeat 4", "segments MODEL --list --repeat 4", "--list measures nothing"),
    ("--store", "segments MODEL --list --store x.db", "--list measures nothing"),
    ("--checkpoints 4", "segments MODEL --at relu1 --checkpoints 4", "--at names"),
    ("--max-seconds 1", "segments MODEL --repeat 4 --max-seconds 1", "--repeat decides"),
    ("--json", "compile MODEL --emit graph --json x.json", "makes no package"),
    ("--jobs 2", "compile MODEL --emit asm --jobs 2", "makes no package"),
    ("--no-cache", "compile MODEL --emit asm --no-cache", "makes no package"),
    ("--points 3", "compile MODEL -o x.lathe --points 3", "only --export-space"),
    ("--seed 3", "compile MODEL -o x.lathe --seed 3", "only --export-space"),
    ("--store x.db", "compile MODEL --export-space x.json --store x.db", "makes no package"),
    ("--no-records", "compile MODEL --export-space x.json --no-records", "makes no package"),
    ("--store x.db", "run PACKAGE --fill ones --store x.db", "is a compiled package"),
    ("--store x.db", "run MODEL --fill ones --store x.db --references-only", "makes no code"),
    ("--store x.db", "run MODEL --fill ones --store x.db --reference", "compiles nothing"),
    ("--no-records", "bench MODEL --no-records --references-only", "makes no code"),
    ("--output", "compile MODEL --explain conv1 -o x.lathe", "makes no package"),
    ("--emit asm", "compile MODEL --explain conv1 --emit asm", "makes no package"),
    ("--jobs 2", "compile MODEL --explain conv1 --jobs 2", "makes no package"),
    ("--wide", "compile MODEL -o x.lathe --wide", "only --explain and --layouts print a table"),
    ("--batch 2", "zoo --list --batch 2", "--list only"),
    ("--output", "zoo --list -o x.onnx", "--list only"),
    ("NAME resnet18", "zoo resnet18 --list", "--list only"),
    ("--type f16", "ops bench --from-model MODEL --type f16", "say it themselves"),
    ("--epilogue none", "ops bench --from-model MODEL --epilogue none", "say it themselves"),
    ("--type f16", "ops bench relu x=3 --type f16", "say it themselves"),
    ("--epilogue none", "ops bench softmax 3x4 --list --epilogue none", "has none"),
    ("--schedule direct/1", "ops bench conv2d ic8ih8oc8 --provider reference --schedule direct/1", "takes schedules"),
    ("--problems", "ops bench conv2d ic8ih8oc8 --problems x.csv", "--suite"),
    ("--via-directory", "ops bench conv2d ic8ih8oc8 --via-directory /opt", "--via"),
    ("--cache cold", "ops bench conv2d ic8ih8oc8 --check-only --cache cold", "times nothing"),
    ("--starts 3", "ops bench conv2d ic8ih8oc8 --check-only --starts 3", "times nothing"),
    ("--cpus 0", "ops bench conv2d ic8ih8oc8 --check-only --cpus 0", "times nothing"),
    ("--cache-share 50%", "ops bench conv2d ic8ih8oc8 --via cat --cache-share 50%", "held on this machine"),
    ("--beside-threads 2", "ops bench conv2d ic8ih8oc8 --beside-threads 2", "nothing runs beside"),
    ("--beside-runs 2", "ops bench conv2d ic8ih8oc8 --beside relu:x=64 --check-only --beside-runs 2", "times nothing"),
    ("--cpus 0", "ops bench conv2d ic8ih8oc8 --beside relu:x=64 --cpus 0", "of its own choice"),
    ("--beside relu:x=64", "ops bench conv2d ic8ih8oc8 --via cat --beside relu:x=64", "are not known"),
    ("--max-starts 2", "ops bench conv2d ic8ih8oc8 --starts 5 --max-starts 2", "less than --starts 5"),
    ("--max-starts 9", "ops bench conv2d ic8ih8oc8 --starts 1 --max-starts 9", "one process"),
    ("--json", "ops bench conv2d ic8ih8oc8 --list --json x.json", "nothing is measured"),
    ("--log", "ops bench conv2d ic8ih8oc8 --dry-run --log x.jsonl", "nothing is measured"),
    ("--log -", "ops bench conv2d ic8ih8oc8 --provider reference --log - --no-store", "is a stream, expected a file"),
    ("--dry-run", "ops bench conv2d ic8ih8oc8 --list --dry-run", "--list prints"),
    ("--baseline onednn", "ops analyze --what best --baseline onednn", "leaves out"),
    ("--from-model", "ops analyze --what best --from-model MODEL", "leaves out"),
    ("--suite", "ops analyze --what best --suite x", "leaves out"),
    ("--measured-ms 3", "ops analyze --what estimate --measured-ms 3", "no network"),
    ("--problems", "ops analyze --problems x.csv", "--suite"),
    ("--epilogue none", "ops analyze --epilogue none", "--suite"),
    ("--store", "ops diff MODEL MODEL --store x.db", "all sides are files"),
]


def symbolic_onnx():
    """y = relu(x), x of N x 4."""
    shape = field(2, field(1, field(2, "N")) + field(1, field(1, 4)))
    tensor = lambda name: field(1, name) + field(2, field(1, field(1, 1) + shape))
    graph = field(1, onnx_node("Relu", ["x"], ["y"], "relu")) + field(2, "g") + field(11, tensor("x")) + field(12, tensor("y"))
    return field(1, 8) + field(8, field(2, 13)) + field(7, graph)


class Flags(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        at = cls.path
        with open(at(cls, "fixed.onnx"), "wb") as file:
            file.write(onnx_model(onnx_node("Relu", ["x"], ["y"], "relu")))
        with open(at(cls, "open.onnx"), "wb") as file:
            file.write(symbolic_onnx())
        for batch in (1, 2):
            np.save(at(cls, f"x{batch}.npy"), np.arange(batch * 4, dtype="f4").reshape(batch, 4) - 1.5)

    def options_of(self, verb):
        return re.findall(r"^  (?:-\w,)?(-O|--[\w-]+)", self.lathe(*verb.split(), "--help").stdout, re.M)

    def verbs(self):
        for verb in re.findall(r"^  ([a-z-]+) {2,}", self.lathe("--help").stdout, re.M):
            if verb in ("ops", "store", "records"):
                listed = re.search(r"Verbs:\n(.*?)\n\n", self.lathe(verb, "--help").stdout, re.S)[1]
                yield from (f"{verb} {name}" for name in re.findall(r"^  ([a-z]+) {2,}", listed, re.M))
            else:
                yield verb

    def test_every_flag_of_every_verb_stands_in_the_tables(self):
        for verb in self.verbs():
            with self.subTest(verb):
                known = set(OWN[verb]) | {"--help"} | set(MAY_HAVE) | (set() if verb in WITHOUT_JSON else {"--json"})
                if verb in USE:
                    known |= set(SHAPE) | set(IMPORT) | set(ZOO)
                    known |= set(COMPILE) | set(THREADS) if USE[verb] > GRAPH else set()
                    known |= set(CODE) if USE[verb] > KERNELS else set()
                    known -= set(CHOOSES_SCHEDULES) if verb == "tune" else {"--no-cache", "--references-only"} if verb == "predict" else set()
                    known |= {"--check-constants"} if USE[verb] == RUNS else set()
                    known |= set(VARIANTS) if USE[verb] == RUNS or verb in ("compile", "check") else set()
                known |= set(INPUTS) if verb in WITH_INPUTS else set()
                found = set(self.options_of(verb))
                self.assertEqual(found - known, set(), "flags that the tables of this test do not know")
                self.assertEqual(known - found - set(MAY_HAVE), set(), "flags that the verb has lost")

    def test_a_package_is_not_compiled_again(self):
        for verb, use in USE.items():
            if use != RUNS:
                continue
            for flag, value in {**IMPORT, **COMPILE, **CODE, **VARIANTS}.items():
                with self.subTest(f"{verb} {flag}"):
                    if verb == "verify" and flag in IMPORT:  # they are about the model that judges, a text here
                        self.error(verb, self.package, flag, *value, "--model", self.net, says=rf"net.mlir: .*\({flag}\)")
                        self.error(verb, self.net, "--package", self.package, flag, *value, says=rf"net.mlir: .*\({flag}\)")
                        continue
                    self.error(verb, self.package, flag, *value, *NEEDED.get(verb, []) if verb != "verify" else ["--model", self.net],
                               says=f"{flag}.*net.lathe is a compiled package.*compile the model again")
                if verb == "verify":
                    self.error(verb, self.net, "--package", self.package, flag, *value, says=f"{flag}.*net.lathe is a compiled package")

    def test_zoo_flags_are_of_zoo_networks(self):
        for verb in USE:
            for flag, value in ZOO.items():
                for model in [self.net, self.path("fixed.onnx")] + ([self.package] if verb in ("run", "bench", "inspect") else []):
                    with self.subTest(f"{verb} {flag}"):
                        self.error(*verb.split(), model, flag, *value, *NEEDED.get(verb, []) if verb != "verify" else [],
                                   says=f"{flag} .*is a file; only zoo:NAME")

    def test_a_rounding_is_of_tflite_files(self):
        text = self.path("text.mlir")
        self.lathe("compile", self.path("fixed.onnx"), "--emit", "graph", "-o", text)
        for model, says in [(self.path("fixed.onnx"), "fixed.onnx: is no TFLite file"), (text, "text.mlir: is no TFLite file"), ("zoo:squeezenet", "zoo:squeezenet is built in")]:
            self.error("compile", model, "--requantize-rounding", "optimised", "-o", "x.lathe", says=says)
        for model, says in [(self.path("fixed.onnx"), "an ONNX file has no signatures, got 'encode'"), (text, "textual IR has no signatures"), ("zoo:squeezenet", "zoo:squeezenet is built in")]:
            self.error("compile", model, "--signature", "encode", "-o", "x.lathe", says=says)

    def test_a_definition_is_of_keras_layers(self):
        for model, says in [(self.path("fixed.onnx"), "fixed.onnx: is no Keras model"), ("zoo:squeezenet", "zoo:squeezenet is built in")]:
            self.error("compile", model, "--custom", "Scale=nowhere.mlir", "-o", "x.lathe", says=says)
        for text in ["Scale", "=scale.mlir", "Scale="]:
            self.error("compile", self.path("fixed.onnx"), "--custom", text, "-o", "x.lathe", says="expected the name of a class and a file")

    def test_zoo_networks_have_no_symbolic_extents(self):
        for verb in USE:
            if verb != "verify":
                self.error(*verb.split(), "zoo:squeezenet", "--shape", "data=1x3x9x9", *NEEDED.get(verb, []), says="--shape.*--zoo-batch")
        for verb in ["run", "bench", "verify", "profile"]:
            self.error(verb, "zoo:lstm", "--references-only", "--quiet", "--batch", "8", *["--fill", "ones"] if verb == "run" else [],
                       says="--batch 8.*symbolic.*--zoo-batch")

    def test_what_takes_no_package_says_so(self):
        for verb in ["check", "compile", "extract", "segments", "ops problems"]:
            self.error(*verb.split(), self.package, *NEEDED.get(verb, []), says="net.lathe: is a compiled package, expected a model")
            self.assertNotIn("F.lathe)", self.lathe(*verb.split(), "--help").stdout.split("Options:")[0])

    def test_flags_that_a_verb_cannot_honour_are_none_of_it(self):
        for flag, value in {**COMPILE, **CODE, **THREADS}.items():
            self.error("extract", self.net, flag, *value, *NEEDED["extract"], says="not expected")
        for verb in ["inspect", "check", "ops problems"]:
            self.error(*verb.split(), self.net, "--no-cache", says="--no-cache")
        for flag in CHOOSES_SCHEDULES:
            self.error("tune", self.net, flag, *{**COMPILE, **CODE}[flag], *NEEDED["tune"], says="not expected")

    def test_references_have_no_choices(self):
        for flag in ["-O", "--exact-math", "--machine", "--memory", "--precision", "--schedule"]:
            self.error("run", self.net, "--fill", "ones", "--references-only", flag, *COMPILE[flag], says=f"{flag}.*--references-only makes no code")
        for flag, value in {**COMPILE, **CODE}.items():
            self.error("run", self.net, "--fill", "ones", "--reference", flag, *value, says=f"{flag}.*--reference compiles nothing")

    def test_relaxed_math_is_not_exact(self):
        self.error("compile", self.net, "-O", "4", "--exact-math", "-o", self.path("k.lathe"), says="-O4 relaxes what --exact-math keeps: expected -O 0 to 3")
        self.lathe("compile", self.net, "-O", "4", "-o", self.path("relaxed.lathe"))
        self.assertIn("bounds 0.002 and 0.01", self.lathe("verify", self.net, "--package", self.path("relaxed.lathe")).stdout)

    def test_text_at_kernels_level_has_its_kernels(self):
        text = self.path("kernels.mlir")
        self.lathe("compile", self.net, "--emit", "kernels", "-o", text)
        self.error("compile", text, "-O", "1", "-o", self.path("k.lathe"), says="-O 1.*kernels level")
        self.error("run", text, "--references-only", "--fill", "ones", says="--references-only.*kernels level")

    def test_a_fixed_batch_stays(self):
        fixed = self.path("fixed.onnx")
        for verb in ["run", "bench", "profile", "verify", "compare"]:
            extra = {"run": ["--fill", "random"], "compare": ["--with", "reference"]}.get(verb, [])
            self.error(verb, fixed, "--batch", "8", *extra, says=r"--batch 8.*no input has a symbolic first dimension \('x' is 1x4\)")
            self.error(verb, self.package, "--batch", "8", *extra if verb == "run" else [] if verb != "verify" else ["--model", self.net],
                       *["--with", self.package] if verb == "compare" else [], says="--batch 8.*'data' is 1x3x12x12")
        self.error("extract", self.net, "--to", "conv1", "-o", self.path("cut.onnx"), "--inputs", "--batch", "8", says="--batch 8.*symbolic")

    def test_extents_are_those_asked_for(self):
        model, package = self.path("open.onnx"), self.path("open.lathe")
        self.lathe("compile", model, "-o", package)
        for one in [model, package]:
            self.assertEqual(self.outputs(one, "--fill", "ones", "--batch", "2")["y"].shape, (2, 4))
            self.assertEqual(self.outputs(one, "--fill", "ones", "--shape", "x=2x4")["y"].shape, (2, 4))
            self.assertEqual(self.outputs(one, "-i", self.path("x2.npy"), "--batch", "2")["y"].shape, (2, 4))
            self.error("run", one, "-i", self.path("x1.npy"), "--batch", "2", says="--batch 2: input 'x' is 1x4")
            self.error("run", one, "--fill", "ones", "--shape", "z=2x4", says="'z'")
            self.error("run", one, "--fill", "ones", "--shape", "x=3x4", "--batch", "2", says="--batch 2")
        self.lathe("run", model, "--fill", "ones", "--shape", "x=2x5")  # an extent that the file states is replaced
        self.error("run", package, "--fill", "ones", "--shape", "x=2x5", says="--shape|extent 5")
        self.error("run", package, "-i", self.path("x1.npy"), "--shape", "x=2x4", says="--shape x=2x4: the input given is 1x4")
        self.error("run", self.package, "--fill", "ones", "--shape", "data=1x3x24x24", says="--shape.*only symbolic extents")
        self.error("run", self.net, "--fill", "ones", "--shape", "data=1x3x24x24", says="textual IR states its shapes")
        self.error("inspect", package, "--shape", "x=2x4", says="--shape.*bound when it runs")

    def test_nothing_is_left_to_fill(self):
        given = ["-i", f"x={self.path('x1.npy')}"]
        for verb in ["run", "bench", "profile"]:
            self.error(verb, self.path("fixed.onnx"), *given, "--fill", "ones", says="--fill ones: nothing is left to fill")
            self.error(verb, self.path("fixed.onnx"), *given, "--seed", "3", says="--seed 3: nothing is left to fill")
        self.error("run", self.path("fixed.onnx"), "-i", self.folder.name, says="the folder holds no input")
        self.lathe("verify", self.path("fixed.onnx"), *given, "--seeds", "1", "--seed", "7")  # of the other set

    def test_flags_that_leave_others_nothing_to_do(self):
        words = {"MODEL": self.net, "PACKAGE": self.package, "CUT": self.path("cut.onnx")}
        for flag, command, reason in CONFLICTS:
            with self.subTest(command):
                self.error(*[words.get(word, word) for word in command.split()], says=f"{re.escape(flag)}.*{reason}")


if __name__ == "__main__":
    main()
