"""`lathe verify`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Arrays, Pairs, Path, Progress, Texts, execute


def verify(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
           requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
           target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
           level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
           memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
           schedule: Path | None = None, specialize: Pairs | None = None, range: Pairs | None = None, optimize_for: Pairs | None = None,
           no_cache: bool | None = None, no_records: bool | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
           zoo_sequence: int | None = None, store: Path | None = None, check_constants: Literal["once", "always", "never"] | None = None,
           input: Arrays | None = None, fill: Literal["zeros", "ones", "random"] | None = None, seed: int | None = None, batch: int | None = None,
           steps: int | None = None, state: Pairs | None = None, package: Path | None = None, model_: Path | None = None, seeds: int | None = None,
           output: Texts | None = None, all: bool | None = None, relative: float | None = None, maximum: float | None = None,
           quiet: bool | None = None, progress: Progress | None = None) -> results.VerifyResult:
    """Run the compiled model beside the float64 reference and compare the outputs. On a mismatch, name the first node
    whose value diverges. NaN and infinities must be in the same places. Outputs that are constant, all zero or nowhere
    finite are mistrusted: their agreement proves nothing. Exit code 1 when a value differs or is mistrusted.

    check_constants: Check a package's weights against their hash: once per version of the file, always or never
    input: Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a folder of .npy files; floats are
        quantised where the input has a scale
    fill: Fill the inputs that no --input gives with zeros, ones or random numbers
    seed: Set the seed of random inputs
    batch: Set the extent of symbolic first dimensions (default: 1)
    steps: Run this many times, one after the other, with the states kept between the runs
    state: Pass an output on as an input of the next run (docs/state.md): INPUT=OUTPUT, with * for a common part of several names; with :max=POSITIONS
        it grows in place
    package: Judge this package (default: the model compiled with these flags)
    model_: Judge the package by this model (default: the zoo network that it names)
    seeds: Use this many sets of random inputs
    output: Compare the result of the kernel that computes this node, too
    all: Compare the result of every kernel, too, whatever its layout is; list the kernels without a value of the model
    relative: Set the limit of the relative L2 error (default: docs/numerics.md; 2e-05 for fp32)
    maximum: Set the limit of the largest |difference| divided by the largest |reference| (default: docs/numerics.md; 0.0001 for fp32)
    Other arguments: as for `compile`.
    """
    return execute(verify, locals())
