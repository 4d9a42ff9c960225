"""Figures of written pages (docs/performance.md, docs/performance/*.md), drawn again without measuring: of networks from the table
of the page, of convolutions from the archive beside it.
"""
import json
import pathlib
import re
import subprocess
import tempfile

import figures
import performance_page

RATIO = re.compile(r"\*\*([0-9.]+)\*\* \(([0-9.]+) to ([0-9.]+)")
PEER = "onednn"


def table_behind(text, start):
    """The first table of a page after a position. -> rows of cells, the titles first"""
    lines = text[start:].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return [rows[0], *rows[2:]]


def networks(text, start):
    titles, *rows = table_behind(text, start)
    columns = [number for number, title in enumerate(titles) if title.startswith("ratio")]
    series = [titles[column - 2].partition(", ")[2] for column in columns]  # "Lathe ms, 1 thread"
    plotted = []
    for cells in rows:
        if cells[0].startswith("**"):  # the geometric mean
            continue
        found = [RATIO.match(cells[column]) for column in columns]
        plotted.append((cells[0].removesuffix(" (zoo's)"), [tuple(map(float, match.groups())) if match else None for match in found]))
    return figures.bars("ONNX Runtime's time / Lathe's time", series, plotted)


def kind_of(problem):
    """The kind of a problem's text, like ConvProblem::kind of lab/problems/; `convolutions` compares it with the page."""
    numbers = lambda name, usual: [int(number) for number in (re.search(r" %s=([0-9,]+)" % name, problem) or [None, usual])[1].split(",")]
    channels = int(re.search(r" x=\d+x(\d+)x", problem)[1])
    kernel = [int(number) for number in re.search(r" w=\d+x\d+x(\d+)x(\d+)", problem).groups()]
    group = numbers("group", "1")[0]
    if group > 1 and group == channels:
        return "depthwise"
    if max(numbers("strides", "1,1")) > 1:
        return "strided"
    plain = group == 1 and max(numbers("dilations", "1,1")) == 1
    return {(3, 3): "3x3", (1, 1): "1x1"}.get(tuple(kernel), "other") if plain else "other"


def ratios_of(lathe, archive, threads):
    """-> kind -> ratios of the fastest schedule of Lathe to the peer's fastest"""
    with tempfile.TemporaryDirectory() as folder:
        store, document = pathlib.Path(folder) / "samples.db", pathlib.Path(folder) / "speedups.json"
        for command in (["store", "import", archive], ["ops", "analyze", "--kind", "ops", "--what", "speedup", "--baseline", PEER, "--json", document]):
            subprocess.run([lathe, *command, "--store", store], check=True, stdout=subprocess.DEVNULL)
        points = json.loads(document.read_text())["speedup"]["points"]
    best = {}
    for point in points:
        if point["provider"] == "lathe" and point["setting"]["threads"] == threads:
            best[point["problem"]] = max(best.get(point["problem"], 0), point["ratio"])
    kinds = {}
    for problem, ratio in best.items():
        kinds.setdefault(kind_of(problem), []).append(ratio)
    return kinds


def convolutions(lathe, text, start, archive):
    """None if the archive does not agree with the table of the page."""
    rows = table_behind(text, start)[1:]
    first = rows[0][0]
    said = {kind: (int(problems), float(mean.strip("*"))) for threads, kind, problems, mean, *_ in rows if threads == first and kind != "**all**"}
    ratios = ratios_of(lathe, archive, int(first))
    for kind, (problems, mean) in said.items():
        found = ratios.get(kind, [])
        if len(found) != problems or abs(performance_page.geometric_mean(found) - mean) > 0.005 * mean:
            print("%s: %s: the page has %d problems and a mean of %.3f, the archive %d and %.3f" % (
                archive.name, kind, problems, mean, len(found), performance_page.geometric_mean(found) or 0))
            return None
    return figures.sorted_points("oneDNN's best time / Lathe's time, %s" % performance_page.plural(int(first), "thread"),
                                {kind: ratios[kind] for kind in performance_page.KINDS if ratios.get(kind)})


def redraw(lathe, docs):
    for page in [docs / "performance.md", *sorted((docs / "performance").glob("*.md"))]:
        text = page.read_text()
        for name, figure in re.findall(r"^!\[(ratios|ratios by kind)\]\((\S+)\)$", text, re.M):
            start, archive = text.index("(%s)" % figure), page.with_name(re.sub(r"-convolutions\.svg$", ".jsonl.gz", figure))
            if name == "ratios by kind" and not archive.exists():
                print("%s stays: its samples were not kept" % figure)
                continue
            picture = networks(text, start) if name == "ratios" else convolutions(lathe, text, start, archive)
            if picture:
                page.with_name(figure).write_text(picture)
                print("%s is drawn again" % figure)
