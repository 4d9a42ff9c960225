"""`lathe zoo`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from lathe import results
from lathe.verbs._process import Path, Progress, execute


def zoo(name: Path | None = None, *, output: Path | None = None, batch: int | None = None, dynamic_batch: bool | None = None,
        sequence: int | None = None, seed: int | None = None, list: bool | None = None, quiet: bool | None = None, wide: bool | None = None,
        progress: Progress | None = None) -> results.ZooResult:
    """Write a built-in architecture as ONNX, with seeded random weights. They keep the mean square of the values
    of every layer near one.

    output: Write the ONNX file here (default: NAME.onnx; -: standard output)
    batch: Set the batch
    dynamic_batch: Leave the batch open, as symbol N
    sequence: Set the steps or tokens of a network that reads sequences (default: the network's own)
    seed: Set the seed of the weights
    list: List the architectures
    """
    return execute(zoo, locals())
