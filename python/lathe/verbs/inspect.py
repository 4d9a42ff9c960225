"""`lathe inspect`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def inspect(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
            requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
            target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
            level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
            memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
            schedule: Path | None = None, optimize_for: Pairs | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
            zoo_sequence: int | None = None, blocks: bool | None = None, canonical: bool | None = None, layouts: bool | None = None,
            quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.InspectResult:
    """Show a model's inputs, outputs, operators, parameters, FLOPs, bytes and the distinct shapes of its convolutions and
    matrix products; or a package's origin, target, sections, kernels and schedules. A multiply-accumulate counts as two
    operations; symbolic extents count as 1.

    blocks: List groups of operators that occur several times with the same structure: their number, share of the FLOPs, weights, and what differs
        between them
    canonical: Print the canonical text of the graph instead: equal for equal graphs (docs/staging.md)
    Other arguments: as for `compile`.
    """
    return execute(inspect, locals())
