#!/usr/bin/python3
"""Tokens a second of GPT-2 small that decodes step after step, beside ONNX Runtime.

The model is zoo:gpt2_small_decoder: one token behind a past of any length, seeded weights. All sides read the same tokens,
and must find the same likeliest next token, with the same logit, in every step.

  lathe     one package; keys and values grow in place (lathe run --steps --state)
  exported  ONNX Runtime on the same file; pasts and presents are bound to two buffers that change places
  grouped   ONNX Runtime with its own operator GroupQueryAttention in the place of every attention; past and present
            share one buffer, so nothing is copied. This is the best form that ONNX Runtime offers for this model.

Rounds of all sides alternate; a row is the median of a side's rounds. Needs Debian's python3-onnx and `make peers`.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STATES = ["--state", "past_*=present_*:max={most}"]
LOGIT_TOLERANCE = 1e-3  # of logits up to 10


def maker(model, name):
    """The node that computes a value."""
    return next(node for node in model.graph.node if name in node.output)


def readers(model, name):
    return [node for node in model.graph.node if name in node.input]


def sole_reader(model, node, op):
    found = readers(model, node.output[0])
    if len(found) != 1 or found[0].op_type != op:
        sys.exit(f"decoding.py: '{node.name}' is read by {[other.op_type for other in found]}, expected one {op}")
    return found[0]


def before_heads(model, name):
    """The value before a reshape and a transpose divided it into heads: batch x 1 x width."""
    return maker(model, maker(model, name).input[0]).input[0]


def group_layer(model, key_past, value_past, heads):
    """Replaces one attention of the exported model by GroupQueryAttention."""
    from onnx import helper
    keys = readers(model, key_past)
    keys = next(node for node in keys if node.op_type == "Concat")
    values = next(node for node in readers(model, value_past) if node.op_type == "Concat")
    turn = next(node for node in readers(model, keys.output[0]) if node.op_type == "Transpose")
    product = sole_reader(model, turn, "MatMul")
    last = sole_reader(model, product, "Div")
    last = sole_reader(model, last, "Softmax")
    last = sole_reader(model, last, "MatMul")
    last = sole_reader(model, last, "Transpose")
    merge = sole_reader(model, last, "Reshape")
    inputs = [before_heads(model, product.input[0]), before_heads(model, keys.input[1]), before_heads(model, values.input[1]),
              key_past, value_past, "seqlens_k", "total_sequence_length"]
    grouped = helper.make_node("GroupQueryAttention", inputs, [merge.output[0], keys.output[0], values.output[0]],
                               name=merge.name + ".grouped", domain="com.microsoft", num_heads=heads, kv_num_heads=heads,
                               scale=0.125)
    at = list(model.graph.node).index(merge)
    model.graph.node.insert(at, grouped)
    for node in (merge, keys, values):
        model.graph.node.remove(node)


def drop_unread(model):
    wanted = {value.name for value in model.graph.output}
    while True:
        read = wanted | {name for node in model.graph.node for name in node.input}
        dead = [node for node in model.graph.node if not any(name in read for name in node.output)]
        if not dead:
            return
        for node in dead:
            model.graph.node.remove(node)


def group(exported, grouped):
    """Writes the model with GroupQueryAttention."""
    import onnx
    from onnx import TensorProto, helper
    model = onnx.load(exported)
    pasts = [value for value in model.graph.input if value.name.startswith("past_")]
    heads = pasts[0].type.tensor_type.shape.dim[1].dim_value
    # The position is the number of tokens so far; the extent of the past is the buffer's.
    position = next(node for node in model.graph.node if node.op_type == "Shape")
    at = list(model.graph.node).index(position)
    model.graph.node.insert(at, helper.make_node("Cast", ["seqlens_k"], list(position.output), to=TensorProto.INT64))
    model.graph.node.remove(position)
    for layer in range(len(pasts) // 2):
        group_layer(model, f"past_{layer}_key", f"past_{layer}_value", heads)
    drop_unread(model)
    model.graph.input.extend([helper.make_tensor_value_info("seqlens_k", TensorProto.INT32, [1]),
                              helper.make_tensor_value_info("total_sequence_length", TensorProto.INT32, [])])
    for value in list(model.graph.input) + list(model.graph.output):
        if value.name.startswith(("past_", "present_")):
            value.type.tensor_type.shape.dim[2].dim_param = "positions"
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, grouped, save_as_external_data=True, location=os.path.basename(grouped) + ".data")


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"decoding.py: {' '.join(command)}: exit code {result.returncode}")
    return result.stdout


class Side:
    """One way to decode. `round` runs all steps and returns the likeliest tokens with their logits; `rates`: tokens a second."""

    def __init__(self, name, command, parse):
        self.name, self.command, self.parse = name, command, parse
        self.rates = []

    def round(self):
        found, times = self.parse(run(self.command))
        self.rates.append(len(times) * 1000 / sum(times))
        return found, statistics.median(times)


def sides(options, folder):
    import numpy
    program = os.path.join(options.build, "bin", "lathe")
    peer = os.path.join(options.build, "bin", "lathe-decoding-onnxruntime")
    exported, grouped, package, tokens, results = (os.path.join(folder, name) for name in
                                                   ("decoder.onnx", "grouped.onnx", "decoder.lathe", "tokens.npy", "results.npz"))
    if not os.path.exists(exported):
        run([program, "zoo", "gpt2_small_decoder", "-o", exported])
    if not os.path.exists(grouped):
        group(exported, grouped)
    run([program, "compile", exported, "--threads", str(options.threads), "-o", package, "--quiet"])
    steps = str(options.steps)
    numpy.save(tokens, numpy.array([(i * 7919 + 13) % 50257 for i in range(options.steps)], numpy.int64).reshape(-1, 1, 1))
    report = os.path.join(folder, "run.json")
    states = [text.format(most=options.steps) for text in STATES]

    def of_lathe(_):
        with open(report) as file:
            times = json.load(file)["step_ms"]
        logits = numpy.load(results)["output"].reshape(len(times), -1)
        return list(zip(logits.argmax(axis=-1).tolist(), logits.max(axis=-1).tolist())), times

    def of_peer(text):
        result = json.loads(text)
        return list(zip(result["tokens"], result["logits"])), result["step_ms"]

    lathe = [program, "run", package, "--threads", str(options.threads), "-i", f"input_ids={tokens}", "--steps", steps, *states,
             "--quiet", "-o", results, "--json", report]
    plain = [peer, exported, steps, str(options.threads)]
    return [Side("lathe", lathe, of_lathe), Side("exported", plain, of_peer),
            Side("grouped", [peer, grouped, *plain[2:], "--shared"], of_peer)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"), help="build folder (default: build/release)")
    parser.add_argument("--folder", required=True, help="folder for the models, about 1.5 GB")
    parser.add_argument("--steps", type=int, default=512, help="tokens to decode (default: 512)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every side (default: 2)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of every side (default: 3)")
    parser.add_argument("--json", help="write the rates to FILE")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    all_sides = sides(options, options.folder)
    expected = None
    for number in range(options.rounds):
        for side in all_sides:
            found, median = side.round()
            expected = expected or found
            worst = max(abs(a[1] - b[1]) for a, b in zip(found, expected))
            others = sum(a[0] != b[0] for a, b in zip(found, expected))
            if worst > LOGIT_TOLERANCE or others:
                sys.exit(f"decoding.py: {side.name}: {others} other tokens, logits differ by up to {worst:.2g}")
            print(f"round {number}: {side.name:9} {side.rates[-1]:7.1f} tokens/s, median step {median:.2f} ms, logits within "
                  f"{worst:.1e} of {all_sides[0].name}'s", flush=True)
    rates = {side.name: statistics.median(side.rates) for side in all_sides}
    best = max(rates["exported"], rates["grouped"])
    print(f"lathe {rates['lathe']:.1f}, ONNX Runtime {rates['exported']:.1f} (exported) and {rates['grouped']:.1f} (grouped) "
          f"tokens/s: {rates['lathe'] / best:.3f} times its best form")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"rates": rates, "rounds": {side.name: side.rates for side in all_sides}, "ratio": rates["lathe"] / best}, file)


if __name__ == "__main__":
    main()
