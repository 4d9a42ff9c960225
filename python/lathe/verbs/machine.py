"""`lathe machine`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from lathe import results
from lathe.verbs._process import Progress, execute


def machine(*, refresh: bool | None = None, threads: int | None = None, quiet: bool | None = None, wide: bool | None = None,
            progress: Progress | None = None) -> results.MachineResult:
    """Measure arithmetic rates by type, and bandwidths of caches and memory, by number of threads. The results
    are kept in ~/.cache/lathe/machine.json and read from there afterwards. Measuring waits for a quiet machine, 60 s
    at most, and keeps no figures that cannot be right. Then show the facts that the compiler
    plans with, and the source of each: system, measured, table (by CPU), fitted (table, from timed schedules of
    the CPU) or generic (by instruction set). Another machine compiles for this one with --machine and the file
    of --json.

    refresh: Measure again instead of reading the kept results
    threads: Measure again, with 1 to N threads (default: all that this process may use)
    """
    return execute(machine, locals())
