#!/usr/bin/env python3
"""Runs a model on random inputs and shows where the time goes:  example.py MODEL.onnx|PACKAGE.lathe [threads]"""
import sys

import numpy as np

import lathe


def main():
    path, threads = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    model = lathe.load(path, threads=threads)
    random = np.random.default_rng(0)
    inputs = {}
    for port in model.inputs:
        print("input ", port)
        values = random.standard_normal([d or 1 for d in port.dims])  # a free extent: 1
        inputs[port.name] = values.astype(port.dtype)
    context = model.context()
    outputs = context.run(inputs, profile=True)
    for port in model.outputs:
        array = outputs[port.name]
        print("output", port, "->", array.shape, array.ravel()[:4])
    for row in sorted(context.profile(), key=lambda row: -row["nanoseconds"])[:10]:
        print(f"{row['nanoseconds'] / 1e3:10.1f} us  {row['kind']:9} {row['name']} {row['nodes']}")


if __name__ == "__main__":
    try:
        main()
    except lathe.Error as error:
        sys.exit(f"error: {error}")
