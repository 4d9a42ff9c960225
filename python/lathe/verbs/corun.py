"""`lathe corun`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal, Sequence

from lathe import results
from lathe.verbs._process import Path, Progress, Texts, execute


def corun(package: Path | Sequence[Path], *, check_constants: Literal["once", "always", "never"] | None = None, seed: int | None = None,
          policy: Path | None = None, payoff: Literal["throughput", "latency"] | None = None, weights: Texts | None = None,
          batch: Texts | None = None, instances: Texts | None = None, margin: float | None = None, max_measurements: int | None = None,
          fresh: bool | None = None, processes: Literal["shared", "each"] | None = None, window: float | None = None, least_runs: int | None = None,
          starts: int | None = None, max_seconds: float | None = None, cpus: str | None = None, memory_node: int | None = None,
          frequency_cap: str | None = None, cache_share: str | None = None, store: Path | None = None, no_store: bool | None = None,
          tag: Texts | None = None, note: str | None = None, name: str | None = None, quiet: bool | None = None, wide: bool | None = None,
          progress: Progress | None = None) -> results.Result:
    """Run models without end at the same time, with the slots (processors) divided among them, and measure each alone
    and together with the others, in turns. When interrupted, print and keep what was measured; the same command goes
    on with an interrupted search. Exit code 1 when outputs differ in company or a model has too few runs.

    check_constants: Check a package's weights against their hash: once per version of the file, always or never
    seed: Set the seed of the random inputs
    policy: Divide the slots equally; search moves of which no model gains by another (nash) or that are best for all (cooperative); or take the moves
        in a JSON file (docs/corun.md)
    payoff: Search for high throughput, or for low latency of a run
    weights: Weigh the models' throughputs: a number for each, as 2,1 (default: 1 each)
    batch: Set the extent of symbolic first dimensions; a search considers several: 1,2,4, 8..64 (doubled) or 8..64:8 (default: 1)
    instances: Consider these numbers of contexts of a model that run at the same time
    margin: Count a move as a gain if it raises the payoff by more than this share
    max_measurements: Measure at most this many combinations of moves in a search
    fresh: Measure everything, also combinations of an interrupted search
    processes: Run the models in one process with a shared pool of threads, or in a process each
    window: Count runs in windows of this length, longer for slow models, in seconds
    least_runs: Mistrust a model with fewer runs in the windows of a start
    starts: Start the processes at least this often; more starts follow until every slow-down is decided or --max-seconds have passed. A search
        measures each combination in one start
    max_seconds: Time the chosen moves for about this long, in seconds
    cpus: Run on these CPUs only: 0-3,8, performance or efficiency (kinds of cores), one-per-core, node:N, package:N, or several joined by +, which
        all apply (default none: on any)
    memory_node: Take memory from this NUMA node only (default none: from any)
    frequency_cap: Limit the frequency of these CPUs, as root, to 2GHz or 1800MHz (default none: not limited)
    cache_share: Use 50% or 4ways of the last-level cache: by resctrl, as root, or where there is none by a companion that occupies the rest on
        another CPU (default none: all of it)
    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    """
    return execute(corun, locals())
