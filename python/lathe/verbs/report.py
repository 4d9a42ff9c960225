"""`lathe report`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from lathe import results
from lathe.verbs._process import Path, Progress, Texts, execute


def report(*, store: Path | None = None, experiment: Texts | None = None, kind: str | None = None, tag: Texts | None = None,
           operator: str | None = None, provider: str | None = None, output: Path | None = None, svg: Path | None = None, title: str | None = None,
           baseline: str | None = None, from_model: str | None = None, suite: Texts | None = None, problems: str | None = None,
           epilogue: str | None = None, progress: Progress | None = None) -> results.Result:
    """Write measurements of the store as one page with plots, for a browser, without any network request.
    Every mark leads to its raw samples and to the command that repeats it (docs/reports.md).

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    experiment: Take only these experiments, by id or its beginning
    kind: Take only experiments of this kind: ops, bench, compare, profile, segments, tune, evaluate, quantize, corun, imported; those of `sweep` are
        of kind bench, those of `bench --instances` of kind corun
    tag: Take only experiments with all of these tags (`lathe store tag`)
    operator: Take only points of this operator; model: whole models
    provider: Take only points of this provider or runner
    output: Write the page to FILE (default: report.html, unless --svg is given)
    svg: Write every plot as an SVG file into the folder DIR, with Node.js
    title: Set the title of the page (default: the kinds of the experiments)
    baseline: Show speedups over this provider first; the page can choose another
    from_model: Show the sum over the operators of this network beside its measured time
    suite: Use a suite of problems instead of a network; its list says how often each problem occurs
    problems: Look for the suite in this problem list only
    epilogue: Set the epilogue of the suite's convolutions and fc: none, or bias, add and relu joined by + (default: bias+relu)
    """
    return execute(report, locals())
