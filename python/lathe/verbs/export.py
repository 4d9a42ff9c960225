"""`lathe export`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def export(model: Path, output: Path | None = None, *, shape: Pairs | None = None, override: Texts | None = None,
           requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
           zoo_seed: int | None = None, zoo_batch: int | None = None, zoo_sequence: int | None = None, quiet: bool | None = None,
           progress: Progress | None = None) -> results.Result:
    """Write a model of any format as ONNX, with its weights. Names of nodes, inputs and outputs are kept, and so are symbolic
    extents. `lathe extract` writes a part of a model.

    output: Write the model to F.onnx (-: standard output)
    Other arguments: as for `compile`.
    """
    return execute(export, locals())
