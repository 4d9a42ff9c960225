"""usage: write_cases.py FOLDER

Writes every case as NAME.h5 (Keras 2) or NAME.keras (Keras 3), with NAME.npz: input_0, ..., output_0, ...
"""
import os
import sys

import numpy as np

import cases
import preprocessing_cases
import recurrent_cases
from keras_files import write


def all_cases(version):
    yield from cases.convolutions()
    yield from cases.pools()
    yield from cases.products()
    yield from cases.normalizations(version)
    yield from cases.activations(version)
    yield from cases.merges()
    yield from cases.movements()
    yield from cases.preprocessing(version)
    yield from preprocessing_cases.all_cases(version)
    for group in (recurrent_cases.recurrents, recurrent_cases.bidirectionals, recurrent_cases.masks,
                  recurrent_cases.attentions, recurrent_cases.conv_lstms, recurrent_cases.graphs):
        yield from group()


def write_case(folder, name, end, inputs, outputs, model, **options):
    path = os.path.join(folder, name)
    write(path + end, model, **options)
    arrays = {f"input_{i}": each.astype("float32") if each.dtype == "float64" else each for i, each in enumerate(inputs)}
    arrays.update({f"output_{i}": each for i, each in enumerate(outputs)})
    np.savez(path + ".npz", **arrays)


def main():
    folder = sys.argv[1]
    for version, end in ((2, ".h5"), (3, ".keras")):
        for name, model, inputs, outputs in all_cases(version):
            write_case(folder, f"{name}_{version}", end, inputs, outputs, model)
    for name, model, inputs, outputs in recurrent_cases.keras_1():
        write_case(folder, f"{name}_1", ".h5", inputs, outputs, model, version="1.2.2")


if __name__ == "__main__":
    main()
