#!/usr/bin/env python3
"""The table of dev/bench.sh: ratios, their geometric mean, and a row for each network that gave none."""
import json, pathlib, subprocess, sys, tempfile

here = pathlib.Path(__file__).parent


def side(ms):
    return {"name": "x", "time": {"median_ms": ms}}


def peer(ratio):
    return {"peer": "onnxruntime", "agrees": True, "outputs": [], "ratio": ratio, "ratio_low": ratio - 0.1, "ratio_high": ratio + 0.1,
            "verdict": "faster"}


with tempfile.TemporaryDirectory() as folder:
    def write(name, peer, sides, **more):
        (pathlib.Path(folder) / (name + ".json")).write_text(json.dumps({"peers": [peer], "sides": sides, **more}))

    write("one", peer(2.0), [side(5), side(10)])
    write("two", peer(0.5), [side(10), side(5)], other_processors=1.2)
    (pathlib.Path(folder) / "torch-none.txt").write_text("torch_models.py: PyTorch is not installed\n")
    write("wrong", {"peer": "onnxruntime", "agrees": False, "outputs": [{"name": "y", "reason": "relative L2 0.3"}]}, [{}, {}])
    write("broken", {"peer": "onnxruntime", "agrees": False, "outputs": []}, [{}, {"failure": {"message": "signal 11"}}])
    run = subprocess.run([sys.executable, here / "bench_table.py", folder, "one", "two", "wrong", "broken", "absent", "torch:none"],
                         capture_output=True, text=True)
    print(run.stdout, run.stderr)
    lines = run.stdout.splitlines()
    assert run.returncode == 1, "networks without a ratio must show in the exit code"
    assert "10.000" in lines[1] and "2.000" in lines[1] and "faster (1.900 to 2.100)" in lines[1]
    assert "disturbed" in lines[2] and "disturbed" not in lines[1]
    assert "relative L2 0.3" in lines[3] and "signal 11" in lines[4] and "absent.txt" in lines[5]
    assert lines[6].startswith("torch:none") and "PyTorch is not installed" in lines[6]
    assert lines[7].startswith("geometric mean") and "1.000" in lines[7] and "of 2 networks" in lines[7]
    assert subprocess.run([sys.executable, here / "bench_table.py", folder, "one"], capture_output=True).returncode == 0
