"""`lathe compile`: packages, their levels, schedules and caches."""
import json
import os

import numpy as np

from fixture import Cli, main, network


class Compile(Cli):
    def test_memory_small_forbids_what_grows_the_weights(self):
        schedule = self.path("winograd.txt")
        with open(schedule, "w") as file:
            file.write("conv2: winograd/2 m=2\n")
        out = self.path("small.lathe")
        self.lathe("compile", self.net, "-o", out, "--schedule", schedule)
        self.error("compile", self.net, "-o", out, "--schedule", schedule, "--memory", "small",
                   says="conv2.*winograd/2 m=2.*--memory small forbids")
        self.lathe("compile", self.net, "-o", out, "--memory", "small")
        self.assertNotIn("winograd", self.lathe("profile", out, "--no-check", "--wide", "--repetitions", "1").stdout)
        report = self.figures("run", out, "--fill", "random")
        memory = report["memory"]
        self.assertGreater(report["peak_rss_bytes"], memory["constant_bytes"] + memory["live_bytes"])
        self.assertLessEqual(memory["live_bytes"], memory["arena_bytes"])

    def test_the_search_space_is_exported(self):
        path = self.path("space.json")
        flags = ("--threads", "2", "--target", "x86-64-v3")  # a target that has small and large spaces for this network
        said = self.lathe("compile", self.net, "--export-space", path, *flags).stdout
        with open(path) as file:
            document = json.load(file)
        self.assertIn(f"{len(document['kernels'])} distinct kernels", said)
        self.assertEqual(document["threads"], 2)
        names = [name for kernel in document["kernels"] for name in kernel["kernels"]]
        self.assertEqual(len(set(names)), len(names))
        families = {kernel["family"] for kernel in document["kernels"]}
        self.assertIn("contraction", families)
        for kernel in document["kernels"]:
            self.assertTrue(kernel["task"].startswith("task/"), kernel["task"])
            chosen = kernel["prior"].split()[0]
            self.assertIn(chosen, [space["algorithm"] for space in kernel["algorithms"]])
            for space in kernel["algorithms"]:
                points = 1
                for knob in space["knobs"]:
                    self.assertTrue(knob["values"], (space["algorithm"], knob))
                    self.assertTrue(knob["meaning"])
                    points *= len(knob["values"]) + knob["may_be_left_out"]
                self.assertEqual(space["points"], points)
                self.assertEqual(space["sampled"], points > 2000)
                self.assertLessEqual(space["legal"], space["tried"])
                schedules = space["schedules"]
                self.assertEqual(len(set(schedules)), len(schedules))
                self.assertEqual({schedule.split()[0] for schedule in schedules} - {space["algorithm"]}, set())
                self.assertLessEqual(len(schedules), 100 if space["sampled"] else points)
                if not space["sampled"]:
                    self.assertEqual((space["tried"], len(schedules)), (points, space["legal"]))
                if space["algorithm"] == chosen:
                    self.assertGreater(space["legal"], 0, space["algorithm"])
        same = self.lathe("compile", self.net, "--export-space", "-", *flags).stdout
        self.assertEqual(json.loads(same)["kernels"], document["kernels"])
        sizes = {space["sampled"] for kernel in document["kernels"] for space in kernel["algorithms"] if space["schedules"]}
        self.assertEqual(sizes, {False, True})
        self.error("compile", self.net, "--export-space", path, "--emit", "asm", says="--emit asm.*makes no package")

    def test_points_of_large_spaces_are_drawn_by_a_seed(self):
        def drawn(*flags):
            kernels = json.loads(self.lathe("compile", self.net, "--export-space", "-", *flags).stdout)["kernels"]
            return [space["schedules"] for kernel in kernels for space in kernel["algorithms"] if space["sampled"] and space["legal"]]
        first, other = drawn("--points", "5", "--seed", "1"), drawn("--points", "5", "--seed", "2")
        self.assertEqual(drawn("--points", "5"), first)
        self.assertNotEqual(other, first)
        self.assertIn(5, map(len, first))
        self.assertEqual({len(schedules) for schedules in drawn("--points", "0")}, {0})
        # A point that is written is a schedule that compiles.
        kernels = json.loads(self.lathe("compile", self.net, "--export-space", "-", "--points", "1").stdout)["kernels"]
        points = {kernel["kernels"][0]: [space["schedules"][-1] for space in kernel["algorithms"] if space["schedules"]] for kernel in kernels}
        schedule, package = self.path("points.txt"), self.path("points.lathe")
        for number in range(max(map(len, points.values()))):
            with open(schedule, "w") as file:
                file.writelines(f"{name}: {texts[number % len(texts)]}\n" for name, texts in points.items())
            self.lathe("compile", self.net, "-o", package, "--schedule", schedule)
            chosen = {kernel["schedule"].split()[0] for kernel in self.figures("inspect", package)["plans"][0]["kernels"]}
            self.assertLessEqual({texts[number % len(texts)].split()[0] for texts in points.values()}, chosen)

    def test_choices_are_explained(self):
        schedule = self.path("explained.txt")
        report = self.figures("compile", self.net, "--explain", "relu2")
        kernel = report["kernel"]
        self.assertEqual((report["node"], kernel["nodes"], kernel["family"]), ("relu2", ["conv2", "add2", "relu2"], "contraction"))
        self.assertIn(kernel["origin"], ("the prior's rule", "the prior's model"))
        chosen = kernel["chosen"]
        self.assertIn(f"{kernel['name']}: {chosen['schedule']}  # {kernel['origin']}\n", self.lathe("compile", self.net, "--emit", "schedule").stdout)
        costs = [candidate["predicted"]["cycles"] for candidate in kernel["best"]]
        self.assertEqual(costs, sorted(costs))
        for candidate in kernel["best"]:
            cost = candidate["predicted"]
            parts = [cost["compute_cycles"], cost["start_cycles"], cost["fork_join_cycles"], *[level["cycles"] for level in cost["levels"]]]
            self.assertAlmostEqual(sum(parts), cost["cycles"], delta=1e-6 * cost["cycles"])
            with open(schedule, "w") as file:  # a candidate is a schedule that compiles, and is then the choice
                file.write(f"{kernel['name']}: {candidate['schedule']}\n")
            own = self.figures("compile", self.net, "--explain", "conv2", "--schedule", schedule)["kernel"]
            self.assertEqual(own["origin"], f"{schedule}, line 1")
            self.assertEqual(own["chosen"]["predicted"], cost)
            self.assertEqual(own["rank"] == 1, own["chosen"]["predicted"]["cycles"] <= costs[0])
        for algorithm in kernel["algorithms"]:
            self.assertEqual(algorithm["legal"] + sum(entry["points"] for entry in algorithm["declined"]), algorithm["tried"])
        text = self.narrow("compile", self.net, "--explain", "relu2")
        self.assertIn("relu2: it is fused into the kernel of conv2: the kernel conv2_add2_relu2 computes", text)
        self.assertIn(kernel["algorithms"][-1]["declined"][0]["reason"],
                      self.lathe("compile", self.net, "--explain", "relu2", "--wide").stdout)
        nothing = self.figures("compile", self.net, "--explain", "flatten")
        self.assertIsNone(nothing["kernel"])
        self.assertIn("flatten: no kernel computes it: this reshape is a view", self.lathe("compile", self.net, "--explain", "flatten").stdout)
        self.error("compile", self.net, "--explain", "relu3", says="--explain relu3: the model has no node.*did you mean 'relu[12]'")

    def test_kernels_are_kept_for_all_models(self):
        other = self.path("other.mlir")
        with open(other, "w") as file:
            file.write(network(seed=2))
        out = self.path("other.lathe")
        self.lathe("compile", self.net, "-o", out)
        report = self.figures("compile", other, "-o", out)  # other weights, the same kernels
        self.assertGreater(report["distinct_kernels"], 2)
        self.assertEqual(report["cached_kernels"], report["distinct_kernels"])
        with open(out, "rb") as file:
            cached = file.read()
        self.assertEqual(self.figures("compile", other, "-o", out, "--no-cache")["cached_kernels"], 0)
        with open(out, "rb") as file:
            self.assertEqual(file.read(), cached)

    def test_a_model_is_compiled_once(self):
        packages = os.path.join(os.environ["XDG_CACHE_HOME"], "lathe", "packages")
        self.outputs(self.net, "--fill", "ones")
        before = {name: os.stat(os.path.join(packages, name)).st_mtime_ns for name in os.listdir(packages)}
        self.outputs(self.net, "--fill", "random")
        after = {name: os.stat(os.path.join(packages, name)).st_mtime_ns for name in os.listdir(packages)}
        self.assertEqual(before, after)

    def test_levels_can_be_read_and_compiled_again(self):
        expected = self.outputs(self.net, "--fill", "random")["prob"]
        for level in ["graph", "kernels"]:
            text = self.path(f"{level}.mlir")
            self.lathe("compile", self.net, "--emit", level, "-o", text)
            np.testing.assert_allclose(self.outputs(text, "--fill", "random")["prob"], expected, rtol=1e-6)
        for level, word in [("loops", "scf.for"), ("llvm", "define"), ("asm", "ret")]:
            self.assertIn(word, self.lathe("compile", self.net, "--emit", level).stdout)

    def test_a_text_says_where_its_weights_are(self):
        text = self.path("large.mlir")
        said = self.lathe("compile", "zoo:squeezenet", "--emit", "graph", "-o", text).stdout
        self.assertRegex(said, r"large\.mlir: .*of text; .*large\.mlir\.safetensors: .*of weights")
        self.assertEqual(self.lathe("compile", "zoo:squeezenet", "--emit", "graph", "-o", text, "--quiet").stdout, "")
        renamed = self.path("renamed.mlir")
        os.rename(text, renamed)
        self.lathe("inspect", renamed)
        os.remove(text + ".safetensors")
        self.error("inspect", renamed, says="renamed.mlir: .*large.mlir.safetensors', which does not exist: put")

    def test_misspelt_attributes_and_schedules_are_errors(self):
        text = self.path("misspelt.mlir")
        with open(text, "w") as file:
            file.write(network().replace("trans_b = true", "trans_b = true, aplha = 2.0 : f64"))
        self.error("run", text, says="misspelt.mlir: line 14: nn.gemm has no attribute 'aplha'.*mean 'alpha'")
        schedule = self.path("misspelt.txt")
        for line, says in [
                ("prob: softmax/2 grian=1", "line 1: .*softmax/2 has no parameter 'grian'.*grain and interleave.*'grain'"),
                ("fc: gemm/2 mr=abc", "line 1: .*got mr=abc, expected a whole number from 1 to 64"),
                ("fc: gemm/2 kc=99999999999999999999999", "line 1: .*got kc=9+, expected a whole number"),
                ("conv1: direct/1 px=2 px=3", "line 1: .*px is given twice"),
                ("pool: reduce/2 rows=2", "line 1: .*reduce/2 has no parameter 'rows'; it has grain and interleave"),
                ("prob: sofmax/1", "line 1: .*there is no algorithm 'sofmax'.*did you mean 'softmax'")]:
            with open(schedule, "w") as file:
                file.write(line + "\n")
            self.error("compile", self.net, "-o", self.path("m.lathe"), "--schedule", schedule, says=says)
        kernels = self.path("kernels.mlir")
        self.lathe("compile", self.net, "--emit", "kernels", "-o", kernels)
        with open(kernels) as file:
            content = file.read()
        self.assertIn('nn.family = "softmax"', content)
        with open(kernels, "w") as file:
            file.write(content.replace('nn.family = "softmax"', 'nn.family = "softmax", nn.schedule = "softmax/2 interlaeve=2"'))
        self.error("compile", kernels, "-o", self.path("m.lathe"), says="'prob'.*softmax/2 has no parameter 'interlaeve'")

    def test_schedules_from_a_file(self):
        path = self.path("schedule.txt")
        with open(path, "w") as file:
            file.write("nowhere: direct/1 px=3\n")
        self.error("compile", self.net, "-o", self.path("s.lathe"), "--schedule", path, says="schedule.txt: line 1.*nowhere")
        for level in ("graph", "kernels", "schedule", "loops"):
            self.error("compile", self.net, "--emit", level, "--schedule", path, says="schedule.txt: line 1.*nowhere")
        text = self.path("unwritten.mlir")
        self.error("compile", self.net, "--emit", "kernels", "-o", text, "--schedule", path, says="schedule.txt: line 1.*nowhere")
        self.assertFalse(os.path.exists(text))
        with open(path, "w") as file:
            file.write("conv1: direct/1 px=3\nrelu2: layout/1 in=row out=row\n")
        for level in ("graph", "kernels"):
            self.assertIn("func.func", self.lathe("compile", self.net, "--emit", level, "--schedule", path).stdout)
        with open(path, "w") as file:
            file.write("this is no schedule\n")
        self.error("compile", self.net, "-o", self.path("s.lathe"), "--schedule", path, says="line 1")

    def test_a_conversion_of_layout_without_extents_is_a_clear_error(self):
        text = self.path("convert.mlir")
        with open(text, "w") as file:
            file.write("""func.func @main(%x: tensor<?x16x4x4xf32> {nn.name = "x"}) -> (tensor<?x16x4x4xf32> {nn.name = "y"}) {
              %0 = nn.convert_layout %x : tensor<?x16x4x4xf32> -> tensor<?x16x4x4xf32, #nn.blocked<1, 16>>
              %1 = nn.relu %0 : (tensor<?x16x4x4xf32, #nn.blocked<1, 16>>) -> tensor<?x16x4x4xf32, #nn.blocked<1, 16>>
              %2 = nn.convert_layout %1 : tensor<?x16x4x4xf32, #nn.blocked<1, 16>> -> tensor<?x16x4x4xf32>
              return %2 : tensor<?x16x4x4xf32> }""")
        self.error("compile", text, "--target", "x86-64-v4", "-o", self.path("convert.lathe"), says="convert.mlir: line 2.*conversion of layout.*nn.dims")

    def test_a_package_for_another_processor_is_refused(self):
        package = self.path("foreign.lathe")
        self.lathe("compile", self.net, "-o", package, "--target", "aarch64-linux-gnu,cpu=cortex-a76")
        if os.uname().machine == "x86_64":
            self.error("run", package, "--fill", "ones", says="aarch64")

    def test_compiling_with_several_threads_gives_the_same_package(self):
        one, two = self.path("one.lathe"), self.path("two.lathe")
        self.lathe("compile", self.net, "-o", one, "--jobs", "1")
        self.lathe("compile", self.net, "-o", two, "--jobs", "2")
        np.testing.assert_array_equal(self.outputs(one, "--fill", "random")["prob"], self.outputs(two, "--fill", "random")["prob"])


if __name__ == "__main__":
    main()
