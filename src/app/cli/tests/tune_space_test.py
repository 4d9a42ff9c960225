"""`lathe tune --export-space`: the space that a search has, with points as text."""
import json

from fixture import Cli, main


class TuneSpace(Cli):
    knows_machine = True

    def space(self, *arguments):
        path = self.path("space.json")
        said = self.lathe("tune", *arguments, "--export-space", path).stdout
        with open(path) as file:
            return said, json.load(file)

    def test_a_search_tries_points_of_the_space(self):
        said, document = self.space(self.net, "--tasks", "conv2", "--points", "7", "--seed", "3")
        kernel, = document["kernels"]
        self.assertIn("1 distinct kernel,", said)
        self.assertEqual((document["subject"], document["seed"]), (self.net, 3))
        listed, = self.figures("tune", self.net, "--list-tasks", "--tasks", "conv2")["tasks"]
        self.assertEqual((kernel["task"], kernel["prior"], kernel["family"]), (listed["key"], listed["prior"], listed["family"]))
        self.assertIn("conv2", kernel["nodes"])
        searched = {space["algorithm"]: space for space in kernel["algorithms"] if space["schedules"]}
        self.assertIn(kernel["prior"].split()[0], searched)
        points = sum(space["points"] for space in searched.values())
        self.assertAlmostEqual(points, listed["points"], delta=0.006 * points)
        for space in searched.values():
            if space["sampled"]:
                self.assertLessEqual(len(space["schedules"]), 7)

        store = self.path("store.db")
        self.lathe("tune", self.net, "--tasks", "conv2", "--searcher", "random", "--trials", "12", "--margin", "0", "--store", store)
        for record in self.figures("records", "list", "--store", store)["records"]:
            algorithm, *words = record["schedule"].split()
            given = dict(word.split("=") for word in words)
            for knob in searched[algorithm]["knobs"]:
                value = given.get(knob["name"])
                if value is None:
                    self.assertTrue(knob["may_be_left_out"] or "default" in knob, (record["schedule"], knob))
                else:
                    self.assertIn(value, map(str, knob["values"]))
            if not searched[algorithm]["sampled"]:
                self.assertIn(record["schedule"], searched[algorithm]["schedules"])

    def test_problems(self):
        _, document = self.space("--problem", "softmax:8x10:axis1")
        kernel, = document["kernels"]
        self.assertEqual(kernel["family"], "softmax")
        self.assertEqual(document["subject"], "softmax:8x10:axis1")


if __name__ == "__main__":
    main()
