#!/usr/bin/python3
"""Simulates packages with streams on more slots than this machine has. What it prints is a simulation, not a measurement.

usage: simulate_streams.py LATHE [--models LIST] [--slots LIST] [--check] [--runs N] [--seed N] [--kept FOLDER] [--table FILE]

For each model and number of slots: compiles the model for that many threads with --streams auto, and for a machine that has
as many cores and whose memory delivers to two of them what it delivers here; so the planner sees predictions only. Runs the
package on one thread here, traced, and takes the times of all its kernels in all runs. Then simulates runs: a slot's share of a
kernel takes its part of the work items times a time drawn from these, and longer where other slots have written what it reads;
shares that read constants are slowed down while together they read faster than the machine's memory (or the last-level cache, if
it holds the constants) delivers; a team starts and ends as the machine's fork and join take, which grow with the slots. The baseline runs kernels in sequence, each on the
number of slots on which it is fastest. Speed-ups are means over the runs, with the 95 % interval of the mean.

--check simulates two slots instead, in sequence and with --streams 2, and measures the same packages: the simulator's error.
Measured times are kept in FOLDER (default build/simulate_streams): a run that was interrupted goes on.
"""
import argparse
import heapq
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

JOIN_GROWTH = 0.2  # assumed: what each slot beyond two adds to a fork and join, as a share of that of two slots


def lathe(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{program} {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


class Machine:
    """What is measured of this machine, for `slots` slots."""

    def __init__(self, measured, slots):
        self.slots = slots
        here = measured["cores"]
        grows = max(1.0, slots / here)

        def rate(level):  # bytes a second of all slots
            reads = level["read_gb_s"]
            return reads[min(slots, len(reads)) - 1] * 1e9 * grows
        self.memory = rate(measured["levels"][-1])
        caches = [level for level in measured["levels"] if level["capacity_bytes"]]
        self.cache_bytes, self.cache = caches[-1]["capacity_bytes"], rate(caches[-1])
        self.of_one = caches[-1]["read_gb_s"][0] * 1e9  # bytes a second that one slot reads from the cache that all share
        self.facts = {**measured["facts"], "cores": slots,
                      "shared_memory_read_bytes_per_cycle": self.memory / (measured["clock_ghz"] * 1e9)}
        self.facts["sources"] = {}

    def delivers(self, constants):
        return self.cache if constants < self.cache_bytes else self.memory


class Item:
    """An instruction: its times on one slot (seconds), its work items and constants, where it runs and what it waits for."""

    def __init__(self, row, times, needs):
        self.times, self.needs = times, needs
        self.units = int(row["work_item_count"]) if row["kind"] == "kernel" else 1
        self.bytes = row["constant_bytes"]
        self.read = max(0.0, row["bytes"] - row["constant_bytes"]) / 2  # of activations: about half of what passes
        self.first, self.slots = row["first_slot"], row["slot_count"]

    def shares(self, slots):
        """By slot of a team: its part of the work items."""
        units = max(1, self.units)
        bounds = [units * slot // slots for slot in range(slots + 1)]
        return [(end - begin) / units for begin, end in zip(bounds, bounds[1:])]


def items_of(profile, trace):
    times = {}
    for event in trace["traceEvents"]:
        number = event.get("args", {}).get("instruction")
        if event["ph"] == "X" and event["tid"] == 1 and number is not None:
            times.setdefault(number, []).append(event["dur"] * 1e-6)
    needs = {}
    for producer, user, _ in profile["graph"]["edges"]:
        if producer >= 0:
            needs.setdefault(user, set()).add(producer)
    return [Item(row, times.get(row["index"], [row["time_ms"] * 1e-3]), sorted(needs.get(row["index"], ()))) for row in profile["rows"]]


class Simulation:
    def __init__(self, machine, join, random_numbers):
        self.machine, self.join2, self.random = machine, join, random_numbers

    def join(self, slots):
        return self.join2 * (1 + JOIN_GROWTH * (slots - 2)) if slots > 1 else 0

    def phase(self, streams, rate):
        """Seconds of streams beside each other: lists of (item's number, item, slots)."""
        done, time_now, queue = {}, 0.0, [list(stream) for stream in streams]
        active = []   # [seconds left at full speed, bytes a second, stream]
        left = {}     # by stream: shares that are not done
        begins = []   # (time, stream): its next item may begin
        current = {}
        for number in range(len(queue)):
            heapq.heappush(begins, (self.join(len(queue)), number))
        waiting = set()
        beside = {number for stream in streams for number, _, _ in stream}
        while begins or active or waiting:
            demand = sum(share[1] for share in active)
            speed = min(1.0, rate / demand) if demand > 0 else 1.0
            after = min((share[0] / (speed if share[1] else 1.0) for share in active), default=float("inf"))
            until = min(time_now + after, begins[0][0] if begins else float("inf"))
            for share in active:
                share[0] -= (until - time_now) * (speed if share[1] else 1.0)
            time_now = until
            for share in [share for share in active if share[0] <= 1e-12]:
                active.remove(share)
                left[share[2]] -= 1
                if left[share[2]] == 0:
                    number, item, slots = current[share[2]]
                    done[number] = time_now
                    heapq.heappush(begins, (time_now, share[2]))
                    for other in waiting:
                        heapq.heappush(begins, (time_now + self.join(2) / 2, other))
                    waiting.clear()
            while begins and begins[0][0] <= time_now + 1e-15:
                stream = heapq.heappop(begins)[1]
                if not queue[stream]:
                    continue
                number, item, slots = queue[stream][0]
                if any(before in beside and before not in done for before in item.needs):
                    waiting.add(stream)
                    continue
                queue[stream].pop(0)
                current[stream] = (number, item, slots)
                shares = [share for share in item.shares(slots) if share > 0]
                left[stream] = len(shares)
                for share in shares:
                    # Other slots have written all but a slot's share of the activations, which come from the shared cache.
                    seconds = share * (self.random.choice(item.times) + item.read * (1 - 1 / slots) / self.machine.of_one)
                    # A kernel starts no later than its team, whose start and end are paid by its slowest share.
                    active.append([seconds + self.join(slots), share * item.bytes / max(seconds, 1e-12), stream])
        return time_now

    def kernel(self, number, item, slots, rate):
        return self.phase([[(number, item, slots)]], rate)

    def best_slots(self, items, rate):
        """For each item the number of slots on which it is fastest alone, by the mean of some runs."""
        counts = [count for count in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if count < self.machine.slots] + [self.machine.slots]
        best = []
        for number, item in enumerate(items):
            mean = {count: statistics.fmean(self.kernel(number, item, count, rate) for _ in range(5)) for count in counts}
            best.append(min(counts, key=mean.get))
        return best

    def sequence(self, items, best, rate):
        return sum(self.kernel(number, item, best[number], rate) for number, item in enumerate(items))

    def streams(self, items, rate):
        whole, at = 0.0, 0
        while at < len(items):
            end = at + 1
            if items[at].slots:
                places = {(items[at].first, items[at].slots)}
                while end < len(items) and items[end].slots:
                    place = (items[end].first, items[end].slots)
                    if any(place != other and place[0] < sum(other) and other[0] < sum(place) for other in places):
                        break
                    places.add(place)
                    end += 1
                whole += self.phase([[(i, items[i], items[i].slots) for i in range(at, end) if (items[i].first, items[i].slots) == place]
                                     for place in sorted(places)], rate)
            else:
                whole += self.kernel(at, items[at], self.machine.slots, rate)
            at = end
        return whole


def measured_package(options, name, slots, streams, machine):
    """The package, what compile says of its streams, and profile and trace of it on one thread here."""
    stem = options.kept / f"{re.sub(r'[^A-Za-z0-9_.]', '_', name)}.{slots}.{streams}"
    package, facts, profile, trace, said = (stem.with_name(stem.name + end) for end in (".lathe", ".machine.json", ".profile.json", ".trace.json", ".txt"))
    if not all(path.exists() for path in (package, profile, trace, said)):
        facts.write_text(json.dumps(machine.facts))
        text = lathe(options.lathe, "compile", name, "-o", package, "--threads", slots, "--streams", streams, "--machine", facts)
        lathe(options.lathe, "profile", package, "--threads", 1, "--repetitions", options.repetitions, "--trace", trace, "--json", profile)
        said.write_text(text)
    return package, said.read_text(), json.loads(profile.read_text()), json.loads(trace.read_text())


def interval(values):
    mean = statistics.fmean(values)
    return mean, 1.96 * statistics.stdev(values) / len(values) ** 0.5


def simulate(options, measured, name, slots, join):
    machine = Machine(measured, slots)
    _, said, profile, trace = measured_package(options, name, slots, "auto", machine)
    items = items_of(profile, trace)
    simulation = Simulation(machine, join, random.Random(f"{options.seed} {name} {slots}"))
    rate = machine.delivers(sum(item.bytes for item in items))
    best = simulation.best_slots(items, rate)
    ratios = [simulation.sequence(items, best, rate) / simulation.streams(items, rate) for _ in range(options.runs)]
    predicted = re.search(r"predicted ([\d.]+) times as fast as in sequence", said)
    beside = re.search(r"streams: (\d+) kernels? beside others in (\d+) phases?(?:, (\d+) alone)?", said)
    return *interval(ratios), float(predicted[1]) if predicted else 1.0, beside.groups("0") if beside else ("0", "0", "0")


def check(options, measured, name, join):
    """Simulated and measured milliseconds on two slots, in sequence and with two teams of one slot. Measured: the lowest
    median of three benchmarks in turns, as other programs only add time."""
    machine, simulated, packages = Machine(measured, 2), {}, {}
    for streams in ("off", "2"):
        packages[streams], _, profile, trace = measured_package(options, name, 2, streams, machine)
        items = items_of(profile, trace)
        simulation = Simulation(machine, join, random.Random(f"{options.seed} {name}"))
        rate = machine.delivers(sum(item.bytes for item in items))
        simulated[streams] = statistics.median(simulation.streams(items, rate) for _ in range(options.runs)) * 1e3
    real = {streams: float("inf") for streams in packages}
    for turn in range(3):
        for streams, package in packages.items():
            result = options.kept / f"{package.stem}.bench{turn}.json"
            if not result.exists():
                lathe(options.lathe, "bench", package, "--threads", 2, "--no-store", "--json", result)
            real[streams] = min(real[streams], json.loads(result.read_text())["wall"]["median_ms"])
    return [(streams, simulated[streams], real[streams]) for streams in packages]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lathe")
    parser.add_argument("--models", default="zoo:googlenet,zoo:inception_v3,zoo:squeezenet,zoo:densenet121,zoo:bert_base")
    parser.add_argument("--slots", default="4,8,16,32,64")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=pathlib.Path, default=pathlib.Path("build/simulate_streams"))
    parser.add_argument("--table", type=pathlib.Path, help="write the table to this file, too")
    options = parser.parse_args()
    options.kept.mkdir(parents=True, exist_ok=True)
    measured = json.loads(lathe(options.lathe, "machine", "--json", "-"))
    names = options.models.split(",")
    probe = json.loads(lathe(options.lathe, "profile", names[0], "--threads", 2, "--repetitions", 5, "--no-check", "--json", "-"))
    join = max(0.0, probe["fork_join_us"] - probe["call_us"]) * 1e-6
    lines, began = [], time.monotonic()
    if options.check:
        lines += ["| network | streams | simulated ms | measured ms | error |", "|---|---|---|---|---|"]
        for name in names:
            for streams, simulated, real in check(options, measured, name, join):
                lines.append(f"| {name.removeprefix('zoo:')} | {streams} | {simulated:.3f} | {real:.3f} | {simulated / real - 1:+.1%} |")
                print(lines[-1], flush=True)
    else:
        counts = [int(count) for count in options.slots.split(",")]
        lines += ["| network | slots | phases (kernels) | kernels alone on fewer slots | predicted | simulated |", "|---|---|---|---|---|---|"]
        for done, (name, slots) in enumerate((name, slots) for name in names for slots in counts):
            mean, half, predicted, (kernels, phases, alone) = simulate(options, measured, name, slots, join)
            lines.append(f"| {name.removeprefix('zoo:')} | {slots} | {phases} ({kernels}) | {alone} | {predicted:.3f} | {mean:.3f} ± {half:.3f} |")
            left = (time.monotonic() - began) / (done + 1) * (len(names) * len(counts) - done - 1)
            print(f"{lines[-1]}   about {left:.0f} s left", flush=True)
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
