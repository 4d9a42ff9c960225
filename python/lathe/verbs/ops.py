"""The verbs of `lathe ops`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal, Sequence

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def bench(operator: Path | None = None, problem: Path | Sequence[Path] | None = None, *, suite: Texts | None = None, problems: str | None = None,
          from_model: str | None = None, provider: str | None = None, threads: str | None = None, type: str | None = None, batch: str | None = None,
          cache: str | None = None, layout: str | None = None, schedule: str | None = None, epilogue: str | None = None, cpus: Texts | None = None,
          memory_node: Texts | None = None, frequency_cap: Texts | None = None, cache_share: Texts | None = None, beside: Texts | None = None,
          beside_threads: int | None = None, beside_place: Literal["core", "cache", "socket", "machine", "any"] | None = None,
          beside_runs: int | None = None, repetitions: int | None = None, starts: int | None = None, max_starts: int | None = None,
          max_seconds: float | None = None, max_minutes: float | None = None, timeout: float | None = None, memory_limit: str | int | None = None,
          seed: int | None = None, check_only: bool | None = None, list: bool | None = None, dry_run: bool | None = None, via: str | None = None,
          via_directory: Path | None = None, fresh: bool | None = None, log: Path | None = None, store: Path | None = None,
          no_store: bool | None = None, tag: Texts | None = None, note: str | None = None, name: str | None = None, quiet: bool | None = None,
          wide: bool | None = None, progress: Progress | None = None) -> results.Result:
    """Time libraries on single operators side by side. Every output is first checked against the reference;
    a wrong output gets no time. Each provider chooses the layout of its activations and packs its weights before
    the timing (variant `plain`: row-major activations). The first provider is ours: a ratio is a peer's best time
    over our best time. Exit code 1 if a point failed, is mistrusted, crashed, timed out or exceeded its memory limit.

    suite: Take problems from published lists, as networks/resnet50 or 'deepbench/*' (list: show the suites)
    problems: Look for the suites in this problem list only
    from_model: Take the distinct problems that the kernels of a model compute, with what is fused into them; after an operator's name, only its
        problems
    provider: Compare the first of these providers with each other one, separated by commas: NAME, NAME:VARIANT or NAME:all (every variant); all:
        every installed provider (default: lathe,onednn)
    threads: Measure with these numbers of threads, separated by commas
    type: Set element types of short texts, separated by commas: f32, bf16, f16, int8 (u8:s8:s32), i8 (s8:s8:s32)
    batch: Replace the problems' batch by these, separated by commas
    cache: Measure in these cache states, separated by commas: hot, cold, cold-constants
    layout: Measure with activations in these layouts, separated by commas: any, row, blocked, channels_last
    schedule: Measure these schedules of ours, separated by commas: default, records (the fastest known), or a text
    epilogue: Set the epilogue of short texts of convolutions and fc: none, or bias, add and relu joined by + (default: bias+relu; none for integer
        types)
    cpus: Run on these CPUs only: 0-3,8, performance or efficiency (kinds of cores), one-per-core, node:N, package:N, or several joined by +, which
        all apply; repeat the flag for several (default none: on any)
    memory_node: Take memory from this NUMA node only; repeat the flag for several (default none: from any)
    frequency_cap: Limit the frequency of these CPUs, as root, to 2GHz or 1800MHz; repeat the flag for several (default none: not limited)
    cache_share: Use 50% or 4ways of the last-level cache: by resctrl, as root, or where there is none by a companion that occupies the rest on
        another CPU; repeat the flag for several (default none: all of it)
    beside: Measure each point alone and, in turns with it, while this problem runs without end on other CPUs: a text like those of the measured
        problems, or KIND:TEXT; give it again for another one
    repetitions: Time at least this many rounds in the first --starts starts; once --max-seconds are used up, three rounds per start
    starts: Start every provider at least this often; more follow until the verdict is decided or time is up (1: no more, and no verdict; `lathe ops
        diff` needs 6)
    max_starts: Start every provider at most this often; the verdict then stays ambiguous
    max_seconds: Time a row for at most this long, preparation and checks excluded, in seconds
    max_minutes: Begin no row after this time, in minutes, and make no more starts than --starts (0: no limit)
    timeout: Give up a request to a provider after this time, in seconds
    memory_limit: Stop a provider whose resident memory exceeds this, such as 4GB; its points then fail (default 0: no limit)
    seed: Set the seed of the random operands
    check_only: Compare outputs without timing
    list: Print the problems and end
    dry_run: Print the number of points and the expected time, and end
    via: Run the providers through a command that passes pipes: "ssh board", "ip netns exec box", "sh -c"
    via_directory: Find lathe-provider-* in this folder at the other end (default: the same as here)
    fresh: Measure everything, also points of an interrupted run of the same command
    log: Append every measured row to FILE, one JSON object a line; rows that FILE has are read and not measured again
    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    Other arguments: as for `compile`.
    """
    return execute(bench, locals())


def problems(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
             requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
             target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
             level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
             memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
             schedule: Path | None = None, optimize_for: Pairs | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
             zoo_sequence: int | None = None, csv: Path | None = None, quiet: bool | None = None, wide: bool | None = None,
             progress: Progress | None = None) -> results.Result:
    """List the distinct operators of a compiled model (constants folded, operators fused) with their counts, as problems
    for `lathe ops bench`. Symbolic extents that no --shape gives are 1.

    csv: Write the list to FILE, its suite named after the model (-: standard output)
    Other arguments: as for `compile`.
    """
    return execute(problems, locals())


def analyze(*, store: Path | None = None, experiment: Texts | None = None, kind: str | None = None, tag: Texts | None = None,
            operator: str | None = None, provider: str | None = None, threads: Texts | None = None,
            what: Literal["roofline", "counters", "speedup", "best", "schedules", "failed", "estimate", "account", "table", "correlation", "turning", "company", "all"] | None = None,
            baseline: str | None = None, from_model: str | None = None, suite: Texts | None = None, problems: str | None = None,
            epilogue: str | None = None, measured_ms: float | None = None, rows: int | None = None, wide: bool | None = None,
            progress: Progress | None = None) -> results.Result:
    """Analyse the measurements in the store: shares of the roofline, speedups over a baseline provider, the fastest,
    failures, a network's sum of its operators, correlations and turning points (docs/analysing.md). Of several
    measurements of one point the last one counts.

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    experiment: Take only these experiments, by id or its beginning
    kind: Take only experiments of this kind: ops, bench, compare, profile, segments, tune, evaluate, quantize, corun, imported; those of `sweep` are
        of kind bench, those of `bench --instances` of kind corun
    tag: Take only experiments with all of these tags (`lathe store tag`)
    operator: Take only points of this operator; model: whole models
    provider: Take only points of this provider or runner
    threads: Take only points with these numbers of threads, separated by commas
    what: Show these tables, separated by commas; all: every one that has figures (default: a summary): roofline, counters, speedup, best, schedules,
        failed, estimate, account, table, correlation, turning, company
    baseline: Compute speedups over this provider
    from_model: Set the network of estimate, account and table
    suite: Use a suite of problems instead of a network; its list says how often each problem occurs
    problems: Look for the suite in this problem list only
    epilogue: Set the epilogue of the suite's convolutions and fc: none, or bias, add and relu joined by + (default: bias+relu)
    measured_ms: Set the time of the whole network, in ms (default: its last verified `lathe bench` in the store)
    rows: Show at most this many rows of each table (0: all); JSON has all
    """
    return execute(analyze, locals())


def diff(before: Path, after: Path | Sequence[Path], *, fail_on: Texts | None = None, all: bool | None = None, rows: int | None = None,
         store: Path | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.Result:
    """Compare experiments with a first one point by point: ratios of medians with intervals, verdicts, changes of status,
    points of one side only. Faster and slower need six starts of each side (`lathe ops bench --starts 6`).
    The sides were not measured in turns, so use a quiet machine; `lathe compare` and `lathe ops bench`
    measure in turns. Exit code 1 when --fail-on holds for a point.

    fail_on: Return exit code 1 on these, by commas: slower, slower:3% (verdict slower, by more than 3 %), failed (passed before), missing
    all: Show also points that are the same
    rows: Show at most this many rows (0: all); JSON has all
    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(diff, locals())
