#!/usr/bin/env python3
"""Memory of `lathe run` beside what it must hold and beside ONNX Runtime's process; prints the table of docs/memory.md.

usage: memory.py LATHE MODEL... [--json FILE]      MODEL: an ONNX file or zoo:NAME

Each figure is the peak resident size (VmHWM) of a process of its own that loads the model and runs it once on one thread. Of each
process its own share is subtracted: what it needs for a model that is a single Identity of one element. So the pages of a program and
its libraries count against neither. Files are in the page cache before; pages of a mapped
package count as resident. Only the standard library is needed.
"""
import argparse
import array
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "i32": ("<i4", "i"), "i64": ("<i8", "q"), "bool": ("|b1", "B"), "u8": ("|u1", "B")}


def field(number, value):
    """A field of a protobuf message: the least that an ONNX file of one node needs."""
    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def identity():
    port = lambda name: field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 1)))))
    node = field(1, "x") + field(2, "y") + field(4, "Identity")
    return field(1, 8) + field(8, field(2, 13)) + field(7, field(1, node) + field(2, "g") + field(11, port("x")) + field(12, port("y")))


def write_npy(path, type_name, dims):
    """Random floats, or zeros of another type."""
    text, code = TYPES[type_name]
    count = 1
    for dim in dims:
        count *= dim
    generator = random.Random(1)
    data = array.array(code, (generator.uniform(-1, 1) for _ in range(count)) if code in "fd" else bytes(count * array.array(code).itemsize))
    header = f"{{'descr': '{text}', 'fortran_order': False, 'shape': ({''.join(f'{d}, ' for d in dims)}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        data.tofile(file)


def peak(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))


def onnxruntime(lathe, path, folder):
    """Peak bytes of a process that loads the model and runs it once."""
    program = os.path.join(os.path.dirname(os.path.realpath(lathe)), "lathe-runner-onnxruntime")
    runner = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(**request):
        runner.stdin.write(json.dumps(request) + "\n")
        runner.stdin.flush()
        answer = json.loads(runner.stdout.readline() or '{"ok": false, "error": "it has ended"}')
        if not answer["ok"]:
            raise RuntimeError(f"ONNX Runtime, {path}: {answer['error']}")
        return answer

    try:
        ask(do="hello", protocol=1)
        ports = ask(do="load", path=path, threads=1)["inputs"]
        files = {}
        for i, port in enumerate(ports):
            files[port["name"]] = os.path.join(folder, f"{i}.npy")
            write_npy(files[port["name"]], port["type"], [d if isinstance(d, int) and d > 0 else 1 for d in port["dims"]])
        ask(do="inputs", files=files)
        ask(do="run", directory=folder)
        return peak(runner.pid)
    finally:
        runner.kill()
        runner.wait()


def lathe_memory(lathe, package, folder):
    path = os.path.join(folder, "run.json")
    subprocess.run([lathe, "run", package, "--fill", "random", "--json", path], check=True, stdout=subprocess.DEVNULL)
    with open(path) as file:
        report = json.load(file)
    return {"peak_rss_bytes": report["peak_rss_bytes"], **report["memory"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lathe")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--json")
    options = parser.parse_args()
    mib = lambda n: f"{n / 2**20:.1f}"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        own = os.path.join(folder, "identity.onnx")
        with open(own, "wb") as file:
            file.write(identity())
        subprocess.run([options.lathe, "compile", own, "-o", own + ".lathe", "--quiet"], check=True)
        base = lathe_memory(options.lathe, own + ".lathe", folder)["peak_rss_bytes"]
        peer_base = onnxruntime(options.lathe, own, folder)
        print(f"Subtracted: {mib(base)} MiB of lathe run, {mib(peer_base)} MiB of the runner with ONNX Runtime.\n")
        print("| network | source's weights | packed | live set | lathe run | of packed + live | packed, small | lathe run, small | ONNX Runtime | small / ONNX Runtime |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for model in options.models:
            name = model[4:] if model.startswith("zoo:") else os.path.basename(model).removesuffix(".onnx")
            onnx = model
            if model.startswith("zoo:"):
                onnx = os.path.join(folder, "zoo.onnx")
                subprocess.run([options.lathe, "zoo", name, "-o", onnx], check=True, stdout=subprocess.DEVNULL)
            row = {"network": name}
            for mode in ("any", "small"):
                package, report = os.path.join(folder, "n.lathe"), os.path.join(folder, "compile.json")
                subprocess.run([options.lathe, "compile", onnx, "-o", package, "--memory", mode, "--quiet", "--json", report], check=True)
                row[mode] = lathe_memory(options.lathe, package, folder)
                with open(report) as file:
                    row["source_bytes"] = json.load(file)["source_constant_bytes"]
            row["onnxruntime"] = onnxruntime(options.lathe, os.path.abspath(onnx), folder)
            a, s = row["any"], row["small"]
            held = a["constant_bytes"] + a["live_bytes"]
            used, small, peer = a["peak_rss_bytes"] - base, s["peak_rss_bytes"] - base, row["onnxruntime"] - peer_base
            print(f"| {name} | {mib(row['source_bytes'])} | {mib(a['constant_bytes'])} | {mib(a['live_bytes'])} | {mib(used)} | {used / held:.2f} | "
                  f"{mib(s['constant_bytes'])} | {mib(small)} | {mib(peer)} | {small / peer:.2f} |", flush=True)
            rows.append(row)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"lathe_base": base, "onnxruntime_base": peer_base, "networks": rows}, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
