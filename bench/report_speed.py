#!/usr/bin/env python3
"""Times of a large report and of `lathe serve` in Chromium: 100,000 points of ten samples each.

usage: report_speed.py LATHE [POINTS]

Prints a line for each figure with its limit, and fails where one is over it. Without Chromium, playwright-core or a page it
says so and passes.
"""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FIRST_PAINT, INTERACTION = 2000, 200  # ms
PROVIDERS = [("alpha", "auto"), ("alpha", "direct"), ("beta", "auto"), ("gamma", "auto")]


def fill(path, count):
    """Makes a large store from one with a single point."""
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    rng = random.Random(1)
    first = dict(db.execute("SELECT * FROM point WHERE status = 'passed'").fetchone())
    first.pop("id")
    names = ", ".join(first)
    marks = ", ".join("?" * len(first))
    for index in range(count // len(PROVIDERS)):
        channels, out = 8 + index % 250, 8 + index // 250
        text = f"conv x=1x{channels}x14x14 w={out}x{channels}x3x3:const strides=1,1 dilations=1,1 pads=1,1,1,1"
        problem = db.execute("INSERT INTO problem (key, operator, text, detail) VALUES (?, 'conv', ?, '{}')", (f"made {index}", text)).lastrowid
        for provider, variant in PROVIDERS:
            row = {**first, "key": f"{index} {provider} {variant}", "problem": problem, "provider": provider, "variant": variant, "starts": "[]"}
            point = db.execute(f"INSERT INTO point ({names}) VALUES ({marks})", list(row.values())).lastrowid
            usual = 200 * channels * out * rng.uniform(0.8, 1.6)
            db.executemany("INSERT INTO sample (point, round, repetition, wall_ns) VALUES (?, ?, ?, ?)",
                           [(point, i // 5, i % 5, int(usual * (1 + abs(rng.gauss(0, 0.02))))) for i in range(10)])
    db.commit()
    db.close()


def served(lathe, store, browser):
    """Lines of the pages of the server."""
    server = subprocess.Popen([lathe, "serve", "--store", store, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split("/ shows")[0]
        script = os.path.join(ROOT, "src", "laboratory", "report", "page", "tests", "serve_speed.mjs")
        return subprocess.run(["node", script, address, browser], capture_output=True, text=True, check=True).stdout.splitlines()
    finally:
        server.terminate()
        server.wait()


def main():
    lathe, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    browser = shutil.which("chromium")
    tests = os.path.join(ROOT, "src", "laboratory", "report", "page", "tests", "speed.mjs")
    if not browser or not os.path.isdir(os.path.join(ROOT, "src", "laboratory", "report", "page", "node_modules", "playwright-core")):
        print("report_speed.py: SKIPPED, Chromium or playwright-core is missing (dev/setup.sh bench installs Chromium)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        store, page = os.path.join(folder, "large.db"), os.path.join(folder, "large.html")
        subprocess.run([lathe, "ops", "bench", "conv2d", "ic8ih7oc8kh1", "--provider", "lathe", "--max-seconds", "0.05", "--store", store], check=True, stdout=subprocess.DEVNULL)
        fill(store, count)
        written = subprocess.run([lathe, "report", "--store", store, "-o", page], capture_output=True, text=True)
        if "npm was missing" in written.stderr:
            print("report_speed.py: SKIPPED, " + written.stderr.strip())
            return 0
        written.check_returncode()
        print(f"{written.stdout.strip().split('/')[-1]}, {os.path.getsize(page) / 1e6:.1f} MB")
        lines = subprocess.run(["node", tests, page, browser], capture_output=True, text=True, check=True).stdout.splitlines()
        lines += served(lathe, store, browser)
    slow = 0
    for line in map(json.loads, lines):
        limit = FIRST_PAINT if "first paint" in line["what"] or "again" in line["what"] else INTERACTION
        slow += line["ms"] > limit
        print(f"{line['what']:40} {line['ms']:8.1f} ms, limit {limit} ms{'   TOO SLOW' if line['ms'] > limit else ''}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
