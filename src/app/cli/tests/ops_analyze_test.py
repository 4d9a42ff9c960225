"""`lathe ops analyze` and `diff`: what measurements say."""
import json
import os
import shutil
import subprocess

import numpy as np

from fixture import Cli, main, network

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "laboratory", "report", "page")


class OpsAnalyze(Cli):
    def test_measurements_are_analysed(self):
        at = ["--store", self.path("analysed.db")]
        self.error("ops", "analyze", *at, says="analysed.db: does not exist")
        sizes = ["ic8ih7oc8kh1", "ic8ih7oc16kh1", "ic8ih7oc32kh1"]
        results = [self.path("first.json"), self.path("second.json")]
        for result in results:
            self.lathe("ops", "bench", "conv2d", *sizes, "--provider", "lathe,lathe:plain", "--max-seconds", "0.05", "--json", result, *at)
        self.lathe("verify", self.net)
        self.lathe("bench", self.net, "--repetitions", "5", *at)
        self.lathe("ops", "bench", "--from-model", self.net, "--provider", "lathe", "--max-seconds", "0.05", *at)
        kept = self.figures("store", "list", *at)["experiments"]
        points = [self.figures("store", "show", e["uuid"], *at)["points"] for e in kept]

        found = self.figures("ops", "analyze", "--baseline", "lathe:plain", "--from-model", self.net, *at)
        self.assertEqual(set(found["not_applicable"]), {"failed", "schedules", "account", "company"})  # nothing failed, no profile yet
        needed = f"needs `lathe profile {self.net}`, `lathe bench {self.net}` and `lathe ops bench --from-model {self.net}`"
        self.assertEqual(found["not_applicable"]["account"], needed)
        last = {(p["problem"], p["variant"]): p for p in points[1]}  # of the same points twice the last ones count
        speedups = {p["problem"]: p for p in found["speedup"]["points"]}
        self.assertEqual(len(speedups), 3)
        for problem, speedup in speedups.items():
            self.assertAlmostEqual(speedup["median_ms"], last[problem, "auto"]["time"]["median_ms"], delta=1e-6)
            self.assertAlmostEqual(speedup["baseline_median_ms"], last[problem, "plain"]["time"]["median_ms"], delta=1e-6)
        mean = np.exp(np.mean([np.log(s["ratio"]) for s in speedups.values()]))
        self.assertAlmostEqual([s for s in found["speedup"]["summaries"] if s["column"] == "lathe:auto"][0]["geometric_mean"], mean, delta=1e-6)
        for share in found["roofline"]:
            self.assertGreater(share["gflops"], 0)
        own = points[3]
        counts = {p["text"]: p["count"] for p in self.figures("ops", "problems", self.net)["problems"]}
        estimate = [e for e in found["estimate"] if e["provider"] == "lathe"][0]
        self.assertEqual(estimate["missing"], [])
        self.assertEqual(estimate["operators"], sum(counts.values()))
        self.assertAlmostEqual(estimate["measured_ms"], points[2][0]["time"]["median_ms"], delta=1e-6)
        self.assertAlmostEqual(estimate["estimate_ms"], sum(p["time"]["median_ms"] for p in own if p["variant"] == "auto"), delta=1e-4)
        self.assertEqual({line["count"] for line in found["table"][0]["lines"]}, {1})
        self.lathe("profile", self.net, "--repetitions", "8", *at)
        account, = self.figures("ops", "analyze", "--what", "account", "--from-model", self.net, *at)["account"]
        self.assertEqual(account["state"], "hot")  # a few kilobytes of constants
        by_problem = {line["problem"]: line for line in account["lines"] if "problem" in line}
        self.assertEqual({text: line["count"] for text, line in by_problem.items()}, counts)
        for line in by_problem.values():
            self.assertGreaterEqual(line["kernels"], line["count"])
        self.assertAlmostEqual(account["estimate_ms"], estimate["estimate_ms"], delta=1e-4)
        self.assertAlmostEqual(account["measured_ms"], estimate["measured_ms"], delta=1e-6)
        self.assertAlmostEqual(sum(line["in_network_ms"] for line in account["lines"]) + account["overhead_ms"], account["profiled_ms"], delta=1e-6)
        self.assertIn("in the network ms", self.lathe("ops", "analyze", "--what", "account", "--from-model", self.net, *at).stdout)
        self.assertIn([8, 16, 32], [[int(x) for x in t["x"]] for t in found["turning"]["curves"] if t["resource"].startswith("w[0]")])
        along = [t for t in found["turning"]["curves"] if t["resource"].startswith("w[0]") and t["context"].startswith("lathe:auto")]
        self.assertEqual([len(t["predicted"]["cycles"]) for t in along], [3])  # beside the times
        self.assertGreater(along[0]["predicted"]["cycles"][2], along[0]["predicted"]["cycles"][0])
        for changes in "fastest_changes", "predicted_fastest_changes":
            for change in found["turning"][changes]:
                self.assertEqual({change["from"], change["to"]}, {"lathe:auto", "lathe:plain"})
        summary = self.narrow("ops", "analyze", "--baseline", "lathe:plain", "--from-model", self.net, *at)
        self.assertLess(len(summary.splitlines()), 25, summary)  # a screenful
        self.assertRegex(summary, r"analysed.db: \d+ points of \d+ problems on 1 platform, measured")
        for name in ["roofline", "best", "speedup", "estimate", "turning"]:
            self.assertRegex(summary, rf"\n{name} +\S")
        self.assertIn("--what NAME,... shows the tables", summary)
        self.assertGreater(len(self.narrow("ops", "analyze", "--what", "all", "--from-model", self.net, *at).splitlines()), len(summary.splitlines()))
        text = self.lathe("ops", "analyze", "--what", "best,speedup,estimate", "--operator", "conv2d", *at).stdout
        self.assertIn("Fastest of each problem", text)
        self.assertRegex(text, "speedup +give --baseline PROVIDER")
        self.assertRegex(text, "estimate +give --from-model MODEL")
        self.error("ops", "analyze", "--what", "roof", *at, says="--what: roof")
        self.error("ops", "analyze", "--threads", "63", *at, says="has no points that match the flags")
        self.error("ops", "analyze", "--baseline", ":x", *at, says="expected PROVIDER")

        first, second = kept[0]["uuid"], kept[1]["uuid"]
        diff = self.figures("ops", "diff", first[:12], second[:12], *at)
        self.assertEqual(len(diff["points"]), len(points[0]))
        self.assertEqual(diff["only_before"] + diff["only_after"], 0)
        by_file = self.figures("ops", "diff", *results)
        ratios = lambda d: {(p["problem"], p["variant"]): p["ratio"] for p in d["points"] if "ratio" in p}
        exact = ratios(by_file)
        self.assertEqual(exact.keys(), ratios(diff).keys())
        for point in diff["points"]:  # the store has whole nanoseconds
            if "ratio" in point:
                shortest = min(point["before"]["median_ms"], point["after"]["median_ms"]) * 1e6
                self.assertAlmostEqual(exact[point["problem"], point["variant"]] / point["ratio"], 1, delta=1e-4 + 1.5 / shortest)
        if shutil.which("node") and os.path.isdir(os.path.join(PAGE, "node_modules", "esbuild")):  # the page says the same
            document = self.path("page.json")
            self.lathe("report", "--experiment", f"{first},{second}", "-o", self.path("page.html"), "--json", document, *at)
            told = json.loads(subprocess.run(["node", os.path.join(PAGE, "tests", "judge.mjs"), document], capture_output=True, text=True, check=True).stdout)
            page = {(p["problem"], p["variant"]): p for p in told if p["before"] == first}
            self.assertEqual(len(page), len(ratios(diff)))
            for point in diff["points"]:
                if "ratio" in point:
                    shown = page[point["problem"], point["variant"]]
                    self.assertEqual((shown["verdict"], shown["isRange"]), (point["verdict"], point["confidence"] is None))
                    precision = 1e-5 + 3e-4 * (point["ratio_high"] / point["ratio_low"] - 1)  # of intervals on the page
                    for name, key in [("ratio", "ratio"), ("low", "ratio_low"), ("high", "ratio_high")]:
                        self.assertAlmostEqual(shown[name] / point[key], 1, delta=precision)
        archive = self.path("first.jsonl.gz")
        self.lathe("store", "export", archive, "--experiment", first, *at)
        self.assertEqual(ratios(self.figures("ops", "diff", archive, second, *at)), ratios(diff))
        alone = self.path("first.db")  # a store file is a side, too
        self.lathe("store", "import", archive, "--store", alone)
        self.assertEqual(ratios(self.figures("ops", "diff", alone, second, *at)), ratios(diff))
        # Times written by hand: doubled is slower beyond doubt, a failure broken, a row taken out missing.
        with open(results[0]) as file:
            document = json.load(file)
        doubled = self.path("doubled.json")
        for factor, path in [(1, results[0]), (2, doubled)]:
            for row in document["rows"]:
                row.update(starts=[2] * 6, other_processors=0)
                for point in row["points"]:
                    point["rounds_ns"] = [[1000 * factor, 1001 * factor, 1002 * factor]] * 12
            with open(path, "w") as file:
                json.dump(document, file)
        slower = self.figures("ops", "diff", results[0], doubled, "--fail-on", "slower:3%", code=1)
        self.assertEqual(slower["slower"], len(points[0]))
        self.assertAlmostEqual(slower["geometric_mean"], 0.5, delta=1e-9)
        self.lathe("ops", "diff", results[0], doubled, "--fail-on", "slower:150%,failed,missing")
        # Several experiments, each beside the first: the gate is over all of them.
        both = self.figures("ops", "diff", results[0], results[0], doubled, "--fail-on", "slower", code=1)
        self.assertEqual([[one["after"], one["slower"], one["fail_on"][0]["points"]] for one in both["comparisons"]],
                         [[results[0], 0, 0], [doubled, len(points[0]), len(points[0])]])
        self.assertIn(f"{results[0]} -> {doubled}\n", self.lathe("ops", "diff", results[0], doubled, results[0]).stdout)
        # One start: a range, no verdict, and no gate that waits for one.
        for row in document["rows"]:
            row["starts"] = [12]
        single = self.path("single.json")
        with open(single, "w") as file:
            json.dump(document, file)
        few = self.figures("ops", "diff", results[0], single)
        self.assertEqual((few["ambiguous"], few["too_few_starts"]), (len(points[0]), len(points[0])))
        self.assertEqual({(p["confidence"], p["ambiguous_because"]) for p in few["points"]}, {(None, "too few starts")})
        text = self.lathe("ops", "diff", results[0], single).stdout
        self.assertRegex(text, rf"^{len(points[0])} of \d+ ratios? cannot be faster or slower: that verdict needs 6 starts")
        self.assertIn("ambiguous (too few starts)", text)
        self.error("ops", "diff", results[0], single, "--fail-on", "failed,slower:3%",
                   says="--fail-on slower:3%: .*single.json: expected points with 6 starts on each side, .*got at most 1: measure with --starts 6")
        self.lathe("ops", "diff", results[0], single, "--fail-on", "failed,missing")
        for row in document["rows"]:
            row["starts"] = [2] * 6
        document["rows"][0]["points"][0].update(status="failed", rounds_ns=[])
        document["rows"].pop()
        with open(doubled, "w") as file:
            json.dump(document, file)
        self.lathe("ops", "diff", results[0], doubled, "--fail-on", "failed", code=1)
        self.lathe("ops", "diff", results[0], doubled, "--fail-on", "missing", code=1)
        self.lathe("ops", "diff", doubled, results[0], "--fail-on", "failed,missing")
        self.assertIn("broken", self.lathe("ops", "diff", results[0], doubled).stdout)
        self.error("ops", "diff", results[0], doubled, "--fail-on", "worse", says="--fail-on 'worse': expected slower")
        self.error("ops", "diff", self.net, doubled, says="net.mlir: is not an archive")
        self.error("ops", "diff", "zz", doubled, *at, says="begins with 'zz'")


if __name__ == "__main__":
    main()
