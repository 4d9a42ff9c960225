#!/usr/bin/env python3
"""Networks of the zoo in float32 and as `lathe quantize` writes them: times of one run and how near the outputs are.

usage: quantized_networks.py LATHE [--folder DIR] [--pictures DIR] [--only quantize|time] [--flags "..."] [NETWORK...]

Quantises each network with 32 random crops of the pictures (default: ../shared/models/images), compares both models on 32
other crops, and times both on one thread. Quantised models and reports stay in DIR (default: build/bench/quantized), so
that timing alone can be repeated on a quiet machine. Prints a Markdown table.
"""
import argparse
import json
import os
import pathlib
import subprocess

NETWORKS = ["resnet18", "resnet50", "vgg16", "mobilenet_v1", "mobilenet_v2", "mobilenet_v3", "efficientnet_b0", "squeezenet",
            "googlenet", "inception_v3", "densenet121", "shufflenet_v2"]
ROOT = pathlib.Path(__file__).resolve().parent.parent
PIXELS = ["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"]


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def quantize(lathe, network, folder, pictures, flags):
    report = run(lathe, "quantize", "zoo:" + network, "-o", folder / (network + ".onnx"), "--calibration", pictures,
                 "--random-crops", 32, *PIXELS, *flags, "--quiet", "--json", "-")
    (folder / (network + ".json")).write_text(json.dumps(report))


def median(lathe, model):
    """Of the processor time of a run, in ms."""
    return run(lathe, "bench", model, "--max-seconds", 2, "--no-store", "--quiet", "--json", "-")["cpu"]["median_ms"]


def row(lathe, network, folder):
    report = json.loads((folder / (network + ".json")).read_text())
    times = [median(lathe, model) for model in ("zoo:" + network, folder / (network + ".onnx"))]
    return "| %s | %.2f | %.2f | %.2f | %d of %d | %.5f | %.5f | %d of %d |" % (
        network, times[0], times[1], times[0] / times[1], report["quantized_layers"], len(report["layers"]), report["cosine"],
        report["centred_cosine"], report["changed_decisions"], report["inputs"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lathe")
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--folder", default=str(ROOT / "build" / "bench" / "quantized"))
    parser.add_argument("--pictures", default=os.path.join(os.environ.get("LATHE_TEST_DATA", str(ROOT.parent / "shared")),
                                                           "models", "images"))
    parser.add_argument("--only", choices=["quantize", "time"])
    parser.add_argument("--flags", default="")
    options = parser.parse_intermixed_args()
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    if options.only != "time":
        for network in options.networks:
            quantize(options.lathe, network, folder, options.pictures, options.flags.split())
    if options.only == "quantize":
        return
    print("| network | float ms | int8 ms | ratio | layers in int8 | cosine | centred | decisions changed |")
    print("|---|---|---|---|---|---|---|---|")
    for network in options.networks:
        print(row(options.lathe, network, folder), flush=True)


main()
