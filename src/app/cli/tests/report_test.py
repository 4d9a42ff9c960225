"""`lathe report`: a page in one file with the data of the store, and plots as SVG files."""
import json
import os
import shutil

from fixture import main
from report_store import HOSTILE, ReportCase, Rows, document_of


class Report(ReportCase):
    def test_errors(self):
        self.error("report", "--store", self.path("none.db"), says="none.db: does not exist")
        self.measured()
        self.error("report", "--store", self.store, "--operator", "nothing", "-o", self.path("x.html"), says="has no points that match the flags")
        self.error("report", "--store", self.store, "-o", self.store, says="report.db")  # an input is never replaced
        self.error("report", "--store", self.store, "--baseline", "nonsense", "-o", self.path("x.html"), says="report: --baseline nonsense: has no points here, expected one of .*lathe")
        self.error("report", "--store", self.store, "--from-model", "zoo:nonsense", "-o", self.path("x.html"), says="lathe report: .*nonsense")
        self.error("report", "--store", self.store, "--suite", "networks/nonsense", "-o", self.path("x.html"), says="lathe report: .*nonsense")
        self.error("report", "--store", self.store, "--problems", "x.csv", "-o", self.path("x.html"), says="--problems x.csv: no list of problems is read without --suite")
        self.error("report", "--store", self.store, "--svg", "/proc/x", says="lathe report: --svg /proc/x: cannot create the folder: ")
        self.assertFalse(os.path.exists(self.path("x.html")))

    def test_a_suite_is_a_network(self):
        listed = self.path("list.csv")
        store = self.path("suite.db")
        self.lathe("ops", "problems", self.net, "--csv", listed)
        with open(listed) as file:
            suite = file.read().splitlines()[1].split(",")[0]
        self.lathe("ops", "bench", "--suite", suite, "--problems", listed, "--provider", "lathe:auto", "--starts", "1", "--max-seconds", "0.05", "--store", store)
        page = self.figures("report", "--store", store, "--suite", suite, "--problems", listed, "-o", self.path("suite.html"))
        self.assertEqual({estimate["network"] for estimate in page["estimates"]}, {suite})
        self.assertTrue(all(estimate["operators"] for estimate in page["estimates"]))

    def test_the_page_is_one_file(self):
        document = self.measured()
        with open(self.page, encoding="utf-8") as file:
            page = file.read()
        self.assertNotRegex(page, r'(?:src|href)="(?!data:)[^"#]')
        self.assertIn("default-src 'none'", page)
        self.assertIn("Apache License", page)  # the notices of what is bundled
        self.assertEqual(document_of(page)["points"], document["points"])
        self.assertIn(HOSTILE, [problem["text"] for problem in document["problems"]])

    def test_company_is_a_matrix(self):
        self.measured()
        store = shutil.copy(self.store, self.path("company.db"))
        rows = Rows(store)
        alone = rows.one("SELECT * FROM point WHERE status = 'passed' AND starts <> '[]' AND problem IN (SELECT id FROM problem WHERE operator = 'conv') ORDER BY id DESC")
        company = {"problem": "relu x=64", "provider": "lathe:auto", "threads": 1, "place": "cache", "least_runs": 3}
        setting = rows.copy("setting", rows.one("SELECT * FROM setting WHERE id = ?", alone["setting"]), key="in company", company=json.dumps(company))
        together = rows.copy("point", alone, key="in company", setting=setting, figures='{"companion_runs": 40, "companion_rate": 12345}')
        for sample in rows.db.execute("SELECT * FROM sample WHERE point = ?", (alone["id"],)).fetchall():
            rows.copy("sample", sample, point=together, wall_ns=2 * sample["wall_ns"])
        rows.db.commit()
        rows.db.close()
        page = self.path("company.html")
        self.lathe("report", "--store", store, "-o", page)
        with open(page, encoding="utf-8") as file:
            document = document_of(file.read())
        self.assertEqual([setting["company"] for setting in document["settings"] if "company" in setting], [company])
        folder = self.path("company")
        self.lathe("report", "--store", store, "--svg", folder)
        with open(os.path.join(folder, "company.svg"), encoding="utf-8") as file:
            plot = file.read()
        self.assertIn(">2.000×", plot)
        self.assertIn(">relu x=64<", plot)
        self.assertIn("beside (1 thread, same cache)", plot)
        self.assertNotIn("NaN", plot)

    def test_plots_are_svg_files(self):
        self.measured()
        folder = self.path("plots")
        said = self.lathe("report", "--store", self.store, "--svg", folder).stdout
        files = sorted(os.listdir(folder))
        self.assertIn(f"{folder}: {len(files)} plots", said)
        for kind in ["violins-time", "violins-gflops", "curves-time", "curves-gflops", "speedup", "roofline", "segments-parts", "profile-timeline", "profile-kernels", "profile-graph", "tuning", "confusion"]:
            self.assertTrue(any(name.startswith(kind) for name in files), (kind, files))
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                plot = file.read()
            self.assertTrue(plot.startswith("<svg") and plot.rstrip().endswith("</svg>"), name)
            self.assertNotIn("NaN", plot, name)


if __name__ == "__main__":
    main()
