#!/usr/bin/python3
"""Exports a torchvision architecture to ONNX, as PyTorch's own exporter writes it.

Needs Debian's python3-torch and python3-torchvision. Nothing is downloaded: weights are seeded, and calibrated so that a
network computes something worth comparing. A forward pass over seeded noise in training mode sets every batch norm's
running statistics; statistics and affine parameters are then moved off their neutral values, and again calibrated, so
that neither mean 0, variance 1, scale 1 nor shift 0 remains anywhere. Layer norms and biases get values too. The
program fails if the outputs are constant, not finite, or do not depend on the input.
"""
import argparse
import sys
import warnings

import torch
import torchvision
from torch import nn

SEGMENTATION = torchvision.models.segmentation
INPUT_SIZES = {"inception_v3": 299}


def names():
    """Names of all architectures: the classifiers and the segmentation networks."""
    return sorted(torchvision.models.list_models(torchvision.models) + torchvision.models.list_models(SEGMENTATION))


def build(name):
    """The architecture with newly initialised weights, without auxiliary heads."""
    options = {"weights": None}
    if name in torchvision.models.list_models(SEGMENTATION):
        options.update(weights_backbone=None)
    if name in ("googlenet", "inception_v3"):
        options.update(init_weights=False, aux_logits=False)  # its truncated normal takes minutes; randomise() sets weights
    return torchvision.models.get_model(name, **options)


class OnlyOutput(nn.Module):
    """Segmentation networks return a dictionary; the exported graph has its "out" as the one output."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, data):
        result = self.network(data)
        return result["out"] if isinstance(result, dict) else result


def randomise(network, generator):
    """Sets seeded weights with a gain that keeps the size of activations, small biases, and affine parameters that are not
    neutral."""

    def normal(tensor, mean, deviation):
        tensor.copy_(torch.randn(tensor.shape, generator=generator) * deviation + mean)

    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
                weight = module.weight
                normal(weight, 0.0, (1.6 / max(1, weight[0].numel())) ** 0.5)
                if module.bias is not None:
                    normal(module.bias, 0.0, 0.05)
            elif isinstance(module, nn.MultiheadAttention):
                normal(module.in_proj_weight, 0.0, (1.5 / module.embed_dim) ** 0.5)
                normal(module.in_proj_bias, 0.0, 0.05)
            # Shifts above zero, behind batch norms: where half of everything is cut off layer after layer, rounding differences
            # grow with every layer, which they do not in trained networks.
            elif isinstance(module, (nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm)) and module.weight is not None:
                normal(module.weight, 1.0, 0.15)
                normal(module.bias, 0.5 if isinstance(module, nn.BatchNorm2d) else 0.0, 0.15)
        for module in network.modules():
            # Training makes residual branches small beside what they are added to. At full size every block would amplify
            # rounding differences, and two correct runtimes would disagree.
            if isinstance(module, (torchvision.models.resnet.BasicBlock, torchvision.models.resnet.Bottleneck)):
                (module.bn3 if hasattr(module, "bn3") else module.bn2).weight *= 0.3
        for name, parameter in network.named_parameters():
            leaf = name.rsplit(".", 1)[-1]
            if leaf in ("class_token", "pos_embedding", "relative_position_bias_table"):
                normal(parameter, 0.0, 0.3)
            elif leaf in ("layer_scale", "gamma"):  # convnext starts them at 1e-6, which would mute every block
                normal(parameter, 0.4, 0.1)


def calibrate(network, run, generator):
    """Batch norms: statistics as the network really has them in `run()`, then perturbed."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    if not norms:
        return
    for module in network.modules():
        module.train(isinstance(module, nn.BatchNorm2d))
    for module in norms:
        module.momentum = 1.0
    with torch.no_grad():
        run()
        for module in norms:
            spread = module.running_var.sqrt()
            module.running_mean += 0.1 * spread * torch.randn(spread.shape, generator=generator)
            module.running_var *= torch.exp(0.2 * torch.randn(spread.shape, generator=generator))
            module.running_var += 1e-3


def images(count, size, generator):
    """Seeded replacements for photographs: a tint, soft shapes and grain, so that two of them differ by more than noise."""

    def noise(side):
        return torch.randn(count, 3, side, side, generator=generator)

    soft = nn.functional.interpolate(noise(6), size=(size, size), mode="bilinear", align_corners=False)
    return 0.6 * noise(1) + soft + 0.5 * noise(size)


def check(network, sample):
    """Checks that outputs are finite, and vary inside one output and with the input."""
    with torch.no_grad():
        output = network(sample)
    if not torch.isfinite(output).all():
        sys.exit("export_torch.py: outputs are not finite")
    size = output.abs().max()
    inside, across = output.std(), (output[0] - output[1]).std()
    if not (inside > 1e-3 * size and across > 1e-3 * size):
        sys.exit("export_torch.py: outputs are constant (deviation %g, between inputs %g)" % (inside, across))
    return "outputs %s, max |y| %.3g, deviation %.3g, between inputs %.3g" % (list(output.shape[1:]), size, inside, across)


def main():
    parser = argparse.ArgumentParser(description="Exports a torchvision architecture with seeded weights to ONNX.")
    parser.add_argument("name", nargs="?", help="an architecture, as torchvision names it")
    parser.add_argument("-o", "--output", help="the file to write (default NAME.onnx)")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--batch", type=int, default=1, help="the static batch (default 1)")
    parser.add_argument("--dynamic-batch", action="store_true", help="leave the batch symbolic (N)")
    parser.add_argument("--size", type=int, help="height and width of the input (default: what the architecture expects)")
    parser.add_argument("--opset", type=int, default=17, help="ONNX opset (default 17, the newest PyTorch 1.13 writes)")
    parser.add_argument("--seed", type=int, default=1, help="of weights and calibration data (default 1)")
    parser.add_argument("--no-fold", action="store_true", help="leave constants unfolded in the exported graph")
    parser.add_argument("--training-form", action="store_true",
                        help="keep batch norms and dropouts as nodes, where evaluation mode would fuse them away")
    options = parser.parse_args()
    if options.list:
        print("\n".join(names()))
        return
    if not options.name:
        parser.error("name an architecture, or --list")

    if options.name not in names():
        sys.exit("export_torch.py: unknown architecture '%s'; --list prints them all" % options.name)
    torch.manual_seed(options.seed)
    generator = torch.Generator().manual_seed(options.seed)
    network = OnlyOutput(build(options.name))
    randomise(network, generator)
    size = options.size or INPUT_SIZES.get(options.name, 224)
    calibrate(network, lambda: network(images(8, size, generator)), generator)
    network.eval()
    report = check(network, images(2, size, generator))

    sample = images(options.batch, size, generator)
    preserve = torch.onnx.TrainingMode.PRESERVE if options.training_form else torch.onnx.TrainingMode.EVAL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tracing: shapes taken as constants, which is meant
        torch.onnx.export(network, sample, options.output or options.name + ".onnx", opset_version=options.opset,
                          training=preserve, do_constant_folding=not options.no_fold, input_names=["data"],
                          output_names=["prob"],
                          dynamic_axes={"data": {0: "N"}, "prob": {0: "N"}} if options.dynamic_batch else None)
    print("%s: %s" % (options.name, report))


if __name__ == "__main__":
    main()
