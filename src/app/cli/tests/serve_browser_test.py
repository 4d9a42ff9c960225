"""`lathe serve` in headless Chromium: lists, comparisons, and a run that is followed."""
import json
import os
import socket
import subprocess
import tempfile
import unittest

from fixture import LATHE, main
from report_browser_test import BROWSER, MISSING, PAGE
from report_store import HOSTILE, Rows
from serving import Server


def process_started(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[19])


@unittest.skipIf(MISSING, "SKIPPED: missing are " + ", ".join(MISSING))
class ServeBrowser(unittest.TestCase):
    def test_a_browser_lists_compares_and_follows(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = os.environ["XDG_DATA_HOME"] = folder
            store = os.path.join(folder, "serve.db")
            for _ in range(2):
                subprocess.run([LATHE, "ops", "bench", "conv2d", "ic8ih7oc8kh1", "ic8ih7oc16kh1", "--provider", "lathe", "--max-seconds", "0.05", "--fresh", "--store", store], check=True, stdout=subprocess.DEVNULL)
            rows = Rows(store)
            a, b = [row["uuid"] for row in rows.db.execute("SELECT uuid FROM experiment ORDER BY started").fetchall()]
            hostile = rows.experiment("evaluate")
            rows.db.execute("UPDATE experiment SET command = ? WHERE id = ?", (HOSTILE, hostile))
            rows.point(hostile, "model", HOSTILE, {}, "lathe")
            rows.tuning(rows.experiment("tune"), [3e-3, 2e-3])
            sleeper = subprocess.Popen(["sleep", "600"])  # the process that measures
            running = rows.experiment("bench")
            rows.db.execute("UPDATE experiment SET finished = NULL, uuid = 'running-0000', detail = '{\"planned_points\": 9}' WHERE id = ?", (running,))
            with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
                rows.db.execute("INSERT INTO owner (experiment, host, boot, pids, pid, started) VALUES (?, ?, ?, ?, ?, ?)",
                                (running, socket.gethostname(), file.read().strip(), os.readlink("/proc/self/ns/pid"), sleeper.pid, process_started(sleeper.pid)))
            points = 1
            rows.point(running, "custom", "point 1", {}, "lathe")
            rows.db.commit()
            diff = json.loads(subprocess.run([LATHE, "ops", "diff", a, b, "--store", store, "--json", "-"], capture_output=True, text=True, check=True).stdout)
            expected = os.path.join(folder, "expected.json")
            with open(expected, "w", encoding="utf-8") as file:
                json.dump({"experiments": [{"uuid": row["uuid"], "started": row["started"]} for row in rows.db.execute("SELECT uuid, started FROM experiment").fetchall()], "hostile": HOSTILE, "a": a, "b": b, "running": "running-0000",
                           "verdicts": [point["verdict"] + (f" ({point['ambiguous_because']})" if point["ambiguous_because"] else "") for point in diff["points"]], "ratios": [f"{point['ratio']:.3f}×" for point in diff["points"]]}, file)
            with Server(store) as server:
                with subprocess.Popen(["node", os.path.join(PAGE, "tests", "serve.mjs"), f"http://127.0.0.1:{server.port}", expected, BROWSER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as browser:
                    said = ""
                    for line in browser.stdout:
                        said += line
                        if line == "ask point\n":
                            points += 1
                            rows.point(running, "custom", f"point {points}", {}, "lathe")
                            rows.db.commit()
                        elif line == "ask kind\n":
                            rows.point(rows.experiment("quantize"), "custom", "point of another kind", {}, "lathe")
                            rows.db.commit()
                        elif line == "ask kill\n":
                            sleeper.kill()
                            sleeper.wait()
                        if line.startswith("ask "):
                            browser.stdin.write("done\n")
                            browser.stdin.flush()
                sleeper.kill()
                sleeper.wait()
                self.assertEqual(browser.returncode, 0, said)
                self.assertEqual(said.count("ok "), 8, said)
                print(said)


if __name__ == "__main__":
    main()
