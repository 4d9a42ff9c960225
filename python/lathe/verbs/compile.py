"""`lathe compile`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def compile(model: Path, output: Path | None = None, *, shape: Pairs | None = None, override: Texts | None = None,
            requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
            target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
            level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
            memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
            schedule: Path | None = None, optimize_for: Pairs | None = None, no_cache: bool | None = None, no_records: bool | None = None,
            zoo_seed: int | None = None, zoo_batch: int | None = None, zoo_sequence: int | None = None, specialize: Pairs | None = None,
            range: Pairs | None = None, store: Path | None = None, beside: Path | None = None, beside_threads: int | None = None,
            beside_place: Literal["core", "cache", "socket", "machine", "any"] | None = None, beside_runs: int | None = None,
            emit: Literal["graph", "kernels", "schedule", "loops", "llvm", "asm"] | None = None, export_space: Path | None = None,
            points: int | None = None, seed: int | None = None, explain: str | None = None, layouts: bool | None = None, jobs: int | None = None,
            quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.Compilation:
    """Compile a model to a native package, print a stage of the compilation, or explain its choices.

    shape: Set the extents of an input, as NAME=1x3x224x224: symbolic ones, and fixed ones where the model allows it (-1: as the model states)
    override: Make this input an input although the ONNX file has a default value for it, which is a constant otherwise
    requantize_rounding: Round quantised TFLite models as TensorFlow Lite's reference or optimised kernels
    signature: Import this signature of a SavedModel (default: serving_default) or of a TFLite file (default: its first subgraph)
    custom: Define a Keras layer by its class: textual IR whose @main takes the layer's inputs, then its weights (docs/keras.md)
    target: Compile for native, machine (see --machine), an LLVM CPU name, or LLVM/TVM target text
    threads: Plan kernels for this number of threads; verbs that run a model use as many
    machine: Choose schedules for the machine that FILE describes (lathe machine --json); without --target, compile for its CPU too
    references_only: Generate no kernels: the package computes every operator with its reference
    level: Optimise: 0 one kernel per operator, 1 folding, 2 fusion, 3 layout and algorithms, 4 shorter functions (errors up to 2^-12)
    layout: Keep activations in planes (nchw), with the channels last (nhwc) or in blocks of channels; auto: what is fastest (docs/layouts.md)
    exact_math: Forbid algorithms that reassociate sums (Winograd), and scale factors moved into weights
    memory: Limit memory: small forbids algorithms that enlarge the weights (Winograd), and streams that nobody asked for
    streams: Run kernels beside each other on disjoint threads, and merge convolutions that read one value: auto where it is predicted to be faster,
        off, or N teams wherever operands allow it (docs/streams.md)
    precision: Set the precision: bf16 rounds operands of contractions and attention, sums stay fp32
    schedule: Read schedules (lathe help schedules) from FILE, one 'KERNEL-OR-NODE: SCHEDULE' a line
    optimize_for: Choose schedules of symbolic extents for these values, as N=8 or "N=8 T=128" (default: 1)
    no_cache: Compile everything again and cache nothing
    no_records: Use no schedules of tuning records (docs/records.md)
    zoo_seed: Set the seed of a zoo model's weights
    zoo_batch: Build a zoo model for this batch size (default: 1)
    zoo_sequence: Build a zoo model that reads sequences for this number of steps or tokens (default: the model's own)
    specialize: Add a variant to the package for every combination of these extents, as N=1,8 or "H=224,320 W=224,320"; the runtime chooses when
        inputs are bound
    range: Refuse inputs with extents outside a range, as N=1..64
    store: Use the tuning records in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    beside: Compile for a model that runs beside this package: use the tuning records of `lathe tune --beside` in this company, then those of kernels
        alone
    beside_threads: Run what --beside names with this number of threads
    beside_place: Run it on CPUs that share this with those of the measured side: core (the other threads of its cores), cache (the last level),
        socket, machine (another socket); any: the first of cache, socket, machine and core with enough CPUs
    beside_runs: Mistrust what was measured if fewer of its runs than this end beside the timed runs of a start
    output: Write the package, or with --emit the text, to FILE (-: standard output, the default of --emit)
    emit: Print this stage instead of making a package; graph, kernels and schedule can be read back
    export_space: Write the parameters of every kernel's schedules, their values, constraints and legal points as JSON to FILE, instead of making a
        package
    points: Write this number of random legal points of every algorithm with more than 2000 points; all legal ones of others
    seed: Set the seed of the random points of --export-space
    explain: Print candidates for the kernel that computes NODE with predicted costs, and why others were declined, instead of making a package
    layouts: List the layout conversions that are left with their predicted costs, and every operator that keeps the layout of the model with the
        reason
    jobs: Use this number of threads for the compilation itself
    """
    return execute(compile, locals())
