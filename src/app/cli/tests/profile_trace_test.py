"""`lathe profile` as a trace, a page and plots: --trace, --html, --svg, and the graph of the kernels."""
import gzip
import json
import os
import re
import subprocess
import xml.etree.ElementTree

import numpy as np

from fixture import LATHE, Cli, main, network
from report_store import HOSTILE, document_of

# A branch, and a loop whose body has a loop of its own.
CONTROL = """
module {
  func.func @main(%x: tensor<2x40xf32> {nn.name = "x"}, %c: tensor<i1> {nn.name = "c"}, %n: tensor<i64> {nn.name = "n"})
      -> (tensor<2x40xf32> {nn.name = "y"}, tensor<?x2x40xf32> {nn.name = "all"}) {
    %0 = nn.if %c, %x {then_body = @build, else_body = @same} : (tensor<i1>, tensor<2x40xf32>) -> tensor<2x40xf32>
    %1:2 = nn.loop %n, %c, %0, %x {body = @turn, carried = 1 : i64}
      : (tensor<i64>, tensor<i1>, tensor<2x40xf32>, tensor<2x40xf32>) -> (tensor<2x40xf32>, tensor<?x2x40xf32>)
    return %1#0, %1#1 : tensor<2x40xf32>, tensor<?x2x40xf32>
  }
  module @build {
    func.func @main(%x: tensor<2x40xf32>) -> tensor<2x40xf32> {
      %0 = nn.relu %x : (tensor<2x40xf32>) -> tensor<2x40xf32>
      return %0 : tensor<2x40xf32>
    }
  }
  module @same {
    func.func @main(%x: tensor<2x40xf32>) -> tensor<2x40xf32> {
      %0 = nn.neg %x : (tensor<2x40xf32>) -> tensor<2x40xf32>
      return %0 : tensor<2x40xf32>
    }
  }
  module @turn {
    func.func @main(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<2x40xf32>, %x: tensor<2x40xf32>) -> (tensor<i1>, tensor<2x40xf32>, tensor<2x40xf32>) {
      %0 = nn.add %s, %x : (tensor<2x40xf32>, tensor<2x40xf32>) -> tensor<2x40xf32>
      %1 = nn.loop %i, %c, %0 {body = @turn, carried = 1 : i64} : (tensor<i64>, tensor<i1>, tensor<2x40xf32>) -> tensor<2x40xf32>
      return %c, %1, %0 : tensor<i1>, tensor<2x40xf32>, tensor<2x40xf32>
    }
    module @turn {
      func.func @main(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<2x40xf32>) -> (tensor<i1>, tensor<2x40xf32>) {
        %0 = nn.tanh %s : (tensor<2x40xf32>) -> tensor<2x40xf32>
        return %c, %0 : tensor<i1>, tensor<2x40xf32>
      }
    }
  }
}
"""


def nanoseconds(microseconds):
    return round(microseconds * 1000)


class Slice:
    def __init__(self, event):
        self.name, self.category, self.track, self.args = event["name"], event["cat"], event["tid"], event["args"]
        self.begin = nanoseconds(event["ts"])
        self.end = self.begin + nanoseconds(event["dur"])
        self.parent = None


class Trace(Cli):
    def traced(self, *arguments, name="trace.json"):
        """The figures of a profile, its slices by track, each with the slice around it, and its other events."""
        path = self.path(name)
        figures = self.figures("profile", *arguments, "--no-check", "--no-store", "--trace", path)
        with (gzip.open if name.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            document = json.load(file)
        events = self.valid(document)
        tracks = {}
        for event in events:
            if event["ph"] == "X":
                tracks.setdefault(event["tid"], []).append(Slice(event))
        for slices in tracks.values():
            self.nest(slices)
        return figures, tracks, events

    def valid(self, document):
        """The events of a document that has the form of Chrome's trace events."""
        self.assertEqual(document["displayTimeUnit"], "ns")
        self.assertIsInstance(document["otherData"], dict)
        keys = {"M": {"name", "ph", "pid", "tid", "args"}, "X": {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"}, "C": {"name", "ph", "ts", "pid", "args"},
                "i": {"name", "ph", "ts", "pid", "tid", "s", "args"}}
        for event in document["traceEvents"]:
            self.assertEqual(set(event), keys[event["ph"]])
            self.assertIsInstance(event["name"], str)
            self.assertIsInstance(event["args"], dict)
            self.assertIsInstance(event["pid"], int)
            for key in ("ts", "dur"):
                self.assertGreaterEqual(event.get(key, 0), 0)
            if event["ph"] == "C":
                self.assertTrue(all(isinstance(value, (int, float)) for value in event["args"].values()))
        names = {event["tid"] for event in document["traceEvents"] if event["name"] == "thread_name"}
        self.assertLessEqual({event["tid"] for event in document["traceEvents"] if event["ph"] == "X"}, names)
        return document["traceEvents"]

    def nest(self, slices):
        """Sets the parent of each slice, and fails for slices that overlap. The file has what is around before what is inside."""
        around = []
        for item in slices:
            while around and around[-1].end <= item.begin and (around[-1].end < item.end or around[-1].begin < item.begin):
                around.pop()
            if around:
                self.assertLessEqual(around[-1].begin, item.begin, item.name)
                self.assertLessEqual(item.end, around[-1].end, (item.name, around[-1].name))
                item.parent = around[-1]
            around.append(item)

    def test_slices_are_the_profile(self):
        figures, tracks, events = self.traced(self.net, "--repetitions", "9", "--threads", "2", name="net.json.gz")
        names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertEqual(names, {1: "runs", 2: "slot 0 (caller)", 3: "slot 1"})
        runs = [item for item in tracks[1] if item.category == "run"]
        self.assertEqual([item.name for item in runs], [f"run {i}" for i in range(1, 10)])
        self.assertTrue(all(before.end <= after.begin for before, after in zip(runs, runs[1:])))
        counting = [run for run in runs if run.args["counts"]]
        self.assertEqual(len(counting), 3)  # the fastest quarter, rounded up
        self.assertLessEqual(max(run.end - run.begin for run in counting), min(run.end - run.begin for run in runs if run not in counting))
        rows = {row["index"]: row for row in figures["rows"]}
        inside = {run.name: [item for item in tracks[1] if item.parent is run] for run in runs}
        for run in runs:  # every instruction once a run
            self.assertEqual(sorted(item.args["instruction"] for item in inside[run.name]), sorted(rows))
        mean = lambda values: sum(values) / len(values)
        for index, row in rows.items():
            found = [item for run in counting for item in inside[run.name] if item.args["instruction"] == index]
            self.assertAlmostEqual(mean([item.end - item.begin for item in found]), row["time_ms"] * 1e6, delta=0.01)
            if row["kind"] == "kernel":
                self.assertEqual({key: found[0].args[key] for key in ("family", "schedule", "shapes", "nodes", "flops", "bytes")},
                                 {key: row[key] for key in ("family", "schedule", "shapes", "nodes", "flops", "bytes")})
                self.assertIn(found[0].args["bound"], {"compute", "L1", "L2", "L3", "memory"})
        self.assertAlmostEqual(mean([run.end - run.begin for run in counting]), figures["whole_ms"] * 1e6, delta=0.01)
        self.assertAlmostEqual(mean([run.args["overhead_us"] for run in counting]), figures["overhead_ms"] * 1e3, delta=1e-5)
        # Shares of the slots: one after the other, within the kernel that they belong to.
        kernels = [item for run in runs for item in inside[run.name]]
        for track in (2, 3):
            for before, after in zip(tracks[track], tracks[track][1:]):
                self.assertLessEqual(before.end, after.begin)
            for share in tracks[track]:
                self.assertTrue(any(item.args["instruction"] == share.args["instruction"] and item.begin <= share.begin and share.end <= item.end for item in kernels))
        self.assertEqual(len(tracks[2]), 9 * len([row for row in rows.values() if row["kind"] == "kernel"]))
        self.assertGreater(len(tracks[3]), 0)
        # The speed over time holds all operations of a run.
        speed = [(nanoseconds(event["ts"]), event["args"]["GFLOPS"]) for event in events if event["name"] == "speed"]
        done = sum(value * (after - at) for (at, value), (after, _) in zip(speed, speed[1:]))
        self.assertAlmostEqual(done / (9 * sum(row["flops"] for row in rows.values())), 1, delta=1e-3)
        self.assertEqual(speed[-1][1], 0)
        self.assertGreater(max(event["args"]["MB"] for event in events if event["name"] == "memory"), 0)

    def test_bodies_are_inside_of_loops_and_branches(self):
        model = self.path("control.mlir")
        with open(model, "w") as file:
            file.write(CONTROL)
        np.save(self.path("c.npy"), np.array(True))
        np.save(self.path("n.npy"), np.array(4, "i8"))
        figures, tracks, _ = self.traced(model, "--repetitions", "2", "--threads", "1", "-i", "c=" + self.path("c.npy"), "-i", "n=" + self.path("n.npy"))
        for run in (item for item in tracks[1] if item.category == "run"):
            within = lambda parent: [item for item in tracks[1] if item.parent is parent]
            branch, = [item for item in within(run) if item.name == "if"]
            self.assertEqual([item.name for item in within(branch)], ["then"])
            loop, = [item for item in within(run) if item.name == "loop"]
            self.assertEqual([item.name for item in within(loop)], [f"iteration {i}" for i in range(4)])
            for turn, iteration in enumerate(within(loop)):
                inner, = [item for item in within(iteration) if item.name == "loop"]
                self.assertEqual([item.name for item in within(inner)], [f"iteration {i}" for i in range(turn)])
        # The graph knows what is inside of what, has no cycle, and leads from the inputs to the outputs.
        graph, rows = figures["graph"], figures["rows"]
        kinds = {row["index"]: row["kind"] for row in rows}
        parents = dict(map(tuple, graph["parents"]))
        self.assertEqual({kinds[parent] for parent in parents.values()}, {"if", "loop"})
        for start, end, value in graph["edges"]:
            self.assertTrue(start < end or end == -1, (start, end))
            self.assertTrue(0 <= value < len(graph["values"]) or value == -1)
        reached = {-1}
        for index in sorted(kinds):
            if any(end == index and start in reached for start, end, _ in graph["edges"]):
                reached.add(index)
        self.assertEqual(reached - {-1}, {index for index, kind in kinds.items() if kind != "compute_shape"} & reached)
        self.assertEqual({graph["values"][value]["name"] for start, end, value in graph["edges"] if end == -1 and start in reached}, {"y", "all"})

    def test_events_beyond_the_limit_are_counted(self):
        model, trips = self.path("long.mlir"), 1000000
        with open(model, "w") as file:
            file.write("""module {
  func.func @main(%x: tensor<2xf32> {nn.name = "x"}, %c: tensor<i1> {nn.name = "c"}, %n: tensor<i64> {nn.name = "n"}) -> (tensor<2xf32> {nn.name = "y"}) {
    %0 = nn.loop %n, %c, %x {body = @turn, carried = 1 : i64} : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
    %1 = nn.relu %0 : (tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  module @turn {
    func.func @main(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>) {
      %0 = nn.tanh %s : (tensor<2xf32>) -> tensor<2xf32>
      return %c, %0 : tensor<i1>, tensor<2xf32>
    }
  }
}""")
        np.save(self.path("c.npy"), np.array(True))
        np.save(self.path("n.npy"), np.array(trips, "i8"))
        path = self.path("long.json")
        command = ["profile", model, "--no-check", "--no-store", "--repetitions", "1", "--threads", "1", "-i", "c=" + self.path("c.npy"), "-i", "n=" + self.path("n.npy")]
        figures, tracks, events = self.traced(*command[1:], "--trace-events", "1000", name="long.json")
        iterations = [item for item in tracks[1] if item.category == "body"]
        self.assertEqual([item.name for item in iterations], [f"iteration {i}" for i in range(500)])
        run, = [item for item in tracks[1] if item.category == "run"]
        outer = [item for item in tracks[1] if item.parent is run]
        rows = {row["index"]: row for row in figures["rows"]}
        steps = [index for index, row in rows.items() if row["kind"] != "overhead"]
        self.assertEqual([item.name for item in outer][0], "loop")
        self.assertGreaterEqual(len(outer), 2)  # what follows the loop is there, too
        # Every execution is counted: two events an iteration on the first track, one on the track of the slot.
        told = {event["tid"]: event["args"]["left_out"] for event in events if event["ph"] == "i"}
        self.assertEqual(told, {1: 2 * trips - 1000, 2: trips - 1000})
        self.assertEqual(figures["trace"], {"runs": 1, "events_left_out": 3 * trips - 2000})
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["otherData"]["events_left_out"], 3 * trips - 2000)
        # The rows are sums over all iterations.
        for item in outer:
            self.assertAlmostEqual(rows[item.args["instruction"]]["time_ms"] * 1e6, item.end - item.begin, delta=0.01)
        body, = [row for index, row in rows.items() if index not in {item.args["instruction"] for item in outer} and index in steps and row["kind"] == "kernel"]
        kept = sum(item.end - item.begin for item in tracks[1] if item.args.get("instruction") == body["index"])
        self.assertGreater(body["time_ms"] * 1e6, kept)
        said = self.lathe(*command, "--trace", path, "--trace-events", "1000").stdout
        self.assertIn(f"long.json: trace of 1 run; {3 * trips - 2000} events of full tracks are left out (--trace-events)\n", said)

    def test_the_graph_has_layouts_and_values_in_place(self):
        model = self.path("parts.mlir")
        with open(model, "w") as file:
            file.write("""func.func @main(%x: tensor<1x32x8x8xf32> {nn.name = "x"}) -> tensor<1x64x8x8xf32> {
              %0 = nn.relu %x : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> loc("left")
              %1 = nn.tanh %x : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> loc("right")
              %2 = nn.concat %0, %1 {axis = 1 : i64} : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x64x8x8xf32> loc("both")
              %3 = nn.softmax %2 {axis = 3 : i64} : (tensor<1x64x8x8xf32>) -> tensor<1x64x8x8xf32> loc("end")
              return %3 : tensor<1x64x8x8xf32> }""")
        graph = self.figures("profile", model, "--no-check", "--no-store", "--repetitions", "1")["graph"]
        parts = [value for value in graph["values"] if "inside" in value]
        self.assertEqual([(part["dims"], part["type"], part["bytes"]) for part in parts], [("1x32x8x8", "f32", 8192)] * 2)
        self.assertEqual(len({part["inside"] for part in parts}), 1)
        # Both parts lead to what reads the whole.
        readers = {end for _, end, value in graph["edges"] if graph["values"][value] in parts}
        self.assertEqual(len(readers), 1)
        net = self.figures("profile", self.net, "--no-check", "--no-store", "--repetitions", "1")["graph"]
        self.assertTrue(any(re.fullmatch(r"NCHW\d+c|NHWC", value["layout"]) for value in net["values"]), net["values"])

    def test_the_page_needs_no_store(self):
        model, store = self.path("hostile.mlir"), self.path("none.db")
        with open(model, "w") as file:
            file.write(network().replace('loc("relu2")', f"loc({json.dumps(HOSTILE)})"))
        made = subprocess.run([LATHE, "profile", model, "--repetitions", "4", "--no-store", "--html", "--svg", "drawn"], capture_output=True, text=True, cwd=self.folder.name)
        if "npm was missing" in made.stderr:
            self.skipTest("SKIPPED: this build has no page of reports (npm was missing)")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertRegex(made.stdout, r"hostile.html: page\ndrawn: \d+ plots\n")
        self.assertFalse(os.path.exists(store))
        with open(self.path("hostile.html"), encoding="utf-8") as file:
            document = document_of(file.read())
        experiment, = document["experiments"]
        self.assertTrue(experiment["detail"]["graph"]["edges"])
        kernels = [problem["detail"] for problem in document["problems"] if problem["operator"] == "kernel"]
        self.assertTrue(any(HOSTILE in detail["nodes"] for detail in kernels))
        self.assertEqual(document["points"]["count"], len(kernels) + 1)
        drawn = os.listdir(self.path("drawn"))
        self.assertIn("profile-graph.svg", drawn)
        for name in drawn:
            root = xml.etree.ElementTree.parse(os.path.join(self.path("drawn"), name)).getroot()
            self.assertEqual({element.tag.rpartition("}")[2] for element in root.iter()} & {"img", "script", "foreignObject"}, set(), name)
        # What a run of the whole store shows has the graph, too.
        self.lathe("profile", model, "--repetitions", "2", "--store", store)
        stored = self.figures("report", "--store", store, "-o", self.path("stored.html"))["experiments"][0]
        kept = stored["detail"]
        self.assertEqual(kept["graph"], experiment["detail"]["graph"])
        self.assertEqual(kept.keys(), experiment["detail"].keys())
        self.assertTrue(all(0.1 < detail["clock_ghz"] < 10 for detail in (kept, experiment["detail"])))
        self.assertNotIn("graph", stored["settings"])
        # It is no setting of the experiment, and no part of lists.
        listed, = self.figures("store", "list", "--store", store)["experiments"]
        self.assertNotIn("detail", listed)
        self.assertNotIn("graph", listed["settings"])
        # Archives and other stores keep it.
        self.lathe("store", "export", self.path("all.jsonl"), "--store", store)
        for source in (self.path("all.jsonl"), store):
            other = self.path(os.path.basename(source) + ".copy.db")
            self.lathe("store", "import", source, "--store", other)
            copied = self.figures("report", "--store", other, "-o", self.path("copied.html"))["experiments"][0]
            self.assertEqual(copied["detail"], kept)

    def test_errors(self):
        self.error("profile", self.net, "--trace", self.path("no/such/folder.json"), says="no/such/folder.json")
        self.error("profile", self.net, "--trace", self.net, says="net.mlir")
        self.error("profile", self.net, "--trace-events", "10", says="--trace-events 10: no trace is written without --trace")


if __name__ == "__main__":
    main()
