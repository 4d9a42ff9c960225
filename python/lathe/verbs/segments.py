"""`lathe segments`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Arrays, Pairs, Path, Progress, Texts, execute


def segments(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
             requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
             target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
             level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
             memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
             schedule: Path | None = None, optimize_for: Pairs | None = None, no_cache: bool | None = None, no_records: bool | None = None,
             zoo_seed: int | None = None, zoo_batch: int | None = None, zoo_sequence: int | None = None, input: Arrays | None = None,
             fill: Literal["zeros", "ones", "random"] | None = None, seed: int | None = None, batch: int | None = None, with_: str | None = None,
             checkpoints: int | None = None, at: Texts | None = None, list: bool | None = None, repeat: int | None = None,
             max_seconds: float | None = None, store: Path | None = None, no_store: bool | None = None, tag: Texts | None = None,
             note: str | None = None, name: str | None = None, quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.SegmentsResult:
    """Time a network segment by segment, here and in another runtime: from the input to each checkpoint, and each
    block between two checkpoints alone, on the values that the whole network feeds it. The other runtime gets
    each part as ONNX, or runs it inside of a model of its own format. Outputs are compared at every
    checkpoint before anything is timed. The last lines name the checkpoints at which the ratio crosses 1, and the
    blocks that the other runtime computes faster. When interrupted, print and keep the parts that were measured.

    input: Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a folder of .npy files; floats are
        quantised where the input has a scale
    fill: Fill the inputs that no --input gives with zeros, ones or random numbers
    seed: Set the seed of random inputs
    batch: Set the extent of symbolic first dimensions (default: 1)
    with_: Compare with this runner: onnxruntime, opencv, tflite for models of TensorFlow Lite, or tensorflowjs for models of TensorFlow and Keras
    checkpoints: Place this many checkpoints, evenly over the operations, where a single tensor passes beside inputs
    at: Place the checkpoints behind these nodes or scopes, given in the order of the graph, in place of --checkpoints
    list: Print the places where the network can be cut, and end
    repeat: Run each part this many times in each runtime, over six starts (default 0: until the verdict is decided or --max-seconds have passed)
    max_seconds: Time a part for at most this long, later starts of the runtimes included, in seconds
    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE, and use its tuning records (default:
        ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    Other arguments: as for `compile`.
    """
    return execute(segments, locals())
