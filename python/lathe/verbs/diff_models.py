"""`lathe diff-models`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe._process import Pairs, Path, Progress, execute


def diff_models(model: Path, other: Path, *, shape: Pairs | None = None, requantize_rounding: Literal["reference", "optimised"] | None = None,
                signature: str | None = None, custom: Pairs | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
                zoo_sequence: int | None = None, other_shape: Pairs | None = None, other_signature: str | None = None, tolerance: float | None = None,
                all: bool | None = None, progress: Progress | None = None) -> results.Result:
    """Map the graphs of two models onto each other and list what differs: operators without a partner,
    attributes, constants, inputs and outputs. Formats may differ: batch norms are folded and channels come
    first before graphs are compared. Exit code 0 if nothing differs, 1 if something does.

    other_shape: --shape of OTHER, as NAME=1x3x224x224
    other_signature: --signature of OTHER (default: that of MODEL, if OTHER has signatures)
    tolerance: Take constants of floats as equal whose difference has at most this share of the L2 norm: rounding of folding
    all: Print every difference instead of the first 20
    Other arguments are those of `compile`.
    """
    return execute(diff_models, locals())
