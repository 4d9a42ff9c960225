"""`lathe extract`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Arrays, Pairs, Path, Progress, Texts, execute


def extract(model: Path, output: Path | None = None, *, shape: Pairs | None = None, override: Texts | None = None,
            requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
            zoo_seed: int | None = None, zoo_batch: int | None = None, zoo_sequence: int | None = None, input: Arrays | None = None,
            fill: Literal["zeros", "ones", "random"] | None = None, seed: int | None = None, batch: int | None = None, from_: Texts | None = None,
            to: Texts | None = None, node: Texts | None = None, inputs: bool | None = None, quiet: bool | None = None,
            progress: Progress | None = None) -> results.Result:
    """Write a part of a model as ONNX, with its weights. Names are nodes as `check` and `verify` print them (NODE:1 is the
    second result), or tensors. A node given with --from belongs to the part, and its operands become inputs; a tensor
    given with --from becomes an input itself. On paths without a --from the part reaches back to the model's inputs.

    input: Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a folder of .npy files; floats are
        quantised where the input has a scale
    fill: Fill the inputs that no --input gives with zeros, ones or random numbers
    seed: Set the seed of random inputs
    batch: Set the extent of symbolic first dimensions (default: 1)
    from_: Begin the part here (default: the model's inputs)
    to: Make these the outputs (default: the model's outputs)
    node: Take only this operator, as --from and --to
    output: Write the part to CUT.onnx (-: standard output)
    inputs: Run the model on the references, write the part's inputs to CUT.inputs/ and outputs to CUT.expected/
    Other arguments: as for `compile`.
    """
    return execute(extract, locals())
