"""The verbs of `lathe records`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Sequence

from lathe import results
from lathe.verbs._process import Path, Progress, Texts, execute


def list(*, task: str | None = None, family: str | None = None, cpu: str | None = None, platform: str | None = None, status: Texts | None = None,
         rows: int | None = None, store: Path | None = None, shipped: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.RecordsResult:
    """List tuning records: schedules that were measured for a task (a kernel with its shapes, types, layouts,
    threads and processor), by task, the fastest first.

    task: Take only tasks whose text contains this
    family: Take only tasks of this kernel family, such as contraction
    cpu: Take only records whose CPU, or task with its target, contains this
    platform: Take only records of this platform, by key or its beginning
    status: Take only records with one of these: passed, failed, mistrusted, unimplemented, crashed, timed_out, memory_exceeded, not_verified
    rows: Show at most this many rows (0: all); JSON has all
    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    shipped: Show the records that come with lathe instead of a store
    """
    return execute(list, locals())


def best(*, task: str | None = None, family: str | None = None, cpu: str | None = None, platform: str | None = None, rows: int | None = None,
         store: Path | None = None, shipped: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.RecordsResult:
    """Show the fastest schedule of each task and platform that passed, with the number of schedules that were
    tried, and of those that failed, by kind.

    task: Take only tasks whose text contains this
    family: Take only tasks of this kernel family, such as contraction
    cpu: Take only records whose CPU, or task with its target, contains this
    platform: Take only records of this platform, by key or its beginning
    rows: Show at most this many rows (0: all); JSON has all
    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    shipped: Show the records that come with lathe instead of a store
    """
    return execute(best, locals())


def export(file: Path, *, task: str | None = None, family: str | None = None, cpu: str | None = None, platform: str | None = None,
           status: Texts | None = None, store: Path | None = None, progress: Progress | None = None) -> results.Result:
    """Write tuning records, with their tasks, platforms and experiments, as an archive of JSON lines, which
    `lathe records import` and `lathe store import` read. A FILE whose name ends in .gz is compressed.

    task: Take only tasks whose text contains this
    family: Take only tasks of this kernel family, such as contraction
    cpu: Take only records whose CPU, or task with its target, contains this
    platform: Take only records of this platform, by key or its beginning
    status: Take only records with one of these: passed, failed, mistrusted, unimplemented, crashed, timed_out, memory_exceeded, not_verified
    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(export, locals())


def import_(file: Path | Sequence[Path], *, store: Path | None = None, progress: Progress | None = None) -> results.Result:
    """Add the tuning records of archives and store files, and logs of AutoTVM 0.2 for viewing, to the store. All
    files are checked first; then either all are added or none. Records of one schedule for one task on one
    platform become one: it has all times, and the verdict of the last comparison with the default schedule.

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(import_, locals())


def merge(into: Path, file: Path | Sequence[Path], *, progress: Progress | None = None) -> results.Result:
    """Merge the tuning records of archives, store files and logs of AutoTVM into the store file INTO, which is
    created if it does not exist.
    """
    return execute(merge, locals())


def prune(*, keep: int | None = None, failures: bool | None = None, other_versions: bool | None = None, dry_run: bool | None = None,
          task: str | None = None, family: str | None = None, cpu: str | None = None, platform: str | None = None, store: Path | None = None,
          progress: Progress | None = None) -> results.Result:
    """Remove tuning records that are not needed any more, and say how many and why. Filters restrict what may
    be removed.

    keep: Remove what passed beyond the N fastest of each task and platform; schedules that were compared with the default stay
    failures: Remove records without a time
    other_versions: Remove records of other versions of lathe
    dry_run: Say what would be removed, and remove nothing
    task: Take only tasks whose text contains this
    family: Take only tasks of this kernel family, such as contraction
    cpu: Take only records whose CPU, or task with its target, contains this
    platform: Take only records of this platform, by key or its beginning
    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(prune, locals())


def ship(folder: Path, *, store: Path | None = None, progress: Progress | None = None) -> results.Result:
    """Write the best tuning records of this kind of machine as the archive in FOLDER that comes with lathe: of each
    task the fastest schedule that was faster than the default in turns. Records of the archive stay where the
    store has not compared their task.

    store: Use the store in this file or on this server, postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)
    """
    return execute(ship, locals())
