"""`lathe corun`: every policy on small packages, what is stored, interruption, errors."""
import csv
import itertools
import json
import os
import signal
import subprocess
import time

from fixture import LATHE, Cli, main, network, onnx_node, planned_points
from onnx_writer import encoded, value

CPUS = sorted(os.sched_getaffinity(0))
BRIEF = ["--window", "0.002", "--starts", "3", "--max-seconds", "0.2"]
SEARCH = ["--window", "0.002", "--starts", "1", "--max-seconds", "0.1", "--instances", "1"]


class Corun(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = lambda name: os.path.join(cls.folder.name, name)
        with open(path("other.mlir"), "w") as file:
            file.write(network(2))
        with open(path("open.onnx"), "wb") as file:
            file.write(encoded([onnx_node("Tanh", "x", "y")], [value("x", ["N", 64])], [value("y", ["N", 64])], opset=13))
        for model, package in (("other.mlir", "other"), ("open.onnx", "open")):
            subprocess.run([LATHE, "compile", path(model), "-o", path(package + ".lathe"), "--quiet"], check=True)
        cls.other, cls.open = path("other.lathe"), path("open.lathe")

    def slots(self, figures):
        return [model["move"]["slots"] for model in figures["models"]]

    def test_equal_in_one_process_and_in_one_each(self):
        for processes in ("shared", "each"):
            store = self.path(f"equal-{processes}.db")
            figures = self.figures("corun", self.package, self.other, "--processes", processes, *BRIEF, "--store", store)
            self.assertTrue(figures["finished"])
            self.assertEqual((figures["policy"], figures["processes"], figures["slots"]), ("equal", processes, len(CPUS)))
            if len(CPUS) == 2:
                self.assertEqual(self.slots(figures), ["0", "1"])
            self.assertGreaterEqual(figures["starts"], 3)
            for model in figures["models"]:
                self.assertEqual((model["mistrusted"], model["verified"]), ("", False))
                self.assertGreaterEqual(model["slow_down"]["ratio_high"], model["slow_down"]["ratio_low"])
                for runs in (model["alone"], model["together"]):
                    self.assertGreaterEqual(runs["runs"], 30)
                    self.assertGreater(runs["inputs_per_s"], 0)
                    self.assertLessEqual(runs["median_ms"], runs["p99_ms"])
            self.assertEqual(planned_points(store), [4])
            exported = self.path("equal.csv")
            self.lathe("store", "export", exported, "--format", "csv", "--kind", "corun", "--store", store)
            with open(exported) as file:
                companies = sorted(line["company"] for line in csv.DictReader(file))
            self.assertEqual([company.partition("@")[0] for company in companies], ["", "", "beside net.lathe", "beside other.lathe"])
            self.assertRegex(companies[2], r"data 1x3x12x12, slots? [-0-9]+ by lathe on \d+ threads?, same \w+, at least 10 runs a start$")

    def test_verified_models_have_slow_downs(self):
        at = ["--store", self.path("verified.db")]
        for model, package in (("net.mlir", self.package), ("other.mlir", self.other)):
            self.lathe("verify", self.path(model), "--package", package)
        said = self.lathe("corun", self.package, self.other, *BRIEF, *at).stdout
        self.assertIn("outputs: verified", said)
        matrix = self.figures("ops", "analyze", "--what", "company", *at)["company"]
        self.assertEqual(sorted(one["company"].partition("@")[0] for one in matrix), ["beside net.lathe", "beside other.lathe"])

    def test_more_models_than_processors(self):
        done = subprocess.run([LATHE, "corun", self.package, self.other, self.package, *BRIEF, "--no-store", "--json", self.path("one.json")], capture_output=True,
                              text=True, timeout=300, preexec_fn=lambda: os.sched_setaffinity(0, CPUS[:1]))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("one.json")) as file:
            figures = json.load(file)
        self.assertEqual((figures["slots"], figures["cpus"], self.slots(figures)), (1, str(CPUS[0]), ["0", "0", "0"]))

    def test_a_package_beside_itself_has_its_own_points(self):
        store = self.path("twice.db")
        self.lathe("corun", self.package, self.package, "--policy", self.policy({"slots": "0"}, {"slots": "0"}), *BRIEF, "--store", store)
        self.assertEqual([one["points"] for one in self.figures("store", "list", "--store", store)["experiments"]], [4])

    def policy(self, *moves):
        path = self.path("policy.json")
        with open(path, "w") as file:
            json.dump({"models": list(moves)}, file)
        return path

    def test_file(self):
        path = self.policy({"slots": "0", "instances": 2}, {"slots": "0", "batch": 3})
        figures = self.figures("corun", self.package, self.open, "--policy", path, *BRIEF, "--no-store")
        self.assertEqual([model["move"] for model in figures["models"]],
                         [{"slots": "0", "instances": 2, "streams": True, "package": 1}, {"slots": "0", "instances": 1, "streams": True, "package": 1, "batch": 3}])
        of_batches = figures["models"][1]["together"]
        self.assertAlmostEqual(of_batches["inputs_per_s"], 3 * of_batches["runs_per_s"])

    def test_several_packages_of_a_model(self):
        path = self.policy({"slots": "0", "package": 2}, {"slots": "0"})
        figures = self.figures("corun", f"{self.package},{self.other}", self.open, "--policy", path, *BRIEF, "--no-store")
        self.assertEqual(figures["models"][0]["packages"], [self.package, self.other])
        self.assertEqual(figures["models"][0]["move"]["package"], 2)
        self.error("corun", f"{self.package},{self.open}", self.other, says=r"open.lathe: its inputs are x f32 N 64, those of .*net.lathe are data f32 1 3 12 12")

    def check_search(self, figures):
        """The equilibria and the optimum follow from the measured payoffs."""
        search = figures["search"]
        text = lambda moves: tuple(json.dumps(move, sort_keys=True) for move in moves)
        payoffs = {text(one["moves"]): one["payoffs"] for one in search["measured"]}
        moves = [sorted({moves[i] for moves in payoffs}) for i in range(2)]
        self.assertEqual(len(payoffs), search["combinations"])
        self.assertEqual(sorted(payoffs), sorted(itertools.product(*moves)))
        equilibria = set()
        for at in payoffs:
            others = [[at[:i] + (move,) + at[i + 1:] for move in moves[i]] for i in range(2)]
            if all(payoffs[other][i] / payoffs[at][i] - 1 <= search["margin"] for i in range(2) for other in others[i]):
                equilibria.add(at)
        welfare = {text(one["moves"]): one["welfare"] for one in search["measured"]}
        best = max(welfare.values())
        self.assertTrue(search["cooperative"]["exhaustive"])
        self.assertEqual(search["cooperative"]["welfare"], best)
        self.assertEqual(welfare[text(search["cooperative"]["moves"])], best)
        return equilibria, welfare, text

    def test_nash(self):
        store = self.path("nash.db")
        command = ["corun", self.package, self.other, "--policy", "nash", "--weights", "2,1", "--margin", "0.1", *SEARCH, "--store", store]
        figures = self.figures(*command)
        equilibria, welfare, text = self.check_search(figures)
        search = figures["search"]
        self.assertEqual({text(one["moves"]) for one in search["equilibria"]}, equilibria)
        for one in search["measured"]:
            self.assertAlmostEqual(one["welfare"], (2 * one["payoffs"][0] + one["payoffs"][1]) / 3)
        self.assertEqual(len(search["walks"]), 4)
        for walk in search["walks"]:
            steps = [text(one["moves"]) for one in walk["path"]]
            self.assertTrue(all(sum(a != b for a, b in zip(*pair)) == 1 for pair in zip(steps, steps[1:])))
            if walk["ending"] == "equilibrium":
                self.assertIn(steps[-1], equilibria)
            else:
                self.assertEqual((walk["ending"], steps[-1]), ("cycle", steps[walk["cycle_from"]]))
        if equilibria:
            self.assertAlmostEqual(search["price_of_anarchy"], search["cooperative"]["welfare"] / min(welfare[at] for at in equilibria))
            chosen = text(model["move"] for model in figures["models"])
            self.assertEqual(welfare[chosen], max(welfare[at] for at in equilibria))
        else:
            self.assertIsNone(search["price_of_anarchy"])
        # It came to its end: the same command is a new experiment.
        again = self.lathe(*command)
        self.assertNotIn("going on with", again.stderr)
        self.assertIn("payoff: throughput together / throughput alone on all slots; mean: their mean with the weights 2,1", again.stdout)
        self.assertIn("Best responses:", again.stdout)
        self.assertRegex(again.stdout, "equilibri(um|a)")
        self.assertEqual(len(self.figures("store", "list", "--store", store)["experiments"]), 2)

    def test_cooperative(self):
        figures = self.figures("corun", self.package, self.open, "--policy", "cooperative", "--payoff", "latency", "--batch", "1,4", *SEARCH, "--no-store")
        self.check_search(figures)
        search = figures["search"]
        self.assertEqual((search["walks"], search["equilibria"], search["price_of_anarchy"]), ([], [], None))
        for one in search["measured"]:
            self.assertEqual(one["welfare"], min(one["payoffs"]))
        self.assertEqual([model["move"] for model in figures["models"]], search["cooperative"]["moves"])
        self.assertEqual({one["moves"][1]["batch"] for one in search["measured"]}, {1, 4})

    def test_measurements_are_bounded(self):
        done = self.lathe("corun", self.package, self.other, "--policy", "nash", "--max-measurements", "2", *SEARCH, "--no-store", "--json", self.path("bounded.json"))
        with open(self.path("bounded.json")) as file:
            search = json.load(file)["search"]
        if search["combinations"] > 2:
            self.assertTrue(search["spent"])
            self.assertEqual((len(search["measured"]), search["all_equilibria"], search["cooperative"]["exhaustive"]), (2, False, False))
            self.assertIn("(at most 2: --max-measurements)", done.stdout)
            self.assertIn("unfinished", done.stdout)

    def test_an_interrupted_search_goes_on(self):
        store, document = self.path("interrupted.db"), self.path("interrupted.json")
        command = ["corun", self.package, self.other, "--policy", "nash", "--instances", "1,2", "--window", "0.05", "--starts", "1", "--max-seconds", "0.5", "--store", store]
        running = subprocess.Popen([LATHE, *command, "--json", document], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        points = lambda: sum(one["points"] for one in self.figures("store", "list", "--store", store)["experiments"]) if os.path.exists(store) else 0
        until = time.monotonic() + 120
        while running.poll() is None and points() < 6 and time.monotonic() < until:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        said = running.communicate()[0]
        self.assertEqual(running.returncode, 128 + signal.SIGINT, said)
        self.assertIn("the search is not finished: the same command goes on with it", said)
        with open(document) as file:
            interrupted = json.load(file)
        measured = len(interrupted["search"]["measured"])
        self.assertFalse(interrupted["finished"])
        self.assertGreaterEqual(measured, 2)
        again = self.lathe(*command, "--json", document)
        self.assertIn("going on with an experiment that was interrupted", again.stderr)
        with open(document) as file:
            search = json.load(file)["search"]
        self.assertGreaterEqual(search["from_interrupted"], measured)
        text = lambda one: json.dumps(one, sort_keys=True)
        self.assertTrue({text(one) for one in interrupted["search"]["measured"]} <= {text(one) for one in search["measured"]})
        self.assertEqual(len(self.figures("store", "list", "--store", store)["experiments"]), 1)

    def test_an_interrupted_measurement_is_kept(self):
        store = self.path("kept.db")
        command = ["corun", self.package, self.other, "--window", "0.05", "--starts", "1000", "--max-seconds", "600", "--store", store]
        running = subprocess.Popen([LATHE, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in running.stderr:  # progress, every ten seconds
            if "start 1," not in line and "alone and together" in line:
                break
        running.send_signal(signal.SIGINT)
        said = running.communicate()[0]
        self.assertEqual(running.returncode, 128 + signal.SIGINT, said)
        self.assertIn("slow-down: time together / time alone", said)
        self.assertEqual([one["points"] for one in self.figures("store", "list", "--store", store)["experiments"]], [4])

    def test_too_few_runs_are_mistrusted(self):
        done = self.lathe("corun", self.package, self.other, *BRIEF, "--least-runs", "10000000", "--no-store", code=1)
        self.assertRegex(done.stdout, r"A is not to be trusted: \d+ runs were complete in the windows of a start, expected at least 10000000")

    def test_constant_outputs_are_not_timed(self):
        path = self.path("constant.onnx")
        with open(path, "wb") as file:
            file.write(encoded([onnx_node("Sub", "x x", "y")], [value("x", [1, 64])], [value("y", [1, 64])], opset=13))
        self.lathe("compile", path, "-o", self.path("constant.lathe"), "--quiet")
        self.error("corun", self.package, self.path("constant.lathe"), "--no-store", says="constant.lathe: not timed, the outputs are mistrusted: output 'y' is all zero")

    def test_resources(self):
        figures = self.figures("corun", self.package, self.other, "--cpus", str(CPUS[-1]), *BRIEF, "--no-store")
        self.assertEqual((figures["cpus"], figures["resources"], figures["held"]["cpus"]), (str(CPUS[-1]), f"cpus {CPUS[-1]}", str(CPUS[-1])))
        self.error("corun", self.package, self.other, "--cpus", "9999", says="--cpus 9999: ")

    def test_errors(self):
        both = [self.package, self.other]
        self.error("corun", self.package, says="expected at least two models, got 1")
        self.error("corun", self.package, self.path("missing.lathe"), says="missing.lathe")
        self.error("corun", self.package, self.net, says="net.mlir: expected a package, which lathe compile writes")
        self.error("corun", *both, "--policy", "fair", says="--policy fair: expected equal, nash, cooperative or a JSON file")
        self.error("corun", *both, "--policy", "nash", "--weights", "1", says="--weights 1: expected 2 numbers, one for each model, got 1")
        self.error("corun", *both, "--policy", "nash", "--weights", "1,-1", says="--weights 1,-1: expected positive numbers, got '-1'")
        self.error("corun", *both, "--weights", "1,1", says="--weights 1,1: nothing is searched with --policy equal")
        self.error("corun", *both, "--policy", "nash", "--payoff", "latency", "--weights", "1,1", says="--weights 1,1: --payoff latency looks at the worst model")
        self.error("corun", *both, "--policy", "nash", "--instances", "x", says="--instances x")
        self.error("corun", *both, "--policy", self.policy({"slots": "0"}, {"slots": "9999"}), says=r"policy.json: models\[1\].slots: there is no slot 9999, expected 0 to")
        self.error("corun", *both, "--policy", self.policy({"slots": "0"}), says="policy.json: models: expected 2 entries, one for each model, got 1")
        self.error("corun", *both, "--policy", self.policy({"slots": "0"}, {"slots": "0", "batch": 2}), says=r"models\[1\].batch: the package has no open batch")
        self.error("corun", *both, "--batch", "2", says="--batch 2: no package has a symbolic first dimension")
        self.error("corun", *both, "--processes", "some", says="--processes: some not in")


if __name__ == "__main__":
    main()
