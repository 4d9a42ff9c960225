"""`lathe report` in headless Chromium: what the page shows is what the store says."""
import json
import os
import shutil
import subprocess
import unittest

from fixture import main
from report_store import HOSTILE, ReportCase, Rows

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "laboratory", "report", "page")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = [what for what, here in [("Chromium (dev/setup.sh bench)", BROWSER), ("playwright-core (npm ci in report/page)", os.path.isdir(os.path.join(PAGE, "node_modules", "playwright-core")))] if not here]


def sorted_median(values):
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


@unittest.skipIf(MISSING, "SKIPPED: missing are " + ", ".join(MISSING))
class Browser(ReportCase):
    def points(self):
        """Every point, from the tables of the store."""
        rows = Rows(self.store)
        query = ("SELECT point.id, experiment.uuid AS experiment, problem.text AS problem, operator, problem.detail, provider, variant, threads, status, repro, figures, measured, kind FROM point "
                 "JOIN experiment ON experiment.id = experiment JOIN problem ON problem.id = problem JOIN setting ON setting.id = setting")
        points = []
        for row in rows.db.execute(query).fetchall():
            samples = [sample["wall_ns"] for sample in rows.db.execute("SELECT wall_ns FROM sample WHERE point = ? ORDER BY round, repetition", (row["id"],))]
            points.append({**dict(row), "samples": samples, "median_ms": sorted_median(samples) * 1e-6 if samples else None})
        return points

    def foreign(self):
        """A page of what benchdnn measured."""
        log, page, store = (self.path(name) for name in ["benchdnn.log", "foreign.html", "foreign.db"])
        with open(log, "w") as file:
            for implementation, time in [("jit", 0.5), ("brgconv", 0.25)]:
                file.write(f"perf,cpu,{implementation},,--conv --dir=FWD_I ic8ih7oc8kh1,0.1,0,{time},1,{time},1\n")
        self.lathe("store", "import", log, "--store", store)
        self.lathe("report", "--store", store, "-o", page)
        return page

    def turns(self):
        """A page of points that a sweep and segments have measured in turns, of one that nobody has verified and of a name that turns
        text around, with the verdicts of the analysis. Some turns have fewer starts than a verdict needs."""
        store, page = self.path("turns.db"), self.path("turns.html")
        Rows(self.store).db.execute("VACUUM INTO ?", (store,))
        rows = Rows(store)
        slow = rows.db.execute("SELECT point.id, starts, problem.text FROM point JOIN experiment ON experiment.id = experiment JOIN problem ON problem.id = problem "
                               "WHERE kind IN ('bench', 'segments') AND provider IN ('other', 'onnxruntime')").fetchall()
        for point in slow:  # other times in every round, about 1.5 times as long
            rows.db.execute("UPDATE sample SET wall_ns = CAST(wall_ns * (1.5 + 0.01 * (round * 7 % 5)) AS INTEGER) WHERE point = ?", (point["id"],))
        few = [point for point in slow if point["text"].endswith("conv2")]
        self.assertEqual((len(slow), len(few)), (3, 1))
        starts = json.loads(few[0]["starts"])
        self.assertGreaterEqual(len(starts), 6)
        rows.db.execute("UPDATE point SET starts = ? WHERE problem = (SELECT problem FROM point WHERE id = ?)", (json.dumps([sum(starts[:3]), sum(starts[3:])]), few[0]["id"]))
        ops = rows.one("SELECT * FROM experiment WHERE kind = 'ops'")
        rows.point(rows.copy("experiment", ops, uuid="unverified-0000", kind="bench", command="lathe bench"), "model", "\u202etxen.onnx", {}, "lathe")
        rows.db.execute("UPDATE point SET status = 'mistrusted', reason = 'unverified (lathe verify)' WHERE id = (SELECT max(id) FROM point)")
        rows.db.execute("UPDATE experiment SET settings = '{}' WHERE id = (SELECT max(id) FROM experiment)")
        rows.db.commit()
        self.lathe("report", "--store", store, "-o", page, "--title", "T" * 400)
        best = self.figures("ops", "analyze", "--what", "best", "--store", store)["best"]["points"]
        said = lambda entry: entry["verdict"] + (f" ({entry['ambiguous_because']})" if entry["ambiguous_because"] else "")
        verdicts = [[entry["problem"], said(entry), entry["ratio"], entry["ratio_low"], entry["ratio_high"]] for entry in best if "verdict" in entry]
        self.assertEqual({problem: verdict for problem, verdict, *_ in verdicts if "conv2" in problem or "conv1" in problem or "net.onnx" in problem},
                         {"net from the inputs to conv1": "faster", "net from the inputs to conv2": "ambiguous (too few starts)", "net.onnx input 1x8": "faster"})
        return {"page": page, "verdicts": verdicts}

    def platforms(self):
        """A page of the store with points of another platform."""
        store, page = self.path("platforms.db"), self.path("platforms.html")
        Rows(self.store).db.execute("VACUUM INTO ?", (store,))
        self.lathe("ops", "bench", "conv2d", "ic8ih7oc8kh1", "ic8ih7oc16kh1", "ic8ih7oc32kh1", "--provider", "lathe,lathe:plain", "--max-seconds", "0.05", "--via", self.pretend("Pretended 9000"), "--store", store)
        self.lathe("report", "--store", store, "-o", page)
        return page

    def expected(self):
        points = self.points()
        current = {(p["kind"], p["operator"], p["problem"], p["provider"], p["variant"]): p for p in sorted(points, key=lambda p: p["measured"])}.values()
        kernels = [p for p in current if p["operator"] == "kernel"]
        heavy = [p for p in kernels if json.loads(p["detail"])["flops"] > 0 and json.loads(p["detail"])["bytes"] > 0]
        predicted = [p for p in kernels if "predicted_us" in p["figures"]]
        graph = json.loads(Rows(self.store).one("SELECT detail FROM experiment WHERE kind = 'profile'")["detail"])["graph"]
        ends = {(start, end)[side] if (start, end)[side] >= 0 else (side, value) for start, end, value in graph["edges"] for side in (0, 1)}
        speedups = []
        for baseline in ["lathe:plain", "lathe:auto"]:
            found = self.figures("ops", "analyze", "--what", "speedup", "--baseline", baseline, "--store", self.store)["speedup"]["summaries"]
            speedups.append({"baseline": baseline, "means": [{"column": s["column"], "mean": s["geometric_mean"]} for s in found if ":" in s["column"]]})
        return {
            "foreign": self.foreign(), "turns": self.turns(), "platforms": {"page": self.platforms(), "name": "Pretended 9000"}, "points": points, "current": len(current), "hostile": {"text": HOSTILE, "count": len([p for p in current if "onerror" in p["problem"].lower()])}, "speedups": speedups,
            "sections": ["overview", "violins", "curves", "speedups", "roofline", "sweeps", "best", "segments", "profile", "graph", "tuning", "confusion", "points", "failures", "environment"],
            "filter": {"text": "plain", "count": len([p for p in current if p["variant"] == "plain"])},
            "marks": {"violins": [3 * 2 + 2 * 2 + 2], "curves": [3 * 2], "roofline": [3 * 2 + len(heavy)], "segments": [4, 0], "confusion": [3], "tuning": [2 * 4],
                      "profile": [len(kernels), min(25, len(kernels)), len(predicted)], "graph": [len(ends)]},
        }

    def test_a_browser_shows_what_the_store_says(self):
        self.measured()
        expected = self.path("expected.json")
        with open(expected, "w", encoding="utf-8") as file:
            json.dump(self.expected(), file)
        ran = subprocess.run(["node", os.path.join(PAGE, "tests", "page.mjs"), self.page, expected, BROWSER], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(ran.stdout.count("ok "), 18, ran.stdout)


if __name__ == "__main__":
    main()
