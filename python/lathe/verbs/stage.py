"""`lathe stage`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def stage(model: Path, output: Path | None = None, *, shape: Pairs | None = None, override: Texts | None = None,
          requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
          zoo_seed: int | None = None, zoo_batch: int | None = None, zoo_sequence: int | None = None, flat: bool | None = None,
          quiet: bool | None = None, progress: Progress | None = None) -> results.StageResult:
    """Write a model of any format as source that builds its graph: readable Python or C++, with one function for every
    repeated block, and the weights beside it in the safetensors format. Running the source writes the graph as textual IR,
    which every verb reads; an edited source makes another network (docs/staging.md).

    output: Write the source to F.py (Python) or F.cpp (C++), the weights to F.safetensors
    flat: Write repeated blocks out instead of one function for each
    Other arguments: as for `compile`.
    """
    return execute(stage, locals())
