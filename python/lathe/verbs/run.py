"""`lathe run`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Arrays, Pairs, Path, Progress, Texts, execute


def run(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
        requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
        target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
        level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
        memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
        schedule: Path | None = None, specialize: Pairs | None = None, range: Pairs | None = None, optimize_for: Pairs | None = None,
        no_cache: bool | None = None, no_records: bool | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
        zoo_sequence: int | None = None, store: Path | None = None, check_constants: Literal["once", "always", "never"] | None = None,
        input: Arrays | None = None, fill: Literal["zeros", "ones", "random"] | None = None, seed: int | None = None, batch: int | None = None,
        steps: int | None = None, state: Pairs | None = None, output: Path | None = None, reference: bool | None = None,
        dequantize: bool | None = None, print_top: int | None = None, quiet: bool | None = None, progress: Progress | None = None) -> results.RunResult:
    """Run a model or a package and describe its outputs.

    check_constants: Check a package's weights against their hash: once per version of the file, always or never
    input: Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a folder of .npy files; floats are
        quantised where the input has a scale
    fill: Fill the inputs that no --input gives with zeros, ones or random numbers
    seed: Set the seed of random inputs
    batch: Set the extent of symbolic first dimensions (default: 1)
    steps: Run this many times, one after the other, with the states kept between the runs
    state: Pass an output on as an input of the next run (docs/state.md): INPUT=OUTPUT, with * for a common part of several names; with :max=POSITIONS
        it grows in place
    output: Write the outputs to FILE.npz, FOLDER/, or FILE.npy for a single one (-: .npy on standard output)
    reference: Run the whole model on the reference operators instead of compiled code
    dequantize: Describe and write outputs that have a scale as the real numbers they stand for
    print_top: Print the N greatest elements of each output along its last axis, with their positions
    Other arguments: as for `compile`.
    """
    return execute(run, locals())
