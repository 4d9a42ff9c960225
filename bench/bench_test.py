#!/usr/bin/env python3
"""bench.py with a program in the place of `lathe` that answers as it does: rows are kept and gone on with, failures are
rows, the page says what was measured and what was not.

usage: bench_test.py [PLOTS.mjs]: the program that draws figures (report/page/); without it, or where it is empty, none is looked at.
"""
import hashlib
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

FAKE = r'''#!%s
import json, os, sqlite3, sys
log = open(os.environ["FAKE_LOG"], "a")
log.write(" ".join(sys.argv[1:]) + "\n")
arguments = sys.argv[1:]
json_path = arguments[arguments.index("--json") + 1] if "--json" in arguments else None
def write(document):
    if json_path == "-":
        print(json.dumps(document))
    elif json_path:
        json.dump(document, open(json_path, "w"))
verb = arguments[0]
if verb == "machine":
    write({"cpu": "Test CPU", "facts": {"cpu": "test1"}, "hardware_threads": 2, "kernel": "Linux", "virtualized": True, "hypervisor": "kvm", "arithmetic": [{"type": "f32", "gflops": [100, 200]}]})
elif verb == "compare" and "bf16" in arguments:
    if os.environ.get("FAKE_BF16") == "none":
        print("lathe: --precision bf16: the target x86-64-v3 has no products of bf16 (avx512bf16)", file=sys.stderr)
        sys.exit(2)
    threads, ratio = int(arguments[arguments.index("--threads") + 1]), 1.75 if "vgg16" in arguments[1] else 1.4
    assert os.path.exists(arguments[arguments.index("--with") + 1])
    write({"verified": True, "sides": [{"name": name, "settings": {}, "version": "0", "time": {"median_ms": ms / threads}} for name, ms in (("lathe", 10), ("fp32.lathe", 10 * ratio))],
           "peers": [{"ratio": ratio, "ratio_low": ratio - 0.1, "ratio_high": ratio + 0.1, "confidence": 0.95, "verdict": "faster", "outputs": [{"relative_l2": 3e-3}, {"relative_l2": 4.5e-3}]}]})
elif verb == "compare" and "--check-only" in arguments:
    assert "--no-store" in arguments
    write({"verified": False, "sides": [{"peak_rss_bytes": 0}, {"peak_rss_bytes": (80 if "nothing" in arguments[1] else 320) << 20}], "peers": []})
elif verb == "compare":
    model, threads = arguments[1], int(arguments[arguments.index("--threads") + 1])
    if model == "zoo:broken":
        write({"sides": [{"name": "lathe"}, {"name": "onnxruntime", "failure": {"message": "signal 11"}}], "peers": [{"outputs": []}]})
        sys.exit(1)
    if model == "zoo:wrong":
        write({"sides": [], "peers": [{"outputs": [{"reason": "relative L2 0.3"}]}]})
        sys.exit(1)
    ratio = {"zoo:fast": 2.0, "zoo:slow": 0.5}.get(model, 1.0)
    with sqlite3.connect(arguments[arguments.index("--store") + 1]) as store:
        store.execute("CREATE TABLE IF NOT EXISTS sample (point, round, repetition, wall_ns, PRIMARY KEY (point, round, repetition))")
        store.executemany("INSERT OR REPLACE INTO sample VALUES (?, ?, ?, ?)", [(model, number, i, ns) for number, samples in enumerate(([1, 9, 2], [6, 5, 4])) for i, ns in enumerate(samples)])
    write({"verified": model != "zoo:unverified", "verification": "another package", "finished": True,
           "sides": [{"name": "lathe", "settings": {}, "version": "0", "time": {"median_ms": 10 / threads}},
                     {"name": "onnxruntime", "settings": {"mode": "parallel"}, "version": "1.30.0", "time": {"median_ms": 10 * ratio / threads}}],
           "peers": [{"ratio": ratio, "ratio_low": ratio - 0.1, "ratio_high": ratio + 0.1, "confidence": None if model == "zoo:slow" else 0.95, "verdict": "faster" if ratio > 1 else "slower", "outputs": []}],
           "other_processors": 1.5 if model == "zoo:slow" else 0.0})
elif verb == "verify":
    if arguments[1] == "zoo:false":
        print("FAILED: output 'y' differs")
        sys.exit(1)
elif verb == "profile":
    assert "--no-store" in arguments
    if arguments[1] == "zoo:false":
        print("lathe profile: not profiled, the outputs are wrong", file=sys.stderr)
        sys.exit(1)
    kernel = lambda family, ms, predicted: {"kind": "kernel", "family": family, "name": "k", "nodes": ["node", family], "schedule": family + "/1", "time_ms": ms, "predicted_ms": predicted, "share": 0.5}
    write({"clock_ghz": 4.0, "whole_ms": 12.5, "rows": [{**kernel("alias", 0.1, None), "kind": "alias"}, kernel("loop", 0.25, None)] +
           [kernel("contraction", 0.1 * i, 0.05 * i) for i in range(1, 11)] + [kernel("map", 0.1, 0.4)]})
elif verb == "store":
    store = sqlite3.connect(arguments[arguments.index("--store") + 1])
    open(arguments[2], "w").write("".join("%%s %%d %%d\n" %% row for row in store.execute("SELECT point, round, wall_ns FROM sample")))
elif verb == "compile":
    open(arguments[arguments.index("-o") + 1], "w").write(arguments[1])
    write({"source_constant_bytes": 60 << 20})
elif verb == "bench":
    assert "--no-store" in arguments
    write({"constant_bytes": (60 if "small" in arguments[1] else 100) << 20, "arena_bytes": 20 << 20, "live_bytes": 10 << 20, "scratch_bytes": 0})
elif verb == "run":
    write({"peak_rss_bytes": (30 if "nothing" in open(arguments[1]).read() else 102 if "small" in arguments[1] else 150) << 20})
elif verb == "ops":
    def row(text, kind, threads, ratio, status="passed"):
        verdict = {"peer": "onednn", "ours": "auto", "theirs": "winograd", "ratio": ratio, "verdict": "slower" if ratio < 1 else "faster"}
        points = [{"provider": "lathe", "variant": "auto", "version": "0", "status": status, "reason": "relative L2 0.2", "time": {"median_ms": 1}},
                  {"provider": "onednn", "variant": "winograd", "version": "2.6.3", "status": "passed", "implementation": "jit_wino", "time": {"median_ms": ratio}}]
        return {"text": text, "kind": kind, "threads": threads, "points": points, "verdicts": [verdict] if status == "passed" else [], "repro": "lathe ops bench conv2d " + text}
    rows = [row("ic64", "3x3", 1, 2.0), row("ic32", "1x1", 1, 0.5), row("ic16", "1x1", 1, 1, "failed")]
    summary = lambda kind, count, mean, slow: {"kind": kind, "threads": 1, "peer": "onednn", "rows": count, "geometric_mean": mean, "faster": 1, "same": 0, "ambiguous": 0,
                                               "slower": slow, "slower_beyond_3_percent": slow}
    write({"rows": rows, "summaries": [summary("all", 2, 1.0, 1), summary("3x3", 1, 2.0, 0), summary("1x1", 1, 0.5, 1)] if not os.environ.get("FAKE_CALLS") else
           [summary(kind, 1, None, 0) for kind in ("all", "3x3")], "left": 0})
    sys.exit(1)
'''


PLOTS = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
if not (PLOTS and PLOTS.exists() and PLOTS.stat().st_size and shutil.which("node")):
    print("bench_test.py: figures are not looked at: Node.js or the program that draws them is missing")
    PLOTS = None


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        (root / "README.md").write_text("x\n<!-- bench/readme_table.py writes from here -->\n<!-- to here -->\ny\n")
        shutil.copytree(HERE, root / "bench")
        (root / "bin").mkdir()
        lathe = root / "bin" / "lathe"
        lathe.write_text(FAKE % sys.executable)
        lathe.chmod(lathe.stat().st_mode | stat.S_IXUSR)
        log = root / "log"

        def bench(*arguments, **settings):
            log.write_text("")
            environment = {**os.environ, "LATHE_PLOTS": str(PLOTS or root / "none"), "FAKE_LOG": str(log), "BENCH_NETWORKS": "zoo:fast zoo:slow zoo:broken zoo:wrong zoo:false zoo:unverified", "BENCH_THREADS": "1 2", **settings}
            for name in ("BENCH_FOLDER", "BENCH_MINUTES", "BENCH_SECONDS", "BENCH_PARTS", "BENCH_SUITES"):
                if name not in settings:
                    environment.pop(name, None)
            result = subprocess.run([sys.executable, str(root / "bench" / "bench.py"), str(lathe), *arguments], capture_output=True, text=True, env=environment)
            return result, log.read_text()

        parts = "networks memory convolutions"
        result, said = bench(BENCH_PARTS=parts, BENCH_MINUTES="0.00001")
        assert result.returncode == 3 and "rows left" in result.stdout, result
        assert not (root / "docs" / "performance.md").exists(), "a page of a run that is not over"
        timed = lambda said: sum(line.startswith("compare") and "--check-only" not in line for line in said.splitlines())
        before = timed(said)
        assert before < 10, said

        result, said = bench(BENCH_PARTS=parts)
        assert result.returncode == 1 and not result.stderr, result  # four networks and a point failed
        assert before + timed(said) == 10 and "compare zoo:false" not in said.replace("compare zoo:false --with onnxruntime --check-only", ""), said
        page, every = (root / "docs" / "performance.md").read_text(), root / "docs" / "performance-samples.jsonl.gz"
        for words in ("Test CPU", "virtual machine, kvm", "ONNX Runtime 1.30.0", "oneDNN 2.6.3", "**2.000** (1.900 to 2.100) faster", "signal 11", "relative L2 0.3", "| networks with the verdict *slower* at 1 thread | none | slow | **missed** |",
                      "**1.000** of 2 networks", "slower \\*", "The machine was disturbed", "2.00 |", "| `ic32` | 1 | 1x1 | 1000.0 | 500.0 | 0.500 | jit_wino |",
                      "| `ic16` | 1 | lathe:auto | failed | relative L2 0.2 |", "1 (50.0 %)", "(30.0 MiB of\n`lathe run`, 80.0 MiB of the runner", "| fast | 60.0 | 100.0 | 10.0 | 120.0 | 1.09 | 60.0 | 72.0 | 240.0 | 0.50 |",
                      "not timed, verification: FAILED: output 'y' differs", "timed a package that is not the verified one: another package",
                      "**0.500** (0.400 to 0.600, range) slower", "[performance.jsonl.gz](performance.jsonl.gz)", "`%s`" % hashlib.sha256(every.read_bytes()).hexdigest()):
            assert words in page, words + " is not in\n" + page
        for name in ("performance-networks.svg", "performance-convolutions.svg"):
            assert name in page
            if PLOTS:
                plot = (root / "docs" / name).read_text()
                assert plot.startswith("<svg") and plot.rstrip().endswith("</svg>") and "NaN" not in plot

        # The figure of networks is in the table of the page; that of convolutions needs the archive.
        archive, networks = root / "docs" / "performance.jsonl.gz", root / "docs" / "performance-networks.svg"
        drawn = networks.read_text() if PLOTS else ""
        networks.write_text("")
        archive.rename(root / "aside")
        result, said = bench("--redraw")
        assert result.returncode == 0 and not said and "performance-convolutions.svg stays: its samples were not kept" in result.stdout, (result, said)
        assert networks.read_text() == drawn
        (root / "aside").rename(archive)

        models = ["zoo:fast", "zoo:slow", "zoo:unverified"]
        assert sorted(archive.read_text().splitlines()) == ["%s %s" % (model, round) for model in models for round in ("0 2", "1 5")], archive.read_text()
        assert len(every.read_text().splitlines()) == 6 * len(models) and "zoo:fast 0 9" in every.read_text(), every.read_text()
        readme = (root / "README.md").read_text()
        assert readme.startswith("x\n") and readme.endswith("y\n") and "| Test CPU (test1), virtual | 2 | 1.00 | 1.00 | slow | [docs/performance.md](docs/performance.md)," in readme, readme

        # What is finished is not measured again; what failed is.
        result, said = bench(BENCH_PARTS=parts)
        assert said.count("compare zoo:fast") == 0 and said.count("compare zoo:broken --with onnxruntime --threads") == 2, said
        # Other settings are other rows.
        result, said = bench(BENCH_PARTS="networks", BENCH_SECONDS="1", BENCH_NETWORKS="zoo:fast")
        assert result.returncode == 0 and said.count("compare zoo:fast") == 2 and "--max-seconds 1.0" in said, (result, said)
        # Every ratio may be left to the overhead of calls: there is no mean then.
        result, said = bench(BENCH_PARTS="convolutions", BENCH_FOLDER=str(root / "calls"), FAKE_CALLS="yes")
        assert "1 rows, no ratio to onednn" in result.stdout and not result.stderr, result
        assert "| **all** | 1 | none |" in (root / "docs" / "performance.md").read_text(), result

        # So is another program; --page-only measures nothing and says what is missing.
        lathe.write_text(lathe.read_text() + "\n")
        result, said = bench("--page-only", BENCH_PARTS="networks")
        assert "compare" not in said and "not measured with this program" in (root / "docs" / "performance.md").read_text(), said
        result, said = bench(BENCH_PARTS="networks", BENCH_NETWORKS="zoo:fast")
        assert said.count("compare zoo:fast") == 2, said

        # bf16 beside our own fp32; a CPU without it is no failure. Networks come from the zoo here, as without PyTorch.
        os.environ["LATHE_BENCH_MODELS"] = str(root / "models")
        (root / "bench" / "torch_models.py").write_text((root / "bench" / "torch_models.py").read_text().replace('"import torch, torchvision"', '"import nothing_of_that_name"'))
        result, said = bench(BENCH_PARTS="bf16")
        assert result.returncode == 0 and said.count("compare zoo:vgg16 --precision bf16 --with ") == 2 and said.count("compile zoo:vgg16 --threads 2") == 1, (result, said)
        page = (root / "docs" / "performance.md").read_text()
        for words in ("| vgg16 | 1 | 10.000 | 17.500 | **1.750** (1.650 to 1.850) | 4.5e-03 |", "bf16` over our own fp32 on vgg16, vit_b_16, resnet50 at 2 threads | at least 1.5 each | below: vit_b_16 1.40, resnet50 1.40 | **missed** |"):
            assert words in page, words + " is not in\n" + page
        lathe.write_text(lathe.read_text() + "\n")
        result, said = bench(BENCH_PARTS="bf16", FAKE_BF16="none")
        page = (root / "docs" / "performance.md").read_text()
        assert result.returncode == 0 and "has no products of bf16 (avx512bf16)" in page and "over our own fp32 on" not in page, (result, page)

        # Predicted beside measured times: kernels with a prediction only, families of few kernels together.
        result, said = bench(BENCH_PARTS="predictions", BENCH_NETWORKS="zoo:fast zoo:false", BENCH_THREADS="1")
        assert result.returncode == 1 and said.count("profile zoo:fast --threads 1") == 1 and "12.500 ms" in result.stdout, (result, said)
        predictions = (root / "docs" / "predictions.md").read_text()
        for words in ("each kernel of 1 network.", "| contraction | 10 | 5.50 ms | 0.50 | 0.50 | 0.50 to 0.50 | 0 % | 100 % |", "| others | 1 | 0.10 ms | 4.00 |",
                      "| all | 11 | 5.60 ms | 0.56 | 0.60 |", "| fast | 11 |", "false: lathe profile: not profiled, the outputs are wrong",
                      "| fast | `node+contraction` | contraction | `contraction/1` | 1.000 ms | 0.50 |"):
            assert words in predictions, words + " is not in\n" + predictions
        assert "loop" not in predictions
        if PLOTS:
            assert (root / "docs" / "predictions.svg").read_text().count('ecmeta_ssr_type="chart"') == 11  # a mark of a scatter plot

        # A page of another machine moves aside, with what lies beside it; README joins pages of one commit.
        assert "None were kept" in page and not (root / "docs" / "performance.jsonl.gz").exists()
        bench(BENCH_PARTS="networks", BENCH_NETWORKS="zoo:fast")
        lathe.write_text(lathe.read_text().replace("Test CPU", "Other CPU"))
        result, said = bench(BENCH_PARTS="networks", BENCH_NETWORKS="zoo:fast")
        kept = sorted(file.name for file in (root / "docs" / "performance").iterdir())
        stem = next(name for name in kept if name.endswith(".md")).removesuffix(".md")
        assert stem.startswith("test-cpu-test1-virtual-") and stem + ".md" in kept and {stem + ".jsonl.gz", stem + "-samples.jsonl.gz"} <= set(kept), kept
        assert "Other CPU" in (root / "docs" / "performance.md").read_text() and "[%s.jsonl.gz](%s.jsonl.gz)" % (stem, stem) in (root / "docs" / "performance" / (stem + ".md")).read_text()

        def page_of(name, commit, machine):
            summary = {"commits": commit, "date": "2026-11-23", "machine": machine, "networks": 2, "slower": [], "means": {"1": 1.5}}
            (root / "docs" / name).write_text("<!-- written -->\n<!-- page: %s -->\n" % json.dumps(summary))
        page_of("performance.md", ["abc"], "this one")
        page_of("performance/other.md", ["abc"], "another one")
        page_of("performance/old.md", ["old"], "an old one")
        (root / "docs" / "performance" / (stem + ".md")).unlink()
        table = subprocess.run([sys.executable, str(root / "bench" / "readme_table.py")], capture_output=True, text=True)
        readme = (root / "README.md").read_text()
        assert table.returncode == 0 and "| this one | 2 | 1.50 |  | none |" in readme and "| another one |" in readme and "| an old one |" not in readme, readme
        assert "Pages of other commits: [docs/performance/old.md](docs/performance/old.md) (an old one, commit old)." in readme
        (root / "README.md").write_text(readme.replace("1.50", "1.60"))
        assert subprocess.run([sys.executable, str(root / "bench" / "readme_table.py"), "--check"], capture_output=True).returncode == 1
        assert subprocess.run([sys.executable, str(HERE / "readme_table.py"), "--check"], capture_output=True).returncode == 0, "README.md and the pages differ"

        result, said = bench(BENCH_PARTS="everything")
        assert result.returncode not in (0, 3) and "none of networks" in result.stderr, result


main()
