"""The samples of a run that the tree stores: the median of every round. Ratios in turns, their intervals and verdicts follow from
these medians and the process starts (docs/measuring.md)."""
import itertools
import sqlite3
import statistics


def medians(store, copy):
    """Writes a copy of a store in which every round has only one sample, its median."""
    source = sqlite3.connect(store)
    source.execute("VACUUM INTO ?", (str(copy),))
    every = source.execute("SELECT point, round, wall_ns FROM sample ORDER BY point, round")
    kept = [(*which, round(statistics.median(sample[2] for sample in samples))) for which, samples in itertools.groupby(every, key=lambda sample: sample[:2])]
    source.close()
    target = sqlite3.connect(copy)
    target.execute("DELETE FROM sample")
    target.executemany("INSERT INTO sample (point, round, repetition, wall_ns) VALUES (?, ?, 0, ?)", kept)
    target.commit()
    target.close()
