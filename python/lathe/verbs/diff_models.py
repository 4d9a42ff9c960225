"""`lathe diff-models`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Arrays, Pairs, Path, Progress, Texts, execute


def diff_models(model: Path, other: Path, *, shape: Pairs | None = None, override: Texts | None = None,
                requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
                zoo_seed: int | None = None, zoo_batch: int | None = None, zoo_sequence: int | None = None, other_shape: Pairs | None = None,
                other_signature: str | None = None, tolerance: float | None = None, all: bool | None = None, values: bool | None = None,
                input: Arrays | None = None, fill: Literal["zeros", "ones", "random"] | None = None, seed: int | None = None,
                batch: int | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.Result:
    """Map the graphs of two models onto each other and list what differs: operators without a partner,
    attributes, constants, inputs and outputs. Formats may differ: batch norms are folded and channels come
    first before graphs are compared. With --values, print the errors of values inside instead, and where they grow.
    Exit code 0 if nothing differs, 1 if something does.

    other_shape: --shape of OTHER, as NAME=1x3x224x224
    other_signature: --signature of OTHER (default: that of MODEL, if OTHER has signatures)
    tolerance: Take constants of floats as equal whose difference has at most this share of the L2 norm: rounding of folding
    all: Print every difference instead of the first 20
    values: Run both models on the reference operators instead, with the same inputs, and print the error of each value that both have (default
        tolerance: 0.0001)
    input: Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a folder of .npy files; floats are
        quantised where the input has a scale
    fill: Fill the inputs that no --input gives with zeros, ones or random numbers
    seed: Set the seed of random inputs
    batch: Set the extent of symbolic first dimensions (default: 1)
    Other arguments: as for `compile`.
    """
    return execute(diff_models, locals())
