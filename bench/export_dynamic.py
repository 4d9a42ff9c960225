#!/usr/bin/python3
"""Exports a network whose sizes or results only a run decides to ONNX, as PyTorch's own exporter writes it.

Needs Debian's python3-torch and python3-torchvision. Nothing is downloaded: weights are seeded and calibrated as in
export_torch.py. Three kinds of networks:

  batch      the batch is open: classifiers of torchvision, a transformer encoder, an LSTM
  size       the batch, the height and the width are open: segmentation networks of torchvision
  detection  the height and the width are open, and the run decides how many boxes there are: detectors of torchvision

A detector gets a box for every image without training: the last layers' weights are scaled until the scores of a sample
image spread over the score threshold, and box offsets stay small. The program fails if a detector finds fewer than
DETECTIONS boxes in a sample image.
"""
import argparse
import sys
import warnings

import torch
import torchvision
from torch import nn

import export_torch

DETECTIONS = 24  # boxes that survive, at least
FEATURES, STEPS = 128, 32  # of the LSTM's input
WIDTH, TOKENS = 512, 64  # of the transformer encoder's input


class Lstm(nn.Module):
    """Two layers that start from zero states, with an open batch, and a classifier of the last step."""

    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(FEATURES, 256, num_layers=2, batch_first=True)
        self.classifier = nn.Linear(256, 64)

    def forward(self, data):
        return self.classifier(self.layers(data)[0][:, -1])


class Encoder(nn.Module):
    """nn.TransformerEncoder: six layers, eight heads."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 8, dim_feedforward=2048, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        for member in self.encoder.layers:
            member.activation_relu_or_gelu = 0  # keeps the fused operator away, which has no ONNX form

    def forward(self, data):
        return self.encoder(data)


class Detector(nn.Module):
    """A detector for one image; forward returns the tensors of its dictionary in the order boxes, scores, labels, masks."""

    def __init__(self, network, fields):
        super().__init__()
        self.network, self.fields = network, fields

    def forward(self, data):
        found = self.network([data])[0]
        return tuple(found[field] for field in self.fields)


DETECTORS = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": ["boxes", "scores", "labels"],
    "retinanet_resnet50_fpn": ["boxes", "scores", "labels"],
    "ssdlite320_mobilenet_v3_large": ["boxes", "scores", "labels"],
    "maskrcnn_resnet50_fpn": ["boxes", "scores", "labels", "masks"],
}
SEQUENCES = {"transformer_encoder": (Encoder, (TOKENS, WIDTH)), "lstm": (Lstm, (STEPS, FEATURES))}
SHORT_SIDE = {"retinanet_resnet50_fpn": 320, "maskrcnn_resnet50_fpn": 320}  # inside the network; torchvision has 800
OPEN_SIZE = ["deeplabv3_mobilenet_v3_large", "fcn_resnet50"]
OPEN_BATCH = ["resnet18", "transformer_encoder", "lstm", "vit_b_16", "swin_t"]
NETWORKS = {"batch": OPEN_BATCH, "size": OPEN_SIZE, "detection": list(DETECTORS)}


def build_detector(name, short):
    options = {"weights": None, "weights_backbone": None}
    if short:
        options.update(min_size=short, max_size=5 * short // 3)
    return torchvision.models.detection.__dict__[name](**options)


def last_layers(module):
    """The layers that compute a head's outputs: one for each branch of a list of branches, or the layer itself."""
    if isinstance(module, nn.ModuleList):
        return [list(branch.modules())[-1] for branch in module]
    return [module]


def spread(network, sample, layers, deviation, shift):
    """Scales the weights of `layers` until their outputs for the sample have the deviation, around `shift`."""
    measured = {}

    def note(layer, given, result):
        measured[layer] = torch.cat([measured.get(layer, result.new_zeros(0)), result.flatten()])

    hooks = [layer.register_forward_hook(note) for layer in layers]
    for layer in layers:
        layer.bias.zero_()
    network([sample])
    for hook in hooks:
        hook.remove()
    for layer in layers:
        layer.weight *= deviation / measured[layer].std()
        layer.bias += shift


def open_detector(name, network, sample):
    """Makes scores spread over the threshold, and offsets that move boxes a little. Earlier layers come first."""
    with torch.no_grad():
        if name.startswith("ssdlite"):
            spread(network, sample, last_layers(network.head.regression_head.module_list), 0.5, 0.0)
            spread(network, sample, last_layers(network.head.classification_head.module_list), 1.5, 0.0)
        elif name.startswith("retinanet"):
            spread(network, sample, [network.head.regression_head.bbox_reg], 0.2, 0.0)
            spread(network, sample, [network.head.classification_head.cls_logits], 1.0, -6.0)
        else:
            spread(network, sample, [network.rpn.head.cls_logits], 1.0, 0.0)
            spread(network, sample, [network.rpn.head.bbox_pred], 0.2, 0.0)
            spread(network, sample, [network.roi_heads.box_predictor.cls_score], 1.5, 0.0)
            spread(network, sample, [network.roi_heads.box_predictor.bbox_pred], 0.5, 0.0)
            if network.roi_heads.has_mask():
                spread(network, sample, [network.roi_heads.mask_predictor.mask_fcn_logits], 2.0, 0.0)


def detector(name, short, generator):
    """-> (network, sample, report)"""
    network = build_detector(name, short)
    export_torch.randomise(network, generator)
    calibrate_backbone(network, generator)
    network.eval()
    sample = export_torch.images(1, 320, generator)[0] * 0.25 + 0.5
    open_detector(name, network, sample)
    with torch.no_grad():
        found = network([sample])[0]
    kept = len(found["boxes"])
    if kept < DETECTIONS:
        sys.exit("export_dynamic.py: %s finds %d boxes, expected at least %d" % (name, kept, DETECTIONS))
    score = found["scores"]
    return (Detector(network, DETECTORS[name]), sample, "%d boxes of %d classes, scores %.3g to %.3g, %d equal to another" % (
        kept, len(found["labels"].unique()), score.min(), score.max(), kept - len(score.unique())))


def calibrate_backbone(network, generator):
    """Statistics of all batch norms from one run over images: of the backbone, and of the heads where they have any."""
    def run():
        features = network.backbone(export_torch.images(4, 320, generator))
        head = getattr(network, "head", None)
        if head is not None:
            head(list(features.values()))
    export_torch.calibrate(network, run, generator)


def sequence(name, generator):
    make, shape = SEQUENCES[name]
    network = make()
    export_torch.randomise(network, generator)
    network.eval()
    sample = torch.randn(2, *shape, generator=generator)
    return network, sample, export_torch.check(network, sample)


def images(name, generator):
    network = export_torch.OnlyOutput(export_torch.build(name))
    export_torch.randomise(network, generator)
    export_torch.calibrate(network, lambda: network(export_torch.images(8, 224, generator)), generator)
    network.eval()
    sample = export_torch.images(2, 224, generator)
    return network, sample, export_torch.check(network, sample)


def main():
    parser = argparse.ArgumentParser(description="Exports a network of open sizes with seeded weights to ONNX.")
    parser.add_argument("name", nargs="?", help="a network of the list")
    parser.add_argument("-o", "--output", help="the file to write (default NAME.onnx)")
    parser.add_argument("--list", action="store_true", help="print the networks with their kinds and stop")
    parser.add_argument("--short-side", type=int, help="of the image inside a detector (default: 320)")
    parser.add_argument("--opset", type=int, help="ONNX opset (default 17, of detectors 11, which torchvision is tested with)")
    parser.add_argument("--seed", type=int, default=1, help="of weights and calibration data (default 1)")
    options = parser.parse_args()
    if options.list:
        print("\n".join("%s %s" % (name, kind) for kind, names in NETWORKS.items() for name in names))
        return
    kind = next((kind for kind, names in NETWORKS.items() if options.name in names), None)
    if not kind:
        sys.exit("export_dynamic.py: unknown network '%s'; --list prints them all" % options.name)

    torch.manual_seed(options.seed)
    generator = torch.Generator().manual_seed(options.seed)
    axes = {"data": {0: "N"}, "prob": {0: "N"}}
    if kind == "detection":
        network, sample, report = detector(options.name, options.short_side or SHORT_SIDE.get(options.name), generator)
        axes = {"data": {1: "H", 2: "W"}, **{field: {0: "D"} for field in network.fields}}
    elif options.name in SEQUENCES:
        network, sample, report = sequence(options.name, generator)
    else:
        network, sample, report = images(options.name, generator)
    if kind == "size":
        axes = {"data": {0: "N", 2: "H", 3: "W"}, "prob": {0: "N", 2: "H", 3: "W"}}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tracing: extents taken as constants, which is meant
        torch.onnx.export(network, (sample,), options.output or options.name + ".onnx",
                          opset_version=options.opset or (11 if kind == "detection" else 17), do_constant_folding=True,
                          input_names=["data"], output_names=getattr(network, "fields", ["prob"]), dynamic_axes=axes)
    print("%s: %s" % (options.name, report))


if __name__ == "__main__":
    main()
