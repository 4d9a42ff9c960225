"""The verbs of `lathe store`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal, Sequence

from lathe import results
from lathe.verbs._process import Path, Progress, Texts, execute


def path(*, store: Path | None = None, progress: Progress | None = None) -> results.Result:
    """Print where measurements are kept.

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(path, locals())


def list(*, store: Path | None = None, kind: str | None = None, tag: Texts | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.StoreListResult:
    """List the experiments, the latest last.

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    kind: Take only experiments of this kind: ops, bench, compare, profile, segments, tune, evaluate, quantize, corun, imported; those of `sweep` are
        of kind bench, those of `bench --instances` of kind corun
    tag: Take only experiments with all of these tags (`lathe store tag`)
    """
    return execute(list, locals())


def show(id: Path | None = None, *, store: Path | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.Result:
    """Show one experiment: where and how it was measured, and its points.

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(show, locals())


def export(file: Path, *, format: Literal["jsonl", "csv", "benchmark-json"] | None = None, samples: bool | None = None, store: Path | None = None,
           experiment: Texts | None = None, kind: str | None = None, tag: Texts | None = None, operator: str | None = None,
           provider: str | None = None, progress: Progress | None = None) -> results.Result:
    """Write measurements as an archive that `lathe store import` reads, or in another program's format.
    A FILE whose name ends in .gz is compressed.

    format: Set the format: jsonl (archive), csv (one row a point) or benchmark-json (Google Benchmark)
    samples: Write one row a sample, with --format csv
    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    experiment: Take only these experiments, by id or its beginning
    kind: Take only experiments of this kind: ops, bench, compare, profile, segments, tune, evaluate, quantize, corun, imported; those of `sweep` are
        of kind bench, those of `bench --instances` of kind corun
    tag: Take only experiments with all of these tags (`lathe store tag`)
    operator: Take only points of this operator; model: whole models
    provider: Take only points of this provider or runner
    """
    return execute(export, locals())


def import_(file: Path | Sequence[Path], *, format: Literal["lathe", "benchdnn", "onnxruntime", "google-benchmark", "autotvm"] | None = None,
            store: Path | None = None, progress: Progress | None = None) -> results.Result:
    """Add archives, store files and stores of servers, of this machine or others, and results of other programs to
    the store: output of benchdnn, profiles of ONNX Runtime, JSON of Google Benchmark, logs of AutoTVM. What other
    programs measured is marked as not verified here (docs/store.md). All files are checked first; then either all
    are added or none. Of two measurements of one point the later one stays.

    format: Read the files in this format: lathe, benchdnn, onnxruntime, google-benchmark, autotvm (default: by content)
    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(import_, locals())


def merge(into: Path, file: Path | Sequence[Path], *, progress: Progress | None = None) -> results.Result:
    """Merge archives and stores, in files or on servers, into the store INTO, which is created if it does not exist.
    """
    return execute(merge, locals())


def tag(object: Path, word: Path | Sequence[Path], *, store: Path | None = None, remove: bool | None = None, progress: Progress | None = None) -> results.Result:
    """Tag an experiment, a platform or a problem, or remove tags. `--tag` of other verbs selects tagged experiments.

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    remove: Remove these tags
    """
    return execute(tag, locals())


def note(object: Path, text: Path, *, store: Path | None = None, progress: Progress | None = None) -> results.Result:
    """Attach a note to an experiment, a platform or a problem, or replace it.

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(note, locals())


def name(object: Path, text: Path, *, store: Path | None = None, progress: Progress | None = None) -> results.Result:
    """Name an experiment, a platform or a problem. Tables and reports show the name of a platform instead of its processor's.

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(name, locals())


def trend(name: Path | None = None, *, experiment: Texts | None = None, kind: str | None = None, tag: Texts | None = None,
          operator: str | None = None, provider: str | None = None, variant: str | None = None, store: Path | None = None, csv: Path | None = None,
          wide: bool | None = None, progress: Progress | None = None) -> results.Result:
    """Show the times of a network or a problem over dates and commits of lathe, and the points where they
    changed (docs/store.md). Without a name: one line a series.

    experiment: Take only these experiments, by id or its beginning
    kind: Take only experiments of this kind: ops, bench, compare, profile, segments, tune, evaluate, quantize, corun, imported; those of `sweep` are
        of kind bench, those of `bench --instances` of kind corun
    tag: Take only experiments with all of these tags (`lathe store tag`)
    operator: Take only points of this operator; model: whole models
    provider: Take only points of this provider or runner
    variant: Take only points of this variant
    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    csv: Write one row an observation as CSV (-: standard output)
    """
    return execute(trend, locals())
