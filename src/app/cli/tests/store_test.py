"""`lathe store`: what is kept, archives, exports."""
import csv
import io
import json
import os
import re
import shlex
import subprocess

import numpy as np

from fixture import LATHE, Cli, main, network


class Store(Cli):
    def test_a_store_that_is_not_there(self):
        nowhere = self.path("nowhere.db")
        for verb in [["list"], ["show"], ["export", self.path("x.jsonl")]]:
            self.error("store", *verb, "--store", nowhere, says="nowhere.db: does not exist")
        self.assertFalse(os.path.exists(nowhere))
        self.error("store", "list", "--store", "mysql://ann:secret@db/team", says=r"store list: mysql://\.\.\.: expected a file or postgresql://HOST/DATABASE$")
        self.error("store", says="lathe store VERB")
        self.error("store", "frobnicate", says="one of path, list, .*got 'frobnicate'")
        self.assertEqual(self.lathe("store", "path").stdout, os.path.join(os.environ["XDG_DATA_HOME"], "lathe", "lathe.db") + "\n")

    def test_the_help_of_the_group_names_the_verbs_that_measure(self):
        summary = " ".join(self.lathe("store", "--help").stdout.split("\n\n")[0].split())
        self.assertEqual(summary, "Manage the measurements that `ops`, `bench`, `compare`, `profile`, `segments`, `tune`, `evaluate`, `quantize`, `corun` and `sweep` "
                                  "keep (docs/store.md).")

    def test_files_of_one_name_are_told_apart(self):
        store, other = self.path("one-name.db"), self.path("same.mlir")
        for content in (network(), network() + "// the same network in another file\n", network()):
            with open(other, "w") as file:
                file.write(content)
            self.lathe("compare", self.net, "--with", other, "--check-only", "--store", store)
        experiments = self.figures("store", "list", "--store", store)["experiments"]
        points = [self.figures("store", "show", e["uuid"], "--store", store)["points"] for e in experiments]
        self.assertEqual([[p["provider"] for p in each] for each in points], [["lathe", "same.mlir"]] * 3)
        self.assertEqual({each[0]["variant"] for each in points}, {""})
        first, second, third = (each[1]["variant"] for each in points)
        self.assertRegex(first, "^[0-9a-f]{16}$")
        self.assertNotEqual(first, second)
        self.assertEqual(first, third)

    def test_what_is_measured_is_kept(self):
        store = self.path("kept.db")
        at = ["--store", store]
        self.lathe("verify", self.net)
        self.lathe("bench", self.net, "--repetitions", "5", *at)
        self.lathe("profile", self.net, "--repetitions", "3", *at)
        self.lathe("ops", "bench", "conv2d", "ic16ih9oc24kh3ph1", "ic8ih7oc8kh1", "--provider", "lathe,lathe:plain", "--max-seconds", "0.05", *at)
        self.lathe("compare", self.net, "--with", "reference", "--max-rounds", "3", "--max-seconds", "1", *at)
        kept = self.figures("store", "list", *at)
        self.assertEqual([(e["kind"], e["points"] == e["passed"]) for e in kept["experiments"]],
                         [("bench", True), ("profile", True), ("ops", True), ("compare", True)])
        self.assertEqual(kept["counts"]["platforms"], 1)
        self.assertTrue(all(e["finished"] and e["build"] for e in kept["experiments"]))
        bench, profile, ops, compare = (self.figures("store", "show", e["uuid"][:8], *at)["points"] for e in kept["experiments"])
        self.assertEqual([(p["operator"], p["provider"], p["time"]["count"]) for p in bench], [("model", "lathe", 5)])
        self.assertRegex(bench[0]["problem"], r"^net\.mlir@[0-9a-f]{16} data 1x3x12x12$")
        self.assertIn(f"lathe bench {self.net} --repetitions 5", bench[0]["repro"])
        self.assertEqual(profile[0]["problem"], bench[0]["problem"])
        self.assertEqual(compare[0]["problem"], bench[0]["problem"])
        self.assertIn("direct/1", " ".join(p["setting"]["schedule"] for p in profile[1:]))
        self.assertEqual({p["operator"] for p in profile[1:]}, {"kernel"})
        self.assertEqual(sorted((p["problem"], p["variant"]) for p in ops), sorted((p, v) for p in {p["problem"] for p in ops} for v in ["auto", "plain"]))
        self.assertEqual(len(ops), 4)
        for point in ops:
            self.assertLess(point["relative_l2"], 2e-5)
            self.assertIn("ops bench conv2d", point["repro"])
            self.assertGreater(point["time"]["count"], 2)
        self.assertEqual([p["provider"] for p in compare], ["lathe", "reference"])
        # A trend of a provider that has measured nothing says which ones have.
        self.error("store", "trend", "net.mlir", "--provider", "onednn", *at, says="has no times of 'net.mlir' by onednn, only by lathe, reference$")
        self.error("store", "trend", "nothing", "--provider", "lathe", *at, says="has no times of 'nothing'$")
        # Wrong outputs have no time; outputs nobody judged are mistrusted.
        other, package = self.path("unjudged.mlir"), self.path("unjudged.lathe")
        with open(other, "w") as file:
            file.write(network(seed=9))
        self.lathe("compile", other, "-o", package)
        self.lathe("bench", package, "--repetitions", "3", *at)
        point = self.figures("store", "show", *at)["points"][0]
        self.assertEqual((point["status"], point["time"]["count"]), ("mistrusted", 3))
        self.assertIn("unverified", point["reason"])

    def test_a_repro_line_measures_in_the_same_way(self):
        first, again = ["--store", self.path("first.db")], self.path("again.db")
        few = ["--starts", "2", "--max-seconds", "0.03"]
        effort = [*few, "--max-starts", "3", "--repetitions", "5"]
        verbs = [
            ["ops", "bench", "conv2d", "ic8ih7oc8kh1", "--provider", "lathe:plain,lathe", "--epilogue", "none", "--batch", "2", "--cache", "cold", "--layout", "row",
             "--schedule", "default", "--seed", "7", *effort],
            ["ops", "bench", "gemm", "m8n8k8", "--provider", "lathe", "--type", "bf16", "--threads", "1,2", "--starts", "1", "--max-seconds", "0.02", "--repetitions", "3"],
            ["ops", "bench", "fc", "mb1ic8oc8", "--provider", "lathe", "--epilogue", "bias", "--check-only"],
            ["bench", self.net, "--max-seconds", "0.05", "--threads", "2"],
            ["profile", self.net, "--repetitions", "3", "--threads", "2"],
            ["compare", self.net, "--with", "reference", *few],
            ["sweep", self.net, "--threads", "1,2", *few],
        ]
        same = ["operator", "problem", "provider", "variant", "setting"]
        of = lambda points: sorted(json.dumps([point[name] for name in same], sort_keys=True) for point in points)
        for verb in verbs:
            self.lathe(*verb, *first)
            made = self.figures("store", "show", *first)
            lines = {point["repro"] for point in made["points"]}
            points = []
            for line in lines:
                words = shlex.split(line)
                at = words.index("--store") if "--store" in words else len(words)
                self.lathe(*words[1:at], *words[at + 2:], "--store", again)
                repeated = self.figures("store", "show", "--store", again)
                self.assertEqual((repeated["kind"], repeated["settings"]), (made["kind"], made["settings"]), line)
                points += repeated["points"]
            self.assertEqual(of(points), of(made["points"]), lines)

    def test_what_is_not_kept(self):
        none = self.path("none.db")
        self.assertNotIn("kept in", self.lathe("bench", self.package, "--repetitions", "3", "--no-store").stdout)
        self.error("bench", self.package, "--store", none, "--no-store", says="no-store.*excludes|excludes.*store")
        self.error("bench", self.path("absent.onnx"), "--store", none, says="absent.onnx")
        self.error("store", "list", "--store", none, says="none.db: does not exist")
        folder = self.path("a-file")
        with open(folder, "w") as file:
            file.write("no folder")
        self.error("bench", self.package, "--store", os.path.join(folder, "x.db"), says="a-file/x.db: .*--no-store measures without keeping")
        with open(self.path("text.db"), "w") as file:
            file.write("no database, but a text that is long enough to be taken for one " * 20)
        self.error("bench", self.package, "--store", self.path("text.db"), says="text.db: file is not a database")
        self.error("store", "list", "--store", self.path("text.db"), says="text.db: file is not a database")

    def test_zoo_networks_are_told_apart_by_content(self):
        at = ["--store", self.path("zoo.db")]
        for seed in ["0", "1", "0"]:
            self.lathe("bench", "zoo:squeezenet", "--zoo-seed", seed, "--repetitions", "2", *at)
        kept = self.figures("store", "list", *at)["experiments"]
        texts = [self.figures("store", "show", e["uuid"], *at)["points"][0]["problem"] for e in kept]
        for text, seed in zip(texts, ["", " seed=1", ""]):
            self.assertRegex(text, "^zoo:squeezenet@[0-9a-f]{16}" + seed + " input 1x3x224x224$")
        hashes = [re.search("@([0-9a-f]+)", text)[1] for text in texts]
        self.assertEqual(hashes[0], hashes[2])
        self.assertNotEqual(hashes[0], hashes[1])
        self.assertEqual(self.figures("ops", "problems", "zoo:squeezenet")["source"], "zoo:squeezenet@" + hashes[0])

    def test_a_trend_begins_with_the_network(self):
        at = ["--store", self.path("order.db")]
        self.lathe("profile", "zoo:squeezenet", "--repetitions", "2", *at)
        first, *others = self.figures("store", "trend", "squeezenet", *at)["series"]
        self.assertEqual((first["operator"], {series["operator"] for series in others}), ("model", {"kernel"}))
        numbers = [int(re.search("#([0-9]+)", series["problem"])[1]) for series in others]
        self.assertEqual(numbers, sorted(numbers))
        self.assertGreater(len(numbers), 10)

    def test_many_programs_measure_at_once(self):
        store = self.path("many.db")
        running = [subprocess.Popen([LATHE, "bench", self.package, "--repetitions", "3", "--store", store], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True) for _ in range(6)]
        for program in running:
            self.assertEqual(program.communicate()[1], "")
            self.assertEqual(program.returncode, 0)
        self.assertEqual(self.figures("store", "list", "--store", store)["counts"],
                         {"platforms": 1, "experiments": 6, "points": 6, "samples": 18, "tuning": 0})

    def test_archives_go_from_machine_to_machine(self):
        one, two, all_, archive = (self.path(name) for name in ["one.db", "two.db", "all.db", "one.jsonl.gz"])
        self.lathe("bench", self.package, "--repetitions", "4", "--store", one)
        self.lathe("bench", self.package, "--repetitions", "4", "--store", two)
        self.assertIn("1 experiment, 1 point, 4 samples", self.lathe("store", "export", archive, "--store", one).stdout)
        merged = self.figures("store", "merge", all_, archive, two)
        self.assertEqual((merged["points"]["added"], merged["samples"]), (2, 8))
        self.assertEqual(merged["counts"], {"platforms": 1, "experiments": 2, "points": 2, "samples": 8, "tuning": 0})
        again = self.figures("store", "import", archive, two, all_, "--store", all_)
        self.assertEqual((again["points"]["added"], again["points"]["known"], again["samples"]), (0, 4, 0))
        self.assertEqual(again["counts"], merged["counts"])
        with open(archive, "rb") as file:
            packed = file.read()
        with open(self.path("cut.jsonl.gz"), "wb") as file:
            file.write(packed[:len(packed) // 2])
        self.error("store", "merge", self.path("fresh.db"), two, self.path("cut.jsonl.gz"), says="cut.jsonl.gz: the compressed file is cut")
        self.assertEqual(self.figures("store", "list", "--store", self.path("fresh.db"))["counts"]["points"], 0)
        self.error("store", "merge", all_, self.net, says="net.mlir: is not an archive")
        with open(self.path("plain.jsonl"), "w") as file:
            file.write(self.lathe("store", "export", "-", "--store", all_).stdout)
        self.assertEqual(self.figures("store", "import", self.path("plain.jsonl"), "--store", all_)["points"]["known"], 2)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def test_results_of_other_programs(self):
        at = ["--store", self.path("foreign.db")]
        head = "Output template: perf,%engine%,%impl%,%name%,%prb%,%Gops%,%Gfreq%,%-time%,%-Gflops%,%0time%,%0Gflops%\n"
        line = "perf,cpu,{},,--mode=P --conv --dir=FWD_I ic64ih56oc64kh3ph1,0.2,0,{},1,{},1\n"
        log = self.write("b.log", head + line.format("jit", 0.5, 0.5) + line.format("brgconv", 0.25, 0.25))
        bench = self.write("g.json", json.dumps({"context": {"date": "2026-11-22T00:31:04Z", "host_name": "anvil"}, "benchmarks": [
            {"name": "<b>BM</b>", "run_type": "iteration", "real_time": 5.0, "cpu_time": 5.0, "time_unit": "us"}]}))
        imported = self.figures("store", "import", log, bench, *at)
        self.assertEqual((imported["experiments"]["added"], imported["points"]["added"], imported["notes"]), (2, 3, []))
        again = self.figures("store", "import", log, bench, *at)
        self.assertEqual((again["experiments"]["added"], again["points"]["added"], again["points"]["replaced"]), (0, 0, 0))
        self.assertEqual(self.lathe("store", "list", *at).stdout.count("imported (not verified here)"), 2)
        kept = self.figures("store", "list", "--kind", "imported", *at)["experiments"]
        self.assertEqual([(e["kind"], e["passed"]) for e in kept], [("imported", 0)] * 2)
        ours = next(e["uuid"] for e in kept if e["points"] == 2)
        shown = self.lathe("store", "show", ours, *at).stdout
        self.assertEqual(shown.count("not verified here"), 3, shown)
        self.assertIn("measured by another program", shown)
        self.assertNotIn("passed", shown)
        point = self.figures("store", "show", ours, *at)["points"][0]
        self.assertEqual((point["operator"], point["status"]), ("conv", "not_verified"))
        # Analyses compare such points with each other, and say what they are.
        text = self.lathe("ops", "analyze", "--what", "best,speedup", "--baseline", "benchdnn:jit", "--wide", *at).stdout
        self.assertIn("3 of 3 points not verified here", text)
        self.assertRegex(text, r"benchdnn:brgconv \(not verified here\) .*benchdnn:jit \(not verified here\)")
        found = self.figures("ops", "analyze", "--what", "best,speedup", "--baseline", "benchdnn:jit", *at)
        self.assertFalse(found["speedup"]["points"][0]["verified_here"])
        self.assertIn("(not verified here)", found["speedup"]["points"][0]["baseline"])
        self.assertIn("failed", self.figures("ops", "analyze", *at)["not_applicable"])  # none of them did
        self.lathe("store", "export", self.path("a.jsonl"), "--experiment", ours, *at)
        diff = self.lathe("ops", "diff", self.path("a.jsonl"), ours, "--all", "--wide", *at).stdout
        self.assertIn("2 of 2 points not verified here", diff)
        self.assertIn("benchdnn:jit (not verified here)", diff)
        # Files for other programs.
        rows = list(csv.DictReader(io.StringIO(self.lathe("store", "export", "-", "--format", "csv", *at).stdout)))
        self.assertEqual({row["status"] for row in rows}, {"not_verified"})
        self.assertTrue(all(row["reason"].startswith("not verified here: ") for row in rows))
        document = json.loads(self.lathe("store", "export", "-", "--format", "benchmark-json", "--experiment", ours, *at).stdout)
        self.assertEqual([(b["label"], "error_occurred" in b) for b in document["benchmarks"]], [("not verified here", False)] * 2)
        archive = self.figures("store", "merge", self.path("foreign2.db"), self.path("a.jsonl"))
        self.assertEqual(archive["points"]["added"], 2)
        self.error("store", "merge", self.path("foreign3.db"), log, says="b.log: is not an archive")
        # A format can be forced, and is said where the file ends too early.
        self.error("store", "import", log, "--format", "onnxruntime", *at, says="b.log:1: is not valid JSON")
        self.error("store", "import", log, "--format", "tflite", *at, says="--format")
        cut = self.write("cut.log", head + line.format("jit", 0.5, 0.5) + "perf,cpu,ji")
        done = self.lathe("store", "import", cut, "--store", self.path("cut.db"))
        self.assertIn("cut.log:3: the file ends in the middle of this line", done.stderr)

    def test_tags_notes_and_names(self):
        store, other, page = self.path("labels.db"), self.path("labels2.db"), self.path("labels.html")
        at = ["--store", store]
        bench = ["ops", "bench", "eltwise", "1x64:relu", "--provider", "lathe:auto", "--starts", "1", "--max-seconds", "0.05", *at]
        self.lathe(*bench, "--tag", "nightly,avx", "--note", "fans at full speed", "--name", "before the change")
        self.lathe(*bench, "--fresh")
        listed = lambda *flags: self.figures("store", "list", *at, *flags)["experiments"]
        tagged, plain = listed()
        self.assertEqual((tagged["tags"], tagged["note"], tagged["name"]), (["avx", "nightly"], "fans at full speed", "before the change"))
        self.assertNotIn("tags", plain)
        self.assertEqual([e["uuid"] for e in listed("--tag", "avx,nightly")], [tagged["uuid"]])
        self.assertIn("before the change #avx #nightly", self.lathe("store", "list", "--wide", *at).stdout)
        shown = self.figures("store", "tag", plain["uuid"][:8], "avx", "later", *at)
        self.assertEqual((shown["target"], shown["key"], shown["tags"]), ("experiment", plain["uuid"], ["avx", "later"]))
        self.assertEqual(len(listed("--tag", "avx")), 2)
        self.lathe("store", "tag", tagged["uuid"][:8], "nightly", "--remove", *at)
        self.error("store", "list", "--tag", "nightly", *at, says="--tag nightly: .*labels.db has no such experiment")
        self.lathe("store", "name", "platform:here", "build server", *at)
        problem = self.figures("store", "show", plain["uuid"], *at)["points"][0]["problem"]
        self.lathe("store", "name", f"problem:{problem}", "small relu", *at)
        self.lathe("store", "note", f"problem:{problem}", "a note", *at)
        self.lathe("store", "note", f"problem:{problem}", "", *at)
        self.assertIn("platform: build server\n", self.lathe("store", "show", plain["uuid"], *at).stdout)
        # Archives and other stores have them; what was removed stays removed.
        self.lathe("store", "merge", other, store)
        self.lathe("store", "export", self.path("labels.jsonl"), *at)
        self.lathe("store", "import", self.path("labels.jsonl"), "--store", other)
        document = self.figures("report", "--store", other, "--tag", "avx", "-o", page)
        self.assertEqual([sorted(e["tags"]) for e in document["experiments"]], [["avx"], ["avx", "later"]])
        self.assertEqual([platform["name"] for platform in document["platforms"]], ["build server"])
        self.assertEqual([(p["name"], "note" in p) for p in document["problems"]], [("small relu", False)])
        self.assertEqual(len(self.figures("ops", "diff", tagged["uuid"], plain["uuid"], "--store", other)["points"]), 1)
        self.error("store", "tag", "zz", "x", *at, says="no experiment's id begins with 'zz'")
        self.error("store", "tag", plain["uuid"], "a b", *at, says="'a b' is no tag: expected at most 64 characters")
        self.error("store", "name", plain["uuid"], "two\nlines", *at, says=r"the name 'two\\nlines' has control characters, expected one line")
        self.error(*bench, "--name", "two\nlines", says=r"--name: the name 'two\\nlines' has control characters")
        self.error("store", "name", "platform:zz", "x", *at, says="platform:zz: no key of a platform in .* begins so")
        self.error("store", "name", "problem:nothing", "x", *at, says="problem:nothing: .* has no point of this problem")
        self.error("store", "note", plain["uuid"], "x", "--store", self.path("none.db"), says="none.db: does not exist")
        self.error(*bench[:4], "--tag", "a b", *at, says="--tag: 'a b' is no tag")
        self.error(*bench[:4], "--tag", "a", "--no-store", says="--no-store")

    def test_other_programs_read_the_figures(self):
        store = ["--store", self.path("read.db")]
        self.lathe("ops", "bench", "conv2d", "ic16ih9oc24kh3ph1", "--provider", "lathe,lathe:plain", "--max-seconds", "0.05", *store)
        self.lathe("verify", self.net, "--seeds", "1")
        self.lathe("bench", self.net, "--repetitions", "5", *store)
        rows = list(csv.DictReader(io.StringIO(self.lathe("store", "export", "-", "--format", "csv", *store).stdout)))
        self.assertEqual([row["operator"] for row in rows], ["conv", "conv", "model"])
        samples = list(csv.DictReader(io.StringIO(self.lathe("store", "export", "-", "--format", "csv", "--samples", *store).stdout)))
        for row in rows:
            own = sorted(int(s["wall_ns"]) for s in samples if all(s[key] == row[key] for key in ["experiment", "problem", "provider", "variant"]))
            self.assertEqual(len(own), int(row["samples"]))
            self.assertAlmostEqual(float(row["median_ns"]), float(np.median(own)), delta=1e-3)
            self.assertEqual(float(row["min_ns"]), own[0])
        # The text of an operator's problem gives shapes and numbers of operations. The text of a model does not.
        for row in rows[:2]:
            self.assertEqual([row[shape] for shape in ("input_shape", "input2_shape", "output_shape")], ["1x16x9x9", "24x16x3x3", "1x24x9x9"])
            self.assertEqual(float(row["flops"]), 2 * 16 * 24 * (3 * 9 - 2) ** 2)  # taps inside of the input: 25 along each axis
            self.assertAlmostEqual(float(row["gflops"]), float(row["flops"]) / float(row["median_ns"]), delta=1e-6 * float(row["gflops"]))
            self.assertAlmostEqual(float(row["gbytes_per_second"]), float(row["bytes"]) / float(row["median_ns"]), delta=1e-6 * float(row["gbytes_per_second"]))
        self.assertEqual({rows[2][column] for column in ("input_shape", "input2_shape", "output_shape", "flops", "gflops")}, {""})
        self.assertEqual({sample["flops"] for sample in samples if sample["operator"] == "conv"}, {rows[0]["flops"]})
        self.assertTrue(all(sample["cpu_ns"] for sample in samples))
        for row in rows:
            self.assertEqual(row["cycles"] != "", row["frequency_khz"] != "")
        self.lathe("store", "export", self.path("gb.json"), "--format", "benchmark-json", *store)
        with open(self.path("gb.json")) as file:
            document = json.load(file)
        self.assertGreaterEqual(document["context"]["num_cpus"], 1)
        for entry in document["benchmarks"]:
            self.assertEqual((entry["run_type"], entry["time_unit"]), ("iteration", "ns"))
            self.assertGreater(entry["real_time"], 0)
            self.assertGreater(entry["cpu_time"], 0)
            if not any(row["cycles"] for row in rows):
                self.assertNotIn("CYCLES", entry)
        counted = self.figures("ops", "analyze", "--what", "counters", *store)["counters"]
        self.assertEqual(len(counted), sum(1 for row in rows if row["status"] == "passed"))
        self.assertTrue(all(figures["processors"] > 0 for figures in counted))
        self.assertEqual(sum(entry["iterations"] for entry in document["benchmarks"]), len(samples))
        only = list(csv.DictReader(io.StringIO(self.lathe("store", "export", "-", "--format", "csv", "--kind", "bench", *store).stdout)))
        self.assertEqual([row["operator"] for row in only], ["model"])
        self.error("store", "export", "-", "--format", "xml", *store, says="xml")
        self.error("store", "export", "-", "--samples", *store, says="--samples: only --format csv")
        self.error("store", "export", "-", "--kind", "nonsense", *store, says="no kind of experiment is called 'nonsense', expected ops, bench")
        self.error("store", "export", "-", "--experiment", "zz", *store, says="begins with 'zz'")

    def test_exports_of_two_machines_add_up(self):
        stores = [self.path("laptop.db"), self.path("server.db")]
        bench = ["ops", "bench", "eltwise", "{2..4}x64:relu", "--provider", "lathe", "--max-seconds", "0.02", "--starts", "1"]
        self.lathe(*bench, "--store", stores[0])
        self.lathe(*bench, "--store", stores[1], "--via", self.pretend("Pretended 7000"))
        self.lathe("bench", self.package, "--repetitions", "4", "--store", stores[1])
        archives = [store + ".jsonl.gz" for store in stores]
        for store, archive in zip(stores, archives):
            self.lathe("store", "export", archive, "--store", store)
        single = [self.figures("store", "list", "--store", store)["counts"] for store in stores]
        self.assertEqual([c["platforms"] for c in single], [1, 2])  # the server's bench was of this machine
        self.assertTrue(all(c["tuning"] == 3 for c in single), single)
        both = self.path("both.db")
        merged = self.figures("store", "merge", both, *archives)
        added = {key: single[0][key] + single[1][key] for key in single[0]}
        added["platforms"] -= 1  # which both know
        self.assertEqual(merged["counts"], added)
        self.assertEqual(merged["samples"], added["samples"])
        again = self.figures("store", "merge", both, *reversed(archives), stores[0])
        self.assertEqual(again["counts"], added)
        self.assertEqual([again[kind][how] for kind in ["platforms", "experiments", "points", "tuning"] for how in ["added", "replaced"]], [0] * 8)
        # The same from the other side, and exported again: to the byte.
        other = self.path("other.db")
        self.lathe("store", "merge", other, *reversed(archives))
        exported = [self.lathe("store", "export", "-", "--store", store).stdout for store in [both, other]]
        self.assertEqual(*exported)


if __name__ == "__main__":
    main()
