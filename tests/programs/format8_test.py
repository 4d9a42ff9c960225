"""Packages of format 8, as the version before format 9 wrote them, run and give the outputs that they gave then, bit for bit.

usage: format8_test.py LATHE

format8/NAME.lathe.gz is a package for x86-64-v2, format8/NAME.npz its inputs (input_0, ...) and its outputs (output_NAME).
"""
import gzip
import os
import platform
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

LATHE = os.path.abspath(sys.argv.pop(1))
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "format8")
NAMES = sorted(name.removesuffix(".lathe.gz") for name in os.listdir(FOLDER) if name.endswith(".lathe.gz"))
SKIPPED = 77


class Format8Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def package(self, name):
        with gzip.open(os.path.join(FOLDER, name + ".lathe.gz")) as file:
            data = file.read()
        self.assertEqual(struct.unpack_from("<8sI", data), (b"LATHEPKG", 8), name)
        path = os.path.join(self.folder, name + ".lathe")
        with open(path, "wb") as file:
            file.write(data)
        return path

    def run_package(self, name, threads):
        arguments, output = [], os.path.join(self.folder, "out.npz")
        with np.load(os.path.join(FOLDER, name + ".npz")) as arrays:
            given = {key.split("_", 1)[1]: arrays[key] for key in arrays if key.startswith("input_")}
            wanted = {key.split("_", 1)[1]: arrays[key] for key in arrays if key.startswith("output_")}
        for number, array in given.items():
            path = os.path.join(self.folder, number + ".npy")
            np.save(path, array)
            arguments += ["-i", number + "=" + path]
        done = subprocess.run([LATHE, "run", self.package(name), *arguments, "-o", output, "--threads", str(threads)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, name + ": " + done.stderr)
        with np.load(output) as got:
            self.assertEqual(sorted(got), sorted(wanted), name)
            for key, value in wanted.items():
                self.assertEqual((got[key].dtype, got[key].shape), (value.dtype, value.shape), name + ": " + key)
                self.assertEqual(got[key].tobytes(), value.tobytes(), name + ": " + key)

    def test_outputs_are_those_of_then(self):
        self.assertGreaterEqual(len(NAMES), 9)
        for name in NAMES:
            for threads in (1, 2):
                with self.subTest(name, threads=threads):
                    self.run_package(name, threads)

    def test_an_older_format_is_refused(self):
        path = self.package(NAMES[0])
        with open(path, "r+b") as file:
            file.seek(8)
            file.write(struct.pack("<I", 7))
        done = subprocess.run([LATHE, "run", path], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("package format 7, expected 8 to ", done.stderr)


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        print("skipped: the packages are for x86_64, this machine is " + platform.machine())
        sys.exit(SKIPPED)
    unittest.main()
