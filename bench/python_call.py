#!/usr/bin/env python3
"""What a call from Python costs beyond the same call in C, in turns in one program:  python_call.py PACKAGE.lathe [ROUNDS]

Prints for each way of calling the median over rounds of the time of a call, and of its difference from the C program's
(lathe_context_set_input, lathe_context_run and lathe_context_output of every port) in the same round. Use a small network: the
overhead does not depend on it, and its own time hides less.
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
    times, extra, in_c = {name: [] for name in ways}, {name: [] for name in ways}, []
    for _ in range(rounds):
        for name, call in ways.items():
            base = context._session.time_runs(calls, True) / calls
            begin = time.perf_counter_ns()
            for _ in range(calls):
                call()
            mine = (time.perf_counter_ns() - begin) / calls
            context.run(arrays)
            in_c.append(base)
            times[name].append(mine)
            extra[name].append(mine - base)
    print(f"{'in C':46} {statistics.median(in_c) / 1e3:7.3f} us")
    for name in ways:
        low, _, high = statistics.quantiles(extra[name], n=4)
        print(f"{name:46} {statistics.median(times[name]) / 1e3:7.3f} us, {statistics.median(extra[name]) / 1e3:.3f} us more "
              f"(quartiles {low / 1e3:.3f} to {high / 1e3:.3f})")


main()
