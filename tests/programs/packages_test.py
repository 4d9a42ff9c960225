#!/usr/bin/python3
"""Random programs as packages, run with the runtime alone, and a loop of many iterations whose memory does not grow.

usage: packages_test.py PROGRAM_TEST RUN_PROGRAMS [PROGRAMS [ITERATIONS]]

PROGRAM_TEST compiles PROGRAMS (40) programs; RUN_PROGRAMS runs them, and the loop ITERATIONS (100000) times. The two may be
of different builds: `make sanitize` lets a runtime under ASan and UBSan run packages that the release build has compiled.
"""
import os
import subprocess
import sys
import tempfile

program_test, run_programs = sys.argv[1:3]
programs = sys.argv[3] if len(sys.argv) > 3 else "40"
iterations = sys.argv[4] if len(sys.argv) > 4 else "100000"
with tempfile.TemporaryDirectory() as folder:
    environment = dict(os.environ, LATHE_PROGRAM_PACKAGES=folder, LATHE_PROGRAMS=programs)
    subprocess.run([program_test, "--gtest_filter=Program.WritesPackages"], env=environment, check=True)
    sys.exit(subprocess.run([run_programs, folder, iterations]).returncode)
