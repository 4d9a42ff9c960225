"""`--streams`: kernels beside each other, their lines in schedule files, traces of teams, and refused values."""
import json
import os
import re
import sqlite3

import numpy as np

from fixture import Cli, main

# Two chains of convolutions beside each other, and what joins them.
BRANCHES = """
func.func @main(%x: tensor<1x8x12x12xf32> {nn.name = "x"}) -> (tensor<1x8x12x12xf32> {nn.name = "y"}) {
  %wleft = nn.constant {value = dense<WEIGHTS1> : tensor<8x8x3x3xf32>} : tensor<8x8x3x3xf32>
  %wright = nn.constant {value = dense<WEIGHTS2> : tensor<8x8x3x3xf32>} : tensor<8x8x3x3xf32>
  %0 = nn.relu %x : (tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32> loc("begin")
BODY
  %9 = nn.add %left3, %right3 : (tensor<1x8x12x12xf32>, tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32> loc("join")
  return %9 : tensor<1x8x12x12xf32>
}
"""
CONVOLUTION = ("  %{to} = nn.conv %{of}, %w{side} {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}} : "
               "(tensor<1x8x12x12xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x12x12xf32> loc(\"{to}\")\n")


# Two convolutions that may become one: both read the input, and other convolutions read their results.
MERGEABLE = """
func.func @main(%x: tensor<1x64x7x7xf32> {nn.name = "x"}) -> (tensor<1x32x7x7xf32> {nn.name = "y"}) {
BODY
  %9 = nn.add %left2, %right2 : (tensor<1x32x7x7xf32>, tensor<1x32x7x7xf32>) -> tensor<1x32x7x7xf32> loc("join")
  return %9 : tensor<1x32x7x7xf32>
}
"""
POINTWISE = ("  %w{to} = nn.constant {{value = dense<WEIGHTS> : tensor<32x{channels}x1x1xf32>}} : tensor<32x{channels}x1x1xf32>\n"
             "  %{to} = nn.conv %{of}, %w{to} {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}} : "
             "(tensor<1x{channels}x7x7xf32>, tensor<32x{channels}x1x1xf32>) -> tensor<1x32x7x7xf32> loc(\"{to}\")\n")


def mergeable():
    random, body = np.random.default_rng(5), ""
    for side in ("left", "right"):
        for to, of, channels in ((f"{side}1", "x", 64), (f"{side}2", f"{side}1", 32)):
            weights = (random.standard_normal((32, channels, 1, 1)) / 8).astype("<f4").tobytes().hex().upper()
            body += POINTWISE.format(to=to, of=of, channels=channels).replace("WEIGHTS", f'"0x{weights}"')
    return MERGEABLE.replace("BODY\n", body)


def branches():
    body = ""
    for side in ("left", "right"):
        for i in range(1, 4):
            body += CONVOLUTION.format(side=side, to=f"{side}{i}", of=f"{side}{i - 1}" if i > 1 else "0")
    text = BRANCHES.replace("BODY\n", body)
    for number in (1, 2):
        weights = (np.random.default_rng(number).standard_normal((8, 8, 3, 3)) / 8).astype("<f4").tobytes().hex().upper()
        text = text.replace(f"WEIGHTS{number}", f'"0x{weights}"')
    return text


class Streams(Cli):
    knows_machine = True

    @classmethod
    def setUpClass(cls):
        os.environ.pop("LATHE_NO_RECORDS", None)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.model = self.path("branches.mlir")
        with open(self.model, "w") as file:
            file.write(branches())

    def outputs(self, model, name, *flags):
        out = self.path(name)
        self.lathe("run", model, "--fill", "random", "--seed", "3", "-o", out, *flags)
        return np.load(out)["y"]

    def test_bits_do_not_depend_on_streams_or_threads(self):
        expected = self.outputs(self.model, "off.npz", "--streams", "off", "--threads", "4")
        for streams in ("auto", "2", "3", "4"):
            package = self.path(f"s{streams}.lathe")
            self.lathe("compile", self.model, "-o", package, "--streams", streams, "--threads", "4")
            for threads in ("1", "2", "3", "4", "8"):
                got = self.outputs(package, f"s{streams}.{threads}.npz", "--threads", threads)
                self.assertEqual(got.tobytes(), expected.tobytes(), (streams, threads))

    def test_a_schedule_file_repeats_the_streams(self):
        text = self.lathe("compile", self.model, "--emit", "schedule", "--streams", "2", "--threads", "4").stdout
        lines = re.findall(r"^(\S+): stream/1 order=(\d+)(?: first=(\d) slots=(\d))?$", text, re.M)
        self.assertEqual([int(line[1]) for line in lines], list(range(len(lines))))
        places = {name: slots for name, _, first, slots in lines}
        sides = [{first for name, _, first, _ in lines if name.startswith(side)} - {""} for side in ("left", "right")]  # left3 joins
        self.assertIn(sides, ([{"0"}, {"2"}], [{"2"}, {"0"}]))
        self.assertEqual((places["begin"], places["left1"], places["right3"]), ("", "2", "2"))
        path = self.path("streams.txt")
        with open(path, "w") as file:
            file.write(text)
        again = self.lathe("compile", self.model, "--emit", "schedule", "--schedule", path, "--threads", "4").stdout
        self.assertEqual(text[text.index("# streams"):], again[again.index("# streams"):])
        given, searched = self.path("given.lathe"), self.path("searched.lathe")
        said = self.lathe("compile", self.model, "-o", given, "--schedule", path, "--threads", "4").stdout
        self.assertRegex(said, r"streams: 5 kernels beside others in 1 phase; arena [\d.]+ \w+ instead of [\d.]+ \w+\n")
        self.lathe("compile", self.model, "-o", searched, "--streams", "2", "--threads", "4")
        self.assertEqual(self.outputs(given, "given.npz").tobytes(), self.outputs(searched, "searched.npz").tobytes())

    def test_lines_are_checked(self):
        path = self.path("wrong.txt")
        for line, says in (("left1: stream/1 first=3 slots=2", "line 1: slots 3 to 4, expected slots of 4 threads"),
                           ("left1: stream/1 first=-1 slots=2", "first"),
                           ("nowhere: stream/1 first=1 slots=2", "no kernel or node is called 'nowhere'"),
                           ("left1: stream/2 first=1", "stream")):
            with open(path, "w") as file:
                file.write(line + "\n")
            self.error("compile", self.model, "-o", self.path("x.lathe"), "--schedule", path, "--threads", "4", says=says)
        for value, says in (("5", "--streams is 5, expected at most the number of threads, 4"),
                            ("many", "--streams is 'many', expected off, auto or a number of teams"),
                            ("0", "expected off, auto or a number of teams"), ("-2", "expected off, auto")):
            self.error("compile", self.model, "-o", self.path("x.lathe"), "--streams", value, "--threads", "4", says=says)

    def test_tuning_compares_streams_and_compilations_use_what_it_kept(self):
        store, package, again = self.path("streams.db"), self.path("tuned.lathe"), self.path("again.lathe")
        tune = ("tune", self.model, "--threads", "2", "--streams", "auto", "--trials", "1", "--budget", "100s", "--store", store)
        found = self.figures(*tune, "-o", package)["streams"]
        self.assertGreater(found["times"], 0)
        self.assertEqual(found["measured"], found["times"])
        self.assertTrue(found["complete"])
        self.assertGreater(len(found["candidates"]), 0)
        for candidate in found["candidates"]:
            self.assertIn(candidate["from"], ("measured times", "predictions", "2 teams"))
            self.assertGreater(candidate["kernels"] + candidate["kernels_on_fewer_threads"], 0)
            self.assertIn(candidate["verdict"], ("faster", "no_gain"))
            self.assertTrue(candidate["comparison"]["agrees"])
        self.assertEqual([candidate["choice"] for candidate in found["candidates"] if candidate["verdict"] == "faster"], [found["kept"]] if found["kept"] else [])
        self.assertEqual(found["candidates"][0]["against"], "a sequence")
        # The same command measures nothing again and keeps the same.
        second = self.figures(*tune)["streams"]
        self.assertEqual((second["measured"], second["times"], second["kept"]), (0, found["times"], found["kept"]))
        self.assertEqual([(one["choice"], one["verdict"], one["comparison"]) for one in second["candidates"]],
                         [(one["choice"], one["verdict"], None) for one in found["candidates"]])

        def compiled(*flags):
            return self.figures("compile", self.model, "-o", again, "--threads", "2", "--store", store, *flags)["streams"]

        def decide(candidate, verdict):
            with sqlite3.connect(store) as database:
                changed = database.execute("UPDATE tuning SET verdict = ? WHERE schedule = ? AND task IN (SELECT id FROM task WHERE text LIKE 'streams/1 | %')",
                                           (verdict, candidate["choice"])).rowcount
            self.assertEqual(changed, 1)

        # Whatever was faster here: with each verdict, compilations do what the records say.
        for candidate in found["candidates"]:
            for other in found["candidates"]:
                decide(other, "no_gain")
            none = compiled("--streams", "auto")
            self.assertEqual((none["kernels"], none["decision"][:14]), (0, "the record of "))
            decide(candidate, "faster")
            kept = compiled("--streams", "auto")
            self.assertEqual((kept["kernels"], kept["phase_count"], kept["decision"][:14]),
                             (candidate["kernels"], candidate["phase_count"], "the record of "))
            said = self.lathe("compile", self.model, "-o", again, "--threads", "2", "--store", store, "--streams", "auto").stdout
            self.assertRegex(said, r"streams: \d+ kernels beside others in \d phases?(, \d alone on fewer threads)?, expected [\d.]+ times as fast as in sequence, compared by lathe tune: the record of ")
            outputs = [self.outputs(file, "o.npz", "--threads", "2").tobytes() for file in (again, package)]
            self.assertEqual(outputs[0], outputs[1])
        # Nothing else uses them: neither another number of threads, nor a number of teams, nor --streams off.
        self.assertEqual(compiled("--streams", "2")["decision"], "")
        self.assertEqual(compiled()["decision"], "")
        self.assertEqual(self.figures("compile", self.model, "-o", again, "--threads", "4", "--streams", "auto", "--store", store)["streams"]["decision"], "")

    def merged(self):
        path = self.path("mergeable.mlir")
        with open(path, "w") as file:
            file.write(mergeable())
        return path

    def test_convolutions_merge_where_it_is_predicted_to_be_faster(self):
        model, path = self.merged(), self.path("chosen.txt")
        wide = ["--threads", "64", "--target", "x86-64-v4"]  # only compiled
        for streams in ("auto", "2"):
            report = self.figures("compile", model, "-o", self.path("wide.lathe"), "--streams", streams, *wide)["merges"]
            self.assertEqual((report["convolution_count"], report["merged_count"]), (2, 1))
            self.assertLess(report["predicted_cycles"] * 1.05, report["apart_cycles"])
        said = self.lathe("compile", model, "-o", self.path("wide.lathe"), "--streams", "auto", *wide).stdout
        self.assertRegex(said, r"merged: 2 convolutions into 1, predicted \d\.\d{3} times as fast as apart\n")
        text = self.lathe("compile", model, "--emit", "schedule", "--streams", "auto", *wide).stdout
        self.assertIn("# merges\nright1: merge/1 into=left1\n", text)
        with open(path, "w") as file:
            file.write(text)
        again = self.lathe("compile", model, "--emit", "schedule", "--schedule", path, *wide).stdout
        choices = lambda schedule: re.sub("  # .*", "", schedule)
        self.assertEqual(choices(again), choices(text))
        off = self.lathe("compile", model, "--emit", "schedule", *wide).stdout
        self.assertNotIn("merge", off)
        self.assertEqual(off, self.lathe("compile", model, "--emit", "schedule", "--streams", "off", *wide).stdout)

    def test_merged_convolutions_are_verified_by_name(self):
        model, path, package = self.merged(), self.path("merge.txt"), self.path("merged.lathe")
        with open(path, "w") as file:
            file.write("right1: merge/1 into=left1\n")
        said = self.lathe("compile", model, "-o", package, "--schedule", path, "--threads", "2").stdout
        self.assertIn("merged: 2 convolutions into 1\n", said)
        np.testing.assert_allclose(self.outputs(package, "one.npz"), self.outputs(model, "two.npz", "--streams", "off"), rtol=1e-4, atol=1e-5)
        verified = self.lathe("verify", model, "--package", package, "--all").stdout
        for node in ("left1", "right1"):
            self.assertRegex(verified, rf"ok +{node} ")
        self.assertNotIn("left out", verified)
        asked = self.lathe("verify", model, "--package", package, "--output", "right1").stdout
        self.assertRegex(asked, "ok +right1 ")
        for line, says in (("nowhere: merge/1 into=left1", "merge.txt: line 1: no operator with this choice is called 'nowhere'"),
                           ("right1: merge/1 into=nowhere", "'right1'.*: cannot be merged with 'nowhere' as the schedule asks: no convolution is called so"),
                           ("right1: merge/1 into=left2", "cannot be merged with 'left2' as the schedule asks: of 'left2', its kernel may compute 'join' with it"),
                           ("right1: merge/1", "merge.txt: line 1: schedule 'merge/1': expected into=NODE")):
            with open(path, "w") as file:
                file.write(line + "\n")
            self.error("compile", model, "-o", package, "--schedule", path, says=says)

    def test_a_trace_has_tracks_of_teams(self):
        package, path = self.path("traced.lathe"), self.path("trace.json")
        self.lathe("compile", self.model, "-o", package, "--streams", "2", "--threads", "4")
        self.lathe("profile", package, "--threads", "4", "--trace", path, "--repetitions", "3", "--no-check")
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        tracks = {event["tid"]: event["args"]["name"] for event in events if event.get("name") == "thread_name"}
        self.assertLessEqual({"runs", "slot 3", "team of slots 0 to 1", "team of slots 2 to 3"}, set(tracks.values()))
        for side in ("left", "right"):
            of = {tracks[event["tid"]] for event in events if event["ph"] == "X" and event["name"].startswith(side + "2") and "kind" in event["args"]}
            self.assertEqual(len(of), 1, side)
            self.assertIn("team", of.pop())

    def test_a_kernel_alone_may_have_fewer_threads(self):
        file, package, path = self.path("fewer.txt"), self.path("fewer.lathe"), self.path("fewer.json")
        with open(file, "w") as out:
            out.write("left2: stream/1 first=0 slots=2\n")
        said = self.lathe("compile", self.model, "-o", package, "--schedule", file, "--threads", "4").stdout
        self.assertIn("streams: 0 kernels beside others in 0 phases, 1 alone on fewer threads", said)
        self.lathe("profile", package, "--threads", "4", "--trace", path, "--repetitions", "3", "--no-check")
        with open(path) as out:
            events = json.load(out)["traceEvents"]
        tracks = {event["tid"]: event["args"]["name"] for event in events if event.get("name") == "thread_name"}
        names = {event["name"].split()[0] for event in events if event["ph"] == "X" and tracks[event["tid"]] == "team of slots 0 to 1"}
        self.assertEqual(len(names), 1, names)
        expected = self.outputs(self.model, "all.npz", "--threads", "4")
        for threads in ("1", "2", "3", "4", "8"):
            self.assertEqual(self.outputs(package, f"fewer{threads}.npz", "--threads", threads).tobytes(), expected.tobytes())

    def test_the_report_says_what_was_chosen(self):
        package = self.path("report.lathe")
        report = self.figures("compile", self.model, "-o", package, "--streams", "2", "--threads", "2")
        self.assertEqual((report["streams"]["kernels"], report["streams"]["phase_count"]), (5, 1))
        self.assertGreater(report["streams"]["arena_bytes"], report["streams"]["sequence_arena_bytes"])
        said = self.lathe("compile", self.model, "-o", package, "--streams", "auto", "--threads", "1").stdout
        self.assertNotIn("streams", said)
        self.assertTrue(os.path.exists(package))


main()
