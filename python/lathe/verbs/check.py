"""`lathe check`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def check(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
          requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
          target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
          level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
          memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
          schedule: Path | None = None, optimize_for: Pairs | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
          zoo_sequence: int | None = None, specialize: Pairs | None = None, range: Pairs | None = None, strict: bool | None = None,
          layouts: bool | None = None, quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.CheckResult:
    """List every operator that is unsupported or falls back to a reference, without generating code.
    Exit code 1 when a node is unsupported.

    strict: Return exit code 1 also for operators that fall back to references
    Other arguments: as for `compile`.
    """
    return execute(check, locals())
