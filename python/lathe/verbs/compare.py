"""`lathe compare`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Arrays, Pairs, Path, Progress, Texts, execute


def compare(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
            requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
            target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
            level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
            memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
            schedule: Path | None = None, specialize: Pairs | None = None, range: Pairs | None = None, optimize_for: Pairs | None = None,
            no_cache: bool | None = None, no_records: bool | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
            zoo_sequence: int | None = None, check_constants: Literal["once", "always", "never"] | None = None, input: Arrays | None = None,
            fill: Literal["zeros", "ones", "random"] | None = None, seed: int | None = None, batch: Texts | None = None, with_: Texts | None = None,
            adapt_layouts: bool | None = None, check_only: bool | None = None, max_seconds: float | None = None, starts: int | None = None,
            max_rounds: int | None = None, relative: float | None = None, maximum: float | None = None, store: Path | None = None,
            no_store: bool | None = None, tag: Texts | None = None, note: str | None = None, name: str | None = None,
            tflite_library: Path | None = None, quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.CompareResult:
    """Compare the outputs of a model with other runtimes, then time all of them in turns: while one runs
    the others stand still. Every runtime is started several times, because processes of one program differ.
    When interrupted, print and keep what was measured. Exit code 1 when outputs differ or a side fails.

    check_constants: Check a package's weights against their hash: once per version of the file, always or never
    input: Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a folder of .npy files; floats are
        quantised where the input has a scale
    fill: Fill the inputs that no --input gives with zeros, ones or random numbers
    seed: Set the seed of random inputs
    batch: Set the extent of symbolic first dimensions; several measure one package at each: 1,2,4, 8..64 (doubled) or 8..64:8 (steps of 8) (default:
        1)
    with_: Compare with these, separated by commas: onnxruntime, onnxruntime-parallel, tflite, tensorflowjs, tensorflow, opencv, reference, or the
        file of another model or package (default: tflite for TFLite models, else onnxruntime)
    adapt_layouts: Transpose inputs and outputs whose channels lie elsewhere (NHWC against NCHW), outside of what is timed
    check_only: Compare outputs and time nothing
    max_seconds: Time for at most this long, later starts of the runtimes included, in seconds
    starts: Start every runtime at least this often; more starts follow until every verdict is decided or --max-seconds have passed
    max_rounds: Time at most this many rounds in all starts (default: no limit)
    relative: Set the largest relative L2 difference of outputs that agree (default: docs/numerics.md; 0.0001 for fp32)
    maximum: Set the limit of the largest |difference| divided by the largest |value| (default: docs/numerics.md; 0.001 for fp32)
    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE, and use its tuning records (default:
        ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    tflite_library: Run TFLite files with this native library of TensorFlow Lite's C API, libtensorflowlite_c.so, as the runtime tflite
    Other arguments: as for `compile`.
    """
    return execute(compare, locals())
