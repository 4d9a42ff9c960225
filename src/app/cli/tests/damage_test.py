"""Bytes of a package are flipped, and packages are cut: what loads computes what the intact one computes.

Every byte of the header and the section table, 600 others drawn by a seed that is printed (LATHE_TEST_SEED gives another)
and 150 lengths. Counts are printed; a different output is a failure."""
import collections
import os
import random
import subprocess

import numpy as np

from fixture import LATHE, Cli, main


class Damage(Cli):
    def sweep(self, title, contents, expected):
        counts, path, out = collections.Counter(), self.path("damaged.lathe"), self.path("damaged.npz")
        different = []
        for name, content in contents:
            with open(path, "wb") as file:
                file.write(content)
            done = subprocess.run([LATHE, "run", path, "--fill", "random", "-o", out], capture_output=True, text=True, timeout=60)
            if done.returncode == 2 and "damaged.lathe: " in done.stderr and done.stderr.count("\n") == 1:
                counts["refused"] += 1
            elif done.returncode == 0 and np.array_equal(np.load(out)["prob"], expected):
                counts["same output"] += 1
            else:
                counts["different output" if done.returncode == 0 else f"exit code {done.returncode}"] += 1
                different.append((name, done.returncode, done.stderr))
        print(f"{title}: {dict(counts)}", flush=True)
        self.assertEqual(different, [])
        return counts

    def test_damaged_packages(self):
        seed = int(os.environ.get("LATHE_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"seed {seed}")
        draw = random.Random(seed)
        expected = self.outputs(self.package, "--fill", "random")["prob"]
        with open(self.package, "rb") as file:
            good = file.read()
        head = 64 + 128 * int.from_bytes(good[32:36], "little")

        def flipped(positions):
            for at in positions:
                yield at, good[:at] + bytes([good[at] ^ 1 << draw.randrange(8)]) + good[at + 1:]

        self.assertEqual(self.sweep("intact", [("all", good)], expected)["same output"], 1)
        self.sweep(f"every byte of {head} of header and table", flipped(range(head)), expected)
        self.sweep(f"600 bytes of {len(good)}", flipped(draw.sample(range(head, len(good)), 600)), expected)
        lengths = [0, 1, 8, 63, 64, head, len(good) - 1] + draw.sample(range(len(good)), 143)
        cut = self.sweep("150 lengths", [(length, good[:length]) for length in lengths], expected)
        self.assertEqual(cut["refused"], len(lengths))


if __name__ == "__main__":
    main()
