#!/usr/bin/env python3
"""The builder of MeasureTest ($LATHE_TUNE_BUILDER), which ends, hangs or says nonsense for schedules called so."""
import json
import os
import signal
import subprocess
import sys
import time

real = subprocess.Popen([os.environ["LATHE_TUNE_BUILDER"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in sys.stdin:
    schedule = json.loads(line).get("schedule", "")
    if schedule == "crash/1":
        os.kill(os.getpid(), signal.SIGSEGV)
    if schedule == "hang/1":
        time.sleep(1000)
    if schedule == "garbage/1":
        print("this is no message", flush=True)
        continue
    real.stdin.write(line)
    real.stdin.flush()
    print(real.stdout.readline(), end="", flush=True)
real.stdin.close()
