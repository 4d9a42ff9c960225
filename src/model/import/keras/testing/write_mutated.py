"""usage: write_mutated.py FOLDER SEED COUNT

Writes COUNT models of the cases, in turns of Keras 2 and 3, with something of their configuration replaced.
"""
import os
import random
import sys

import keras_files
from write_cases import all_cases

ODD = [None, -1, 0, 1, 2 ** 31, 2 ** 62, 1e300, True, "", "x", "same", [], {}, [None], [[0]], {"class_name": "Dense"},
       {"tensor": 9}, [["x0", 0, 0, {}]], ["x0", 0, 0], ["x0", 5, 7]]


def mutated(value, random):
    """A copy with one place below replaced, left out or doubled."""
    if isinstance(value, (dict, list)) and value and random.random() < 0.93:
        key = random.choice(list(value.keys() if isinstance(value, dict) else range(len(value))))
        copy = value.copy()
        if random.random() < 0.06:
            del copy[key]
        elif isinstance(copy, list) and random.random() < 0.06:
            copy.append(copy[key])
        else:
            copy[key] = mutated(copy[key], random)
        return copy
    return random.choice(ODD)


def main():
    folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    source = random.Random(seed)
    models = {version: [case[1] for case in all_cases(version)] for version in (2, 3)}
    plain = keras_files.model_config
    for i in range(count):
        version = 2 + i % 2
        changes = source.randrange(1, 4)

        def config(model, kind):
            result = plain(model, kind)
            for _ in range(changes):
                result["config"] = mutated(result["config"], source)
            return result

        keras_files.model_config = config
        keras_files.write(os.path.join(folder, f"mutated_{i}" + (".h5" if version == 2 else ".keras")),
                          source.choice(models[version]))


if __name__ == "__main__":
    main()
