"""Writes docs/performance.md from the rows of bench.py."""
import hashlib
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile

import figures
import goals
import readme_table
import samples

DISTURBING = 0.15  # processors kept busy by others; lab/machine/Disturbance.h
KINDS = ["3x3", "1x1", "depthwise", "strided", "other"]


def one_line(row):
    if "unable" in row:
        return row["unable"]
    if row.get("peers"):
        peer = row["peers"][0]
        return "%.3f %s%s" % (peer["ratio"], peer["verdict"], ", disturbed" if disturbed(row) else "")
    if "whole_ms" in row:
        return "%.3f ms" % row["whole_ms"]
    return "%.1f MiB, ONNX Runtime %.1f MiB" % tuple(row[who]["peak_rss_bytes"] / 2**20 for who in ("any", "onnxruntime"))


def interval(peer):
    """The 95 % interval, or the range with a note if there are too few starts."""
    return "%.3f to %.3f%s" % (peer["ratio_low"], peer["ratio_high"], "" if peer.get("confidence") else ", range")


def disturbed(row):
    return row.get("other_processors", 0) > DISTURBING


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def load(folder, program, name):
    file = folder / (name + ".json")
    row = json.loads(file.read_text()) if file.exists() else {"failure": "not measured"}
    return row if "failure" in row or row.get("program") in (program, None) else {"failure": "not measured with this program"}


def table(titles, rows):
    return "\n".join(["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles), *("| " + " | ".join(row) + " |" for row in rows), ""])


def said(command):
    result = subprocess.run(command, capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def machine(lathe):
    text = said([lathe, "machine", "--json", "-"])
    return json.loads(text) if text else {}


def cpu_name(machine):
    """LLVM's name of the CPU, which distinguishes machines with the same brand string."""
    return machine.get("facts", {}).get("cpu", "?")


def plural(count, word):
    return "%d %s%s" % (count, word, "" if count == 1 else "s")


class Page:
    def __init__(self, root, folder, lathe, program, settings, batches):
        self.root, self.folder, self.lathe, self.settings, self.batches = root, folder, lathe, settings, batches
        self.networks = {(network, threads): load(folder, program, "network-%s-%d" % (network.replace(":", "-"), threads))
                         for network in settings.networks for threads in settings.threads}
        self.batch = {(batch, threads): load(folder, program, "batch-%d-%d" % (batch, threads)) for batch in batches for threads in settings.threads}
        self.bf16 = {(network, threads): load(folder, program, "bf16-%s-%d" % (network, threads)) for network in goals.BF16 for threads in settings.threads}
        self.memory = {network: load(folder, program, "memory-" + network.replace(":", "-")) for network in settings.networks}
        self.nothing = load(folder, program, "memory")
        file = folder / "convolutions.json"
        stamp = folder / "convolutions.stamp"
        fresh = file.exists() and stamp.exists() and json.loads(stamp.read_text())["program"] == program
        self.convolutions = json.loads(file.read_text()) if fresh else {"rows": [], "summaries": []}
        for part in ("rows", "summaries"):
            self.convolutions[part] = [entry for entry in self.convolutions[part] if entry["threads"] in settings.threads]
        self.files = {}  # name -> text, written beside the page

    def ratio(self, network, threads):
        row = self.networks.get((network, threads), {"failure": ""})
        return None if "failure" in row else row["peers"][0]["ratio"]

    def milliseconds(self, network, threads):
        row = self.networks.get((network, threads), {"failure": ""})
        return None if "failure" in row else row["sides"][0]["time"]["median_ms"]

    def speedup(self, network):
        """Speedup of the second number of threads over the first."""
        times = [self.milliseconds(network, threads) for threads in self.settings.threads]
        return times[0] / times[1] if len(times) == 2 and all(times) else None

    def own_memory(self, row, who):
        """Bytes of a process beyond a process that runs almost nothing. `who`: any, small (--memory) or onnxruntime."""
        return row[who]["peak_rss_bytes"] - self.nothing.get(who, {}).get("peak_rss_bytes", 0)

    def memory_share(self, row):
        """Memory relative to the minimum of any runtime: packed constants and the temporaries that live at the same time."""
        return self.own_memory(row, "any") / (row["any"]["constant_bytes"] + row["any"]["live_bytes"])

    def commits(self):
        rows = [*self.networks.values(), *self.batch.values(), *self.bf16.values(), *self.memory.values(), self.convolutions]
        return sorted({row["commit"] for row in rows if row.get("commit")})

    def dates(self):
        rows = [*self.networks.values(), *self.batch.values(), *self.bf16.values(), *self.memory.values(), self.convolutions]
        return sorted(row["finished"] for row in rows if row.get("finished"))

    # Sections.

    def goal_section(self):
        any_disturbed = any(disturbed(row) for row in [*self.networks.values(), *self.batch.values(), *self.bf16.values(), *self.convolutions["rows"]])
        return "## Asked for, and measured\n\n" + ("On a disturbed machine: of times nothing here is settled.\n\n" if any_disturbed else "") + table(["goal", "asked for", "measured", ""], goals.goals(self, geometric_mean, plural))

    def head(self):
        facts = machine(self.lathe)
        timed = [row for row in [*self.networks.values(), *self.batch.values(), *self.bf16.values(), *self.convolutions["rows"]] if row.get("peers") or row.get("points")]
        dates, commits = self.dates(), self.commits()
        busy = [row["other_processors"] for row in timed if disturbed(row)]
        stolen = [row["stolen_processors"] for row in timed if row.get("stolen_processors", 0) > 0.02]
        lines = ["- **Machine**: %s%s, %s, %s; measured peak %s GFLOPS fp32 on one thread." % (
            facts.get("cpu", "?"), " (virtual machine, %s)" % (facts.get("hypervisor") or "?") if facts.get("virtualized") else "",
            plural(facts.get("hardware_threads", facts.get("threads", 0)), "hardware thread"), facts.get("kernel", "?"), peak_of(facts))]
        versions = {"Lathe": plural(len(commits), "commit").split(" ", 1)[1] + " " + (" and ".join(commits) or "?")}
        settings = ""
        for row in self.networks.values():
            for side in row.get("sides", []):
                if side["name"] == "onnxruntime":
                    versions["ONNX Runtime"] = side["version"]
                    settings = " (%s)" % ", ".join("%s %s" % item for item in sorted(side["settings"].items()) if not isinstance(item[1], (dict, list)))
        for row in self.convolutions["rows"]:
            for point in row["points"]:
                if point["provider"] == "onednn" and point["version"]:
                    versions["oneDNN"] = point["version"]
        if torch := said(["/usr/bin/python3", "-c", "import torch, torchvision; print('%s, torchvision %s' % (torch.__version__, torchvision.__version__))"]):
            versions["PyTorch"] = torch + " (exports the networks)"
        lines.append("- **Versions**: " + "; ".join("%s %s" % item for item in versions.items()).replace("; oneDNN", settings + "; oneDNN") + ".")
        if dates:
            lines.append("- **Measured**: %s to %s, at most %g s of timing a network%s." % (
                dates[0], dates[-1], self.settings.seconds, " and %g s a convolution" % (self.settings.seconds / 20) if self.convolutions["rows"] else ""))
        if busy:
            lines.append("- **The machine was disturbed**: during %d of %d rows other programs kept more than %g processors busy (median of those rows %.2f, most "
                         "%.2f): their rows are marked and their figures not to be trusted." % (len(busy), len(timed), DISTURBING, statistics.median(busy), max(busy)))
        elif timed:
            lines.append("- **Undisturbed**: in none of %d rows did other programs keep more than %g processors busy." % (len(timed), DISTURBING))
        if stolen:
            lines.append("- **Steal time**: the virtual machine's host took processor time away during %d of %d rows (median of those %.2f processors)." %
                         (len(stolen), len(timed), statistics.median(stolen)))
        return "\n".join(lines) + "\n"

    def network_section(self):
        threads_list = self.settings.threads
        rows, plotted, marks = [], [], False
        for network in self.settings.networks:
            cells, points = [network.replace("zoo:", "")], []
            for threads in threads_list:
                row = self.networks[(network, threads)]
                if "failure" in row:
                    cells += ["", "", row["failure"].replace("|", "/")]
                    points.append(None)
                    continue
                peer, sides = row["peers"][0], row["sides"]
                if row["model_form"] != network:
                    cells[0] = "%s (zoo's)" % network
                mark = " \\*" if disturbed(row) else ""
                marks = marks or bool(mark)
                cells += ["%.3f" % sides[0]["time"]["median_ms"], "%.3f" % sides[1]["time"]["median_ms"],
                          "**%.3f** (%s) %s%s" % (peer["ratio"], interval(peer), peer["verdict"], mark)]
                points.append((peer["ratio"], peer["ratio_low"], peer["ratio_high"]))
            if len(threads_list) == 2:
                cells.append("%.2f" % self.speedup(network) if self.speedup(network) else "")
            rows.append(cells)
            plotted.append((network.replace("zoo:", ""), points))
        means = ["**geometric mean**"]
        for threads in threads_list:
            ratios = [ratio for network in self.settings.networks if (ratio := self.ratio(network, threads))]
            means += ["", "", "**%.3f** of %s" % (geometric_mean(ratios), plural(len(ratios), "network")) if ratios else ""]
        rows.append(means + ([""] if len(threads_list) == 2 else []))
        titles = ["network"]
        for threads in threads_list:
            titles += ["Lathe ms, %s" % plural(threads, "thread"), "ONNX Runtime ms", "ratio (95 % interval), verdict"]
        if len(threads_list) == 2:
            titles.append("%d threads over %d" % (threads_list[1], threads_list[0]))
        self.files["performance-networks.svg"] = figures.bars("ONNX Runtime's time / Lathe's time", [plural(threads, "thread") for threads in threads_list], plotted)
        return ("## Whole networks against ONNX Runtime\n\nBatch 1, fp32. The ratio is ONNX Runtime's time over Lathe's: above 1 Lathe is the faster. Outputs were compared "
                "before anything was timed (relative L2 at most 1e-4).\n\n![ratios](performance-networks.svg)\n\n" + table(titles, rows) +
                ("\n\\* taken while other programs used the machine\n" if marks else ""))

    def batch_section(self):
        rows = []
        for threads in self.settings.threads:
            for batch in self.batches:
                row = self.batch[(batch, threads)]
                if "failure" in row:
                    rows.append([str(threads), str(batch), row["failure"], "", "", ""])
                    continue
                ours, theirs = (side["time"]["median_ms"] for side in row["sides"])
                rows.append([str(threads), str(batch), "%.3f" % (ours / batch), "%.3f" % (theirs / batch), "%.3f" % row["peers"][0]["ratio"],
                             "disturbed" if disturbed(row) else ""])
        return "## Batches of resnet50\n\nTime of one image.\n\n" + table(["threads", "batch", "Lathe ms an image", "ONNX Runtime ms an image", "ratio", ""], rows)

    def bf16Section(self):
        rows = []
        for (network, threads), row in self.bf16.items():
            if not row.get("peers"):
                rows.append([network, str(threads), "", "", (row.get("failure") or row.get("unable")).replace("|", "/"), ""])
                continue
            peer, (ours, theirs) = row["peers"][0], (side["time"]["median_ms"] for side in row["sides"])
            rows.append([network, str(threads), "%.3f" % ours, "%.3f" % theirs, "**%.3f** (%s)%s" % (peer["ratio"], interval(peer), " \\*" if disturbed(row) else ""),
                         "%.1e" % row["relative_l2"]])
        return ("## Operands rounded to bf16, against our own fp32\n\nBatch 1, `--precision bf16` and the same network in fp32 in turns; what rounding costs is the relative L2 difference of their outputs "
                "([kernels.md](kernels.md)).\n\n" + table(["network", "threads", "bf16 ms", "fp32 ms", "ratio (95 % interval)", "relative L2"], rows))

    def memory_section(self):
        rows = []
        for network, row in self.memory.items():
            cells = [network.replace("zoo:", "")]
            if "failure" in row:
                rows.append(cells + [row["failure"].replace("|", "/")] + [""] * 8)
                continue
            mib = lambda size: "%.1f" % (size / 2**20)
            ours, small, theirs = (self.own_memory(row, who) for who in ("any", "small", "onnxruntime"))
            rows.append(cells + [mib(row["source_bytes"]), mib(row["any"]["constant_bytes"]), mib(row["any"]["live_bytes"]), mib(ours), "%.2f" % self.memory_share(row),
                                 mib(row["small"]["constant_bytes"]), mib(small), mib(theirs), "%.2f" % (ours / theirs) if theirs > 0 else ""])
        base = [self.nothing.get(who, {}).get("peak_rss_bytes", 0) / 2**20 for who in ("any", "onnxruntime")]
        return (MEMORY % tuple(base) +
                table(["network", "source's weights", "packed", "live set", "lathe run", "of packed + live", "packed, small", "lathe run, small", "ONNX Runtime",
                       "lathe run / ONNX Runtime"], rows))

    def convolution_section(self):
        rows = self.convolutions["rows"]
        if not rows:
            return "## Convolutions against oneDNN\n\nNot measured.\n"
        text = ["## Convolutions against oneDNN\n\nSuites %s of oneDNN's benchdnn: %s, batch 1, fp32, bias and ReLU fused, hot caches. oneDNN's best of "
                "`auto`, `direct` and `winograd`, each with the layout it chooses; weights are packed, activations stay in each library's own layout, no reordering is timed. Every "
                "output was held against the reference in float64 (relative L2 at most 2e-5).\n\n![ratios by kind](performance-convolutions.svg)\n" %
                (", ".join(suite.replace("benchdnn/", "") for suite in self.settings.suites), plural(len({row["text"] for row in rows}), "distinct problem"))]
        if self.convolutions.get("left"):
            text.append("%s of these suites and numbers of threads were not measured in this run.\n" % plural(self.convolutions["left"], "row"))
        summaries = []
        for threads in self.settings.threads:
            for kind in ["all"] + KINDS:
                for s in self.convolutions["summaries"]:
                    if s["kind"] == kind and s["threads"] == threads:
                        summaries.append([str(threads), "**all**" if kind == "all" else kind, str(s["rows"]), "none" if s["geometric_mean"] is None else "**%.3f**" % s["geometric_mean"], str(s["faster"]), str(s["same"]),
                                          str(s["ambiguous"]), str(s["slower"]), "%d (%.1f %%)" % (s["slower_beyond_3_percent"], 100 * s["slower_beyond_3_percent"] / s["rows"])])
        text.append(table(["threads", "kind", "problems", "geometric mean of ratios", "faster", "same", "ambiguous", "slower", "slower by more than 3 %"], summaries))
        text.append("3x3 and 1x1: stride 1, one group. strided: every other stride but depthwise ones.\n")
        first = self.settings.threads[0]
        series = {kind: [row["verdicts"][0]["ratio"] for row in rows if row["kind"] == kind and row["threads"] == first and row["verdicts"]] for kind in KINDS}
        self.files["performance-convolutions.svg"] = figures.sorted_points("oneDNN's best time / Lathe's time, %s" % plural(first, "thread"),
                                                                           {kind: ratios for kind, ratios in series.items() if ratios})
        slow = sorted((row for row in rows if row["verdicts"] and row["verdicts"][0]["verdict"] == "slower" and row["verdicts"][0]["ratio"] < 1 / 1.03),
                      key=lambda row: row["verdicts"][0]["ratio"])
        if slow:
            text.append("Slower by more than 3 %%, the slowest first%s:\n" % (" (30 of %d)" % len(slow) if len(slow) > 30 else ""))
            text.append(table(["problem", "threads", "kind", "Lathe us", "oneDNN us", "ratio", "oneDNN's implementation"], [self.slow_row(row) for row in slow[:30]]))
        wrong = [(row, point) for row in rows for point in row["points"] if point["status"] not in ("passed", "unimplemented", "same_as")]
        if wrong:
            text.append("Points without a time:\n")
            text.append(table(["problem", "threads", "provider", "status", "reason"],
                              [["`%s`" % row["text"], str(row["threads"]), point["provider"] + ":" + point["variant"], point["status"], point.get("reason", "").replace("|", "/")[:160]]
                               for row, point in wrong]))
        text.append("Again for one problem: `%s`.\n" % rows[0]["repro"])
        return "\n".join(text)

    @staticmethod
    def slow_row(row):
        verdict = row["verdicts"][0]
        point = lambda provider, variant: next(p for p in row["points"] if p["provider"] == provider and p["variant"] == variant)
        ours, theirs = point("lathe", verdict["ours"]), point(verdict["peer"], verdict["theirs"])
        return ["`%s`" % row["text"], str(row["threads"]), row["kind"], "%.1f" % (ours["time"]["median_ms"] * 1e3), "%.1f" % (theirs["time"]["median_ms"] * 1e3),
                "%.3f%s" % (verdict["ratio"], " \\*" if disturbed(row) else ""), theirs["implementation"]]

    def summary(self):
        """The facts of this page for README's table (readme_table.py)."""
        facts = machine(self.lathe)
        at = {threads: {network: row for network in self.settings.networks if (row := self.networks.get((network, threads), {})).get("peers")} for threads in self.settings.threads}
        slower = sorted({network.replace("zoo:", "") for rows in at.values() for network, row in rows.items() if row["peers"][0]["verdict"] == "slower"})
        return {"commits": self.commits(), "date": (self.dates() or ["?"])[-1][:10], "machine": "%s (%s)%s" % (facts.get("cpu", "?"), cpu_name(facts), ", virtual" if facts.get("virtualized") else ""),
                "networks": max((len(rows) for rows in at.values()), default=0), "slower": slower,
                "means": {str(threads): geometric_mean([row["peers"][0]["ratio"] for row in rows.values()]) for threads, rows in at.items() if rows}}

    def samples(self):
        """Writes the archives for the page. -> the page's section"""
        kept, every = (self.root / "docs" / name for name in ("performance.jsonl.gz", "performance-samples.jsonl.gz"))
        for archive in (kept, every):
            archive.unlink(missing_ok=True)  # of the page before
        if not self.settings.store.exists():
            return "## Samples\n\nNone were kept.\n"
        with tempfile.TemporaryDirectory() as folder:
            medians = pathlib.Path(folder) / "medians.db"
            samples.medians(self.settings.store, medians)
            for archive, store in ((every, self.settings.store), (kept, medians)):
                done = subprocess.run([self.lathe, "store", "export", str(archive), "--store", str(store)], capture_output=True, text=True)
                if done.returncode:
                    return "## Samples\n\nNot written: %s\n" % (done.stderr.strip().splitlines() or ["lathe store export failed"])[-1]
        return ("## Samples\n\n[%s](%s) has the median of every round. It is an archive of the store: `lathe store import %s`, then `lathe store list` and "
                "`lathe ops analyze`. Every sample of every round is in an archive that `make bench` writes beside it and that git ignores. Its SHA-256 is `%s`.\n" % (
                    kept.name, kept.name, kept.name, hashlib.sha256(every.read_bytes()).hexdigest()))

    def write(self):
        parts = ["<!-- Written by bench/bench.py (make bench); do not edit. -->\n<!-- page: %s -->\n# Performance\n\n" % json.dumps(self.summary(), sort_keys=True) +
                 "Written by `make bench`. Every package was verified against the reference before it was timed. Each side has its turn while the others stand still, over "
                 "several starts of every process; times are medians, ratios have a 95 % interval and a verdict by the rule of [measuring.md](measuring.md).\n", self.head()]
        parts.append(self.goal_section())
        if "networks" in self.settings.parts:
            parts.append(self.network_section())
        if "batch" in self.settings.parts:
            parts.append(self.batch_section())
        if "bf16" in self.settings.parts:
            parts.append(self.bf16Section())
        if "memory" in self.settings.parts:
            parts.append(self.memory_section())
        if "convolutions" in self.settings.parts:
            parts.append(self.convolution_section())
        docs = self.root / "docs"
        keep_page_of_another_machine(docs, self.summary()["machine"])
        parts.append(self.samples())
        for name, content in self.files.items():
            if content:  # a figure that could not be drawn stays as it was
                (docs / name).write_text(content)
        page = docs / "performance.md"
        page.write_text("\n".join(parts))
        return page.relative_to(self.root)


def keep_page_of_another_machine(docs, machine_now):
    """Moves performance.md and the files beside it into docs/performance/, where another machine wrote it."""
    page = docs / "performance.md"
    summary = readme_table.summary_of(page) if page.exists() else None
    if not summary or summary["machine"] == machine_now:
        return
    commits = "-".join(commit.split(" ")[0] for commit in summary["commits"] if commit != "?") or "unknown"
    name = "%s-%s-%s" % (re.sub(r"[^a-z0-9]+", "-", summary["machine"].lower()).strip("-"), summary["date"], commits)
    (docs / "performance").mkdir(exist_ok=True)
    text = page.read_text().replace("(measuring.md)", "(../measuring.md)").replace("(kernels.md)", "(../kernels.md)")
    for suffix in ("-networks.svg", "-convolutions.svg", "-samples.jsonl.gz", ".jsonl.gz"):
        beside = docs / ("performance" + suffix)
        if beside.exists():
            beside.rename(docs / "performance" / (name + suffix))
        text = text.replace("performance" + suffix, name + suffix)
    (docs / "performance" / (name + ".md")).write_text(text)
    page.unlink()


MEMORY = """## Memory beside ONNX Runtime

Largest resident sets (MiB) of processes that load one model and run it once on one thread, less that of the same program for a model of one operator on one element (%.1f MiB of
`lathe run`, %.1f MiB of the runner with ONNX Runtime), so that programs and libraries count against neither.

- *packed*: constants of the package. *live set*: the largest sum of temporaries alive at once, below which no plan can go.
- *small*: compiled with `--memory small`, which forbids algorithms that grow the weights. Winograd's weights are (m + 2)^2 / 9 of the source's. What is left of growth: padding to
  whole vectors of channels or columns, and a constant that is used in two forms, which is stored in both.
- Constants are used where the package's file is mapped, shared between processes; pages that a run does not touch are not resident. So networks with embeddings hold less than their
  packed constants. Temporaries and scratch lie in one arena, planned when extents are known.

"""


def peak_of(facts):
    for ceiling in facts.get("arithmetic", []):
        if ceiling["type"] == "f32" and ceiling["gflops"]:
            return "%.0f" % ceiling["gflops"][0]
    return "?"


def write(root, folder, lathe, program, settings, batches):
    return Page(root, folder, lathe, program, settings, batches).write()
