#!/usr/bin/env python3
"""Runs test programs of the store on a PostgreSQL server of their own.

usage: server_test.py [--long] PROGRAM...

The server is one of pg_virtualenv (Debian: postgresql, postgresql-common): it is new, and gone afterwards. Exit code 77, and a
line that says so, where it is missing. --long: the long form of the tests that have one.
"""
import os
import shutil
import subprocess
import sys

arguments = sys.argv[1:]
if arguments[0] == "--inside":
    codes = [subprocess.run([program]).returncode for program in arguments[1:]]
    sys.exit(max(abs(code) for code in codes))
if not shutil.which("pg_virtualenv"):
    print("SKIPPED: no tests of stores on PostgreSQL: pg_virtualenv is not installed (Debian: postgresql, postgresql-common)")
    sys.exit(77)
environment = {**os.environ, "LATHE_TEST_SERVER": "1"}
if arguments[0] == "--long":
    environment["LATHE_TEST_LONG"] = "1"
    arguments = arguments[1:]
for attempt in range(3):  # another server may take the port between its choice and its use
    done = subprocess.run(["pg_virtualenv", "-o", "fsync=off", "-o", "max_connections=100", sys.executable, "-B", __file__, "--inside", *arguments],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "[==========]" in done.stdout:  # tests ran
        break
print(done.stdout)
sys.exit(done.returncode)
