"""A store with points of every kind and its page, for the tests of `lathe report`."""
import base64
import json
import os
import re
import sqlite3
import subprocess
import zlib

from fixture import LATHE, Cli, network

HOSTILE = "<img src=x onerror=window.hacked=1></script><script>window.hacked=2</script>"


def document_of(page):
    """The document inside of a page, which its file has compressed."""
    data = re.search(r'<script type="application/json" id="lathe-data">([A-Za-z0-9+/=]+)</script>', page)[1]
    return json.loads(zlib.decompress(base64.b64decode(data)))


class Rows:
    """Rows of a store, made of copies: what takes minutes to measure is only shown here."""
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.row_factory = sqlite3.Row

    def copy(self, table, row, **changes):
        values = {**{key: row[key] for key in row.keys() if key != "id"}, **changes}
        names = ", ".join(values)
        return self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", list(values.values())).lastrowid

    def one(self, query, *values):
        return self.db.execute(query, values).fetchone()

    def experiment(self, kind, verb=None):
        first = self.one("SELECT * FROM experiment WHERE kind = 'ops' ORDER BY id")
        return self.copy("experiment", first, uuid=f"{kind}-0000-0000", kind=kind, command=f"lathe {verb or kind}")

    def point(self, experiment, operator, text, detail, provider, figures="{}"):
        first = self.one("SELECT * FROM point WHERE status = 'passed' ORDER BY id")
        known = self.one("SELECT id FROM problem WHERE key = ?", f"{operator} {text}")
        problem = known["id"] if known else self.db.execute("INSERT INTO problem (key, operator, text, detail) VALUES (?, ?, ?, ?)", (f"{operator} {text}", operator, text, json.dumps(detail))).lastrowid
        starts = [3] * 6  # a column that is far behind may have fewer
        point = self.copy("point", first, key=f"{experiment} {text} {provider}", experiment=experiment, problem=problem, provider=provider, variant="", figures=figures, starts=json.dumps(starts))
        sample = self.one("SELECT * FROM sample WHERE point = ?", first["id"])
        for index in range(3 * sum(starts)):
            self.copy("sample", sample, point=point, round=index // 3, repetition=index % 3, wall_ns=10000 + 10 * (index * 7 % 11))

    def tuning(self, experiment, times):
        platform = self.one("SELECT id FROM platform")["id"]
        task = self.db.execute("INSERT INTO task (text, family) VALUES ('task/2 | conv | shapes | relu | 1 thread | cpu', 'contraction')").lastrowid
        for index, seconds in enumerate(times):
            self.db.execute("INSERT INTO tuning (task, platform, schedule, status, reason, seconds, samples, verdict, searcher, version, build, experiment, measured) "
                            "VALUES (?, ?, ?, ?, '', ?, '[]', 'open', 'model', '', '', ?, ?)",
                            (task, platform, f"direct/1 px={index + 1}", "passed" if seconds else "failed", seconds, experiment, f"2026-01-01T00:00:0{index}.000000Z"))


class ReportCase(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.store = os.path.join(cls.folder.name, "report.db")
        cls.page = os.path.join(cls.folder.name, "report.html")

    def measured(self):
        """A store with points of every kind; the page and its document."""
        if os.path.exists(self.page):
            with open(self.page + ".json", encoding="utf-8") as file:
                return json.load(file)
        at = ["--store", self.store]
        for _ in range(2):  # of equal points the later ones count
            self.lathe("ops", "bench", "conv2d", "ic8ih7oc8kh1", "ic8ih7oc16kh1", "ic8ih7oc32kh1", "--provider", "lathe,lathe:plain", "--max-seconds", "0.05", "--fresh", *at)
        profiled = self.path("profiled.mlir")  # a node of it has a name that is markup
        with open(profiled, "w") as file:
            file.write(network().replace('loc("relu2")', f"loc({json.dumps(HOSTILE)})"))
        self.lathe("profile", profiled, "--repetitions", "8", *at)
        rows = Rows(self.store)
        ops = rows.one("SELECT id FROM experiment WHERE kind = 'ops' ORDER BY id")["id"]
        rows.point(ops, "custom", HOSTILE, {}, "lathe")
        segments, evaluation = rows.experiment("segments"), rows.experiment("evaluate")
        for operators, node in enumerate(["conv1", "conv2"]):
            for provider in ["lathe", "onnxruntime"]:
                rows.point(segments, "segment", f"net from the inputs to {node}", {"from": "", "to": node, "operators": operators + 1}, provider)
        rows.point(evaluation, "model", "net on pictures", {"classes": {"0": HOSTILE, "1": "rose"}}, "lathe", json.dumps({"pictures": 4, "top1": 0.75, "top5": 1, "confusion 0 0": 2, "confusion 0 1": 1, "confusion 1 1": 1}))
        sweep = rows.experiment("bench", "sweep net.onnx")
        for provider in ["lathe", "other"]:
            rows.point(sweep, "model", "net.onnx input 1x8", {}, provider, json.dumps({"package_bytes": 4096, "original_bytes": 8192, "conversions": 1, "references": 0}))
        rows.tuning(rows.experiment("tune"), [3e-3, None, 2e-3, 2.5e-3])
        rows.db.commit()
        made = subprocess.run([LATHE, "report", *at, "-o", self.page, "--json", self.page + ".json"], capture_output=True, text=True)
        if "npm was missing" in made.stderr:
            self.skipTest("SKIPPED: this build has no page of reports (npm was missing)")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertRegex(made.stdout, r"report.html: \d+ experiments, \d+ points, 4 tuning records\n")
        return self.measured()
