#!/usr/bin/env python3
"""Writes lab/suites/networks.csv: the convolutions and fully connected layers of public networks, as the zoo builds them.

usage: gen_suites.py LATHE OUTPUT [--check] [NETWORK...]

With --check compares the lines of the networks (all, where none is named) with the lines of OUTPUT and exits with 1 when
they differ.
"""
import json
import subprocess
import sys

# Name -> where its layers are published.
NETWORKS = {
    "alexnet": "Krizhevsky: One weird trick for parallelizing convolutional neural networks, 2014",
    "vgg16": "Simonyan, Zisserman: Very deep convolutional networks for large-scale image recognition, 2014",
    "googlenet": "Szegedy et al.: Going deeper with convolutions, 2014",
    "inception_v3": "Szegedy et al.: Rethinking the Inception architecture for computer vision, 2015",
    "resnet18": "He et al.: Deep residual learning for image recognition, 2015",
    "resnet50": "He et al.: Deep residual learning for image recognition, 2015",
    "densenet121": "Huang et al.: Densely connected convolutional networks, 2016",
    "squeezenet": "Iandola et al.: SqueezeNet, 2016; version 1.1",
    "mobilenet_v1": "Howard et al.: MobileNets, 2017",
    "mobilenet_v2": "Sandler et al.: MobileNetV2, 2018",
    "mobilenet_v3": "Howard et al.: Searching for MobileNetV3, 2019; large",
    "shufflenet_v2": "Ma et al.: ShuffleNet V2, 2018; width 1.0",
    "efficientnet_b0": "Tan, Le: EfficientNet, 2019",
}


def pair(letter, values, default):
    """"kh3", "kh3kw5", or "" if both have the default."""
    first, second = values
    if (first, second) == (default, default):
        return ""
    return f"{letter}h{first}" + (f"{letter}w{second}" if second != first else "")


def convolution(problem):
    dims = {operand["name"]: operand["dims"] for operand in problem["operands"]}
    attrs, (batch, channels, height, width), (out, _, *kernel) = problem["attrs"], dims["x"], dims["w"]
    top, left, bottom, right = attrs["pads"]
    if (top, left) != (bottom, right):
        return None  # the short text has no padding of one side
    text = (f"mb{batch}" if batch > 1 else "") + (f"g{attrs['group']}" if attrs["group"] > 1 else "") + f"ic{channels}"
    text += pair("i", (height, width), 0) + f"oc{out}" + pair("k", kernel, 0) + pair("s", attrs["strides"], 1)
    return text + pair("p", (top, left), 0) + pair("d", [d - 1 for d in attrs["dilations"]], 0)


def short(problem):
    """Kind and short text, or None for another operator or a problem that the short text cannot express."""
    operands = {operand["name"]: operand for operand in problem["operands"]}
    if problem["op"] == "conv" and len(operands["x"]["dims"]) == 4:
        text = convolution(problem)
        return text and ("conv2d", text)
    if problem["op"] == "gemm" and operands["b"]["constant"] and not problem["attrs"]["trans_a"]:
        rows, inner = operands["a"]["dims"]
        columns = operands["b"]["dims"][0 if problem["attrs"]["trans_b"] else 1]
        return "fc", f"mb{rows}ic{inner}oc{columns}"
    return None


def lines_of(lathe, network):
    document = json.loads(subprocess.run([lathe, "ops", "problems", "zoo:" + network, "--json", "-"], check=True, capture_output=True, text=True).stdout)
    counts, names = {}, {}
    for entry in document["problems"]:
        if found := short(entry["problem"]):
            counts[found] = counts.get(found, 0) + entry["count"]
            names.setdefault(found, entry["name"])
    return [f"networks/{network},{names[key]},{count},{key[0]},{key[1]}" for key, count in counts.items()]


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    lathe, output, networks = arguments[0], arguments[1], arguments[2:] or list(NETWORKS)
    lists = {network: lines_of(lathe, network) for network in networks}
    if "--check" in sys.argv:
        with open(output, encoding="utf-8") as file:
            known = file.read().splitlines()
        for network, lines in lists.items():
            if [line for line in known if line.startswith(f"networks/{network},")] != lines:
                sys.exit(f"{output}: the lines of {network} are not those of `lathe ops problems zoo:{network}`; write it anew: dev/gen_suites.py LATHE {output}")
        return
    page = """# Convolutions and fully connected layers of public networks, one image of the network's usual size. Written by
# dev/gen_suites.py from the networks of `lathe zoo`, whose layers are published in:
"""
    page += "".join(f"# {network}: {NETWORKS[network]}\n" for network in networks)
    page += "suite,name,count,kind,problem\n" + "".join(line + "\n" for lines in lists.values() for line in lines)
    with open(output, "w", encoding="utf-8") as file:
        file.write(page)


main()
