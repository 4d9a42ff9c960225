"""Trained models that come with lathe: how their file is made, and how searches start from it."""
import gzip
import json
import os
import shutil
import subprocess

from fixture import LATHE, Cli, main, without_progress

BUILD = os.path.dirname(os.path.dirname(LATHE))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "data", "models")
CONVOLUTION = "conv2d:ic16ih14oc16kh3ph1"


class ShippedModels(Cli):
    knows_machine = True

    @classmethod
    def setUpClass(cls):
        os.environ.pop("LATHE_NO_RECORDS", None)  # which the tests of all other verbs have
        super().setUpClass()
        prefix = os.path.join(cls.folder.name, "prefix")
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component", "compiler"], capture_output=True, text=True)
        assert done.returncode == 0, (done.returncode, done.stderr)
        cls.installed = os.path.join(prefix, "bin", "lathe")
        cls.models = os.path.join(prefix, "share", "lathe", "models")
        names = lambda folder: sorted(name for name in os.listdir(folder) if name.endswith(".jsonl.gz"))
        assert names(SOURCE) == names(cls.models) == names(os.path.join(BUILD, "share", "lathe", "models"))
        cls.trained = os.path.join(cls.folder.name, "trained")
        os.mkdir(cls.trained)
        cls.store = os.path.join(cls.folder.name, "trained.db")
        for arguments in (["--problem", CONVOLUTION, "--trials", "8", "--margin", "0", "--searcher", "random"], ["--train-model", cls.trained], ["--train-model", cls.trained + "/", "--searcher", "xgb-knob"]):
            done = subprocess.run([LATHE, "tune", *arguments, "--store", cls.store], capture_output=True, text=True)
            assert done.returncode == 0, (done.returncode, done.stderr)
        cls.said_of_training = done.stdout

    def setUp(self):
        shutil.rmtree(self.models, ignore_errors=True)

    def ship(self, trained="xgb_itervar", shipped="xgb_itervar"):
        """-> the path of the shipped file"""
        os.makedirs(self.models, exist_ok=True)
        return shutil.copy(os.path.join(self.trained, trained + ".jsonl.gz"), os.path.join(self.models, shipped + ".jsonl.gz"))

    def tune(self, *flags, problem=CONVOLUTION, code=0):
        """Two trials with the installed lathe. -> the line about what it starts from, the same as JSON, and standard error"""
        figures = self.path("started.json")
        done = subprocess.run([self.installed, "tune", "--problem", problem, "--trials", "2", "--margin", "0", "--no-store", *flags, "--json", figures], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        if code:
            return done.stderr
        with open(figures) as file:
            return "".join(line for line in done.stdout.splitlines() if line.startswith("starts from")), json.load(file)["starts_from"], without_progress(done.stderr)

    def assertStarts(self, file, line, *flags, **problem):
        self.assertEqual(self.tune(*flags, **problem), (line, {"tasks": 0, "schedules": 0, **({"file": file} if file else {})}, ""))

    def test_a_folder_gets_a_file_for_each_searcher(self):
        self.assertEqual(sorted(os.listdir(self.trained)), ["xgb_itervar.jsonl.gz", "xgb_knob.jsonl.gz"])
        self.assertEqual(self.said_of_training, f"{self.trained}/xgb_knob.jsonl.gz: xgb_knob for contraction\n")
        self.error("tune", "--train-model", self.path("absent/"), "--store", self.store, says="absent/xgb_itervar.jsonl.gz")

    def test_without_it_nothing_is_said(self):
        self.assertStarts("", "")
        os.makedirs(self.models)
        self.assertStarts("", "")

    def test_searches_start_from_it(self):
        file = self.ship()
        line = f"starts from the models in {file}, which came with lathe"
        self.assertStarts(file, line)
        self.assertStarts(file, line, "--searcher", "xgb")
        # Another searcher has another file or none; the models are for contractions.
        self.assertStarts("", "", "--searcher", "xgb_knob")
        self.assertStarts("", "", "--searcher", "random")
        self.assertStarts("", "", problem="softmax:1x64")
        knobs = self.ship("xgb_knob", "xgb_knob")
        self.assertStarts(knobs, f"starts from the models in {knobs}, which came with lathe", "--searcher", "xgb-knob")
        os.environ["LATHE_NO_RECORDS"] = "1"
        self.addCleanup(os.environ.pop, "LATHE_NO_RECORDS", None)
        self.assertStarts("", "")

    def test_the_store_is_said_beside_it(self):
        file = self.ship()
        done = subprocess.run([self.installed, "tune", "--problem", "conv2d:ic16ih14oc32kh3ph1", "--trials", "2", "--margin", "0", "--store", shutil.copy(self.store, self.path("other.db"))],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, without_progress(done.stderr)), (0, ""))
        self.assertRegex(done.stdout, rf"(?m)^starts from \d+ measured schedules of 1 other task and the models in {file}, which came with lathe$")

    def test_what_cannot_be_used_is_said_and_left(self):
        file = self.ship()
        with open(file, "rb") as stream:
            good = stream.read()
        with gzip.open(file, "rt") as stream:
            text = stream.read()
        changed = gzip.compress(text.replace('"feature_version":', '"feature_version":1').encode())
        with open(os.path.join(self.trained, "xgb_knob.jsonl.gz"), "rb") as stream:
            others = stream.read()
        for bad, why in [(good[:-100], ".*"), (changed, "it is damaged"), (b"", "is no file of trained models"), (b"{}\n", "is no file of trained models"),
                         (others, "it has models of xgb_knob, the searcher is xgb_itervar")]:
            self.assertNotEqual(bad, good)
            with open(file, "wb") as stream:
                stream.write(bad)
            line, start, said = self.tune()
            self.assertEqual((line, start), ("", {"tasks": 0, "schedules": 0}))
            self.assertRegex(said, f"^lathe: searches without the trained models that came with it: {file}: {why}.*\n$")
        # It is read only for searches that would start from it.
        self.assertStarts("", "", "--searcher", "ga")
        listed = subprocess.run([self.installed, "tune", self.net, "--list-tasks"], capture_output=True, text=True)
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))

    def test_a_list_of_models_says_it_once(self):
        file = self.ship("xgb_knob")
        second = shutil.copy(self.net, self.path("second.mlir"))
        done = subprocess.run([self.installed, "tune", "--all", f"{self.net},{second}", "--trials", "1", "--max-seconds", "1", "--store", self.path("all.db"), "-o", self.path("all.md")],
                              capture_output=True, text=True, env={**os.environ, "LATHE_RUNNERS": self.path("nowhere")})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count(f"searches without the trained models that came with it: {file}"), 1, done.stderr)

    def test_start_model_comes_first(self):
        file = self.ship("xgb_knob")  # which would be said
        own = os.path.join(self.trained, "xgb_itervar.jsonl.gz")
        self.assertStarts(own, f"starts from the models in {own}", "--start-model", own)
        # What the user names has to fit.
        self.assertIn(f"--start-model {file}: it has models of xgb_knob, the searcher is xgb_itervar", self.tune("--start-model", file, code=2))
        said = self.error("tune", "--all", self.net, "--start-model", file, "--store", self.path("never.db"), says=f"--start-model {file}: it has models of xgb_knob")
        self.assertIn("lathe tune: ", said)
        self.assertFalse(os.path.exists(self.path("never.db")))


if __name__ == "__main__":
    main()
