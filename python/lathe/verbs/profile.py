"""`lathe profile`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Arrays, Pairs, Path, Progress, Texts, execute


def profile(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
            requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
            target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
            level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
            memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
            schedule: Path | None = None, specialize: Pairs | None = None, range: Pairs | None = None, optimize_for: Pairs | None = None,
            no_cache: bool | None = None, no_records: bool | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
            zoo_sequence: int | None = None, check_constants: Literal["once", "always", "never"] | None = None, input: Arrays | None = None,
            fill: Literal["zeros", "ones", "random"] | None = None, seed: int | None = None, batch: int | None = None, until: str | None = None,
            repetitions: int | None = None, no_check: bool | None = None, trace: Path | None = None, trace_events: int | None = None,
            html: Path | None = None, svg: Path | None = None, store: Path | None = None, no_store: bool | None = None, tag: Texts | None = None,
            note: str | None = None, name: str | None = None, quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.ProfileResult:
    """Show one row per kernel: source nodes, time, share, speed, share of the roofline, and the time that the cost model
    predicts as a share of the measured time. The outputs are verified first unless that was done before, and the
    machine's peak and clock are measured beside the runs (docs/profiling.md).

    check_constants: Check a package's weights against their hash: once per version of the file, always or never
    input: Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a folder of .npy files; floats are
        quantised where the input has a scale
    fill: Fill the inputs that no --input gives with zeros, ones or random numbers
    seed: Set the seed of random inputs
    batch: Set the extent of symbolic first dimensions (default: 1)
    until: Stop after the kernel that computes NODE
    repetitions: Profile this many runs; the fastest quarter counts
    no_check: Profile a package whose outputs were never verified
    trace: Write every run as a trace for Perfetto, with a track for each thread; NAME.json.gz is compressed
    trace_events: Keep the first N events of each track of a traced run, and count the others (default: 2000000 / (threads + 1))
    html: Write the profile as a page with plots (default: NAME.html)
    svg: Write the plots as SVG files into the folder DIR, with Node.js
    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE, and use its tuning records (default:
        ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    Other arguments: as for `compile`.
    """
    return execute(profile, locals())
