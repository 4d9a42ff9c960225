"""`lathe bench`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Arrays, Pairs, Path, Progress, Texts, execute


def bench(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
          requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
          target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
          level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
          memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
          schedule: Path | None = None, specialize: Pairs | None = None, range: Pairs | None = None, optimize_for: Pairs | None = None,
          no_cache: bool | None = None, no_records: bool | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
          zoo_sequence: int | None = None, check_constants: Literal["once", "always", "never"] | None = None, input: Arrays | None = None,
          fill: Literal["zeros", "ones", "random"] | None = None, seed: int | None = None, batch: Texts | None = None, cpus: str | None = None,
          memory_node: int | None = None, frequency_cap: str | None = None, cache_share: str | None = None, instances: Texts | None = None,
          repetitions: int | None = None, warm_up: int | None = None, max_seconds: float | None = None, interval: float | None = None,
          store: Path | None = None, no_store: bool | None = None, tag: Texts | None = None, note: str | None = None, name: str | None = None,
          quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.BenchResult:
    """Time single runs with bound buffers, layout conversions included, until the median is known well enough; or
    several instances that run at the same time (docs/corun.md). Exit code 1 when outputs are mistrusted or differ.
    When interrupted, print and keep what was measured.

    check_constants: Check a package's weights against their hash: once per version of the file, always or never
    input: Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a folder of .npy files; floats are
        quantised where the input has a scale
    fill: Fill the inputs that no --input gives with zeros, ones or random numbers
    seed: Set the seed of random inputs
    batch: Set the extent of symbolic first dimensions; several measure one package at each: 1,2,4, 8..64 (doubled) or 8..64:8 (steps of 8) (default:
        1)
    cpus: Run on these CPUs only: 0-3,8, performance or efficiency (kinds of cores), one-per-core, node:N, package:N, or several joined by +, which
        all apply (default none: on any)
    memory_node: Take memory from this NUMA node only (default none: from any)
    frequency_cap: Limit the frequency of these CPUs, as root, to 2GHz or 1800MHz (default none: not limited)
    cache_share: Use 50% or 4ways of the last-level cache: by resctrl, as root, or where there is none by a companion that occupies the rest on
        another CPU (default none: all of it)
    instances: Instead of single runs, time so many contexts that run at the same time and divide the threads, in turns with a single one: latency of
        a run and throughput of all together: 2,4 or 2..8 (doubled)
    repetitions: Time exactly this many runs instead of using the stopping rule
    warm_up: Run this many times before timing
    max_seconds: Measure for at most this long, in seconds
    interval: Stop when half the median's 95 % interval is below this share of the median
    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE, and use its tuning records (default:
        ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    Other arguments: as for `compile`.
    """
    return execute(bench, locals())
