"""`lathe predict`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def predict(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
            requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
            target: str | None = None, threads: int | None = None, machine: Path | None = None, level: int | None = None,
            layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
            memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
            schedule: Path | None = None, optimize_for: Pairs | None = None, no_records: bool | None = None, zoo_seed: int | None = None,
            zoo_batch: int | None = None, zoo_sequence: int | None = None, store: Path | None = None, points: Path | None = None,
            rows: int | None = None, quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.Result:
    """Predict the latency of one run of a model on this machine or on the one of --machine, without
    running it: the cost model's prediction of every kernel, corrected by what was measured of other
    networks, with an interval that holds 90 % of latencies (docs/predict.md).

    points: Learn from this archive of measured networks (default: the one that comes with lathe for this kind of machine)
    rows: Show this many of the most expensive kernels, 0 all
    Other arguments: as for `compile`.
    """
    return execute(predict, locals())
