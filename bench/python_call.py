#!/usr/bin/env python3
"""What a call from Python costs beyond the same call in C, in turns in one program:  python_call.py PACKAGE.lathe [ROUNDS]

Prints for each way of calling the median over rounds of the time of a call, and of its difference from the time in C in the
same round. Inputs that stay where they are, are bound once in C: lathe_context_run alone. Inputs in other memory are bound before
each run: lathe_context_set_input and lathe_context_output of every port, too. Use a small network: the overhead does not depend
on it, and the network's own time hides less.
"""
import statistics
import sys
import time

import numpy as np

import lathe


def main():
    package, rounds = lathe.Package(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    random, calls = np.random.default_rng(0), 1000
    arrays = [random.standard_normal([d or 1 for d in port.dims]).astype(port.dtype) for port in package.inputs]
    named = {port.name: array for port, array in zip(package.inputs, arrays)}
    context = package.context()
    context.run(named)
    others = [[array.copy() for array in arrays] for _ in range(2)]  # other memory in every call
    turn = [0]

    def alternating():
        turn[0] ^= 1
        return context.run(others[turn[0]])

    ways = {"context.run({name: array})": lambda: context.run(named), "context.run([array])": lambda: context.run(arrays),
            "context.run([array]), other memory each time": alternating, "package.run({name: array})": lambda: package.run(named)}
    base, times, extra = ({name: [] for name in ways} for _ in range(3))
    for _ in range(rounds):
        for name, call in ways.items():
            base[name].append(context._session.time_runs(calls, "other" in name) / calls)
            begin = time.perf_counter_ns()
            for _ in range(calls):
                call()
            times[name].append((time.perf_counter_ns() - begin) / calls)
            extra[name].append(times[name][-1] - base[name][-1])
            context.run(arrays)
    for name in ways:
        low, middle, high = (value / 1e3 for value in statistics.quantiles(extra[name], n=4))
        print(f"{name:46} {statistics.median(times[name]) / 1e3:7.3f} us, in C {statistics.median(base[name]) / 1e3:7.3f} us, "
              f"{middle:.3f} us more (quartiles {low:.3f} to {high:.3f})")


main()
