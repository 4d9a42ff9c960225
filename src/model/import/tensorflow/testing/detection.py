"""A detector of two stages, as TensorFlow 1 froze it.

Features, boxes that are decoded from anchors, NonMaxSuppressionV3, CropAndResize of the boxes that are left, and dense
layers over the crops.
"""
import numpy as np

from graph_files import Graph
from scope import FLOAT, INT, Scope

SIZE, CELLS, SHAPES, MOST, CROP, CLASSES = 128, 16, 3, 50, 7, 11


def anchors():
    """Centre y, centre x, height and width of every anchor, as fractions of the picture."""
    at = (np.arange(CELLS) + 0.5) / CELLS
    y, x, shape = np.meshgrid(at, at, np.arange(SHAPES), indexing="ij")
    height, width = np.array([0.3, 0.2, 0.4])[shape], np.array([0.3, 0.4, 0.2])[shape]
    return [each.reshape(-1).astype("float32") for each in (y, x, height, width)]


def decoded(s, deltas):
    """Boxes (y1, x1, y2, x2) of anchors x 4 deltas, as the box coder of the Object Detection API computes them."""
    parts = s.node("unstack", "Unpack", [s.transpose("transpose", deltas, [1, 0])], T=FLOAT, axis=0, num=4)
    y, x, height, width = (s.const(name, value) for name, value in zip(("ya", "xa", "ha", "wa"), anchors()))

    def scaled(i):
        tensor = parts if i == 0 else f"{parts}:{i}"
        return s.float(f"div_{i}", "RealDiv", [tensor, s.const(f"div_{i}/y", 10.0 if i < 2 else 5.0)])

    def centre(i, size, at):
        return s.float(f"add_{i}", "AddV2", [s.float(f"mul_{i}", "Mul", [scaled(i), size]), at])

    def extent(i, size):
        return s.float(f"mul_{i}", "Mul", [s.float(f"Exp_{i}", "Exp", [scaled(i)]), size])

    centres, extents = (centre(0, height, y), centre(1, width, x)), (extent(2, height), extent(3, width))
    halves = [s.float(f"half_{i}", "Mul", [each, s.const(f"half_{i}/y", 0.5)]) for i, each in enumerate(extents)]
    ends = [s.float(f"{op.lower()}_{i}", op, [centres[i], halves[i]]) for op in ("Sub", "AddV2") for i in (0, 1)]
    boxes = s.node("stack", "Pack", ends, N=4, T=FLOAT, axis=1)
    boxes = s.float("Maximum", "Maximum", [boxes, s.const("Maximum/y", 0.0)])
    return s.float("Minimum", "Minimum", [boxes, s.const("Minimum/y", 1.0)])


def gathered(s, name, x, indices):
    return s.node(name, "GatherV2", [x, indices, s.const(name + "/axis", 0)], Tparams=FLOAT, Tindices=INT, Taxis=INT,
                  batch_dims=0)


def detection():
    graph = Graph()
    s = Scope(graph, "", np.random.RandomState(12))
    x = graph.placeholder("image", [1, SIZE, SIZE, 3])
    features = s.within("features")
    for i, (channels, filters) in enumerate(((3, 32), (32, 64), (64, 64)), 1):
        x = features.conv(f"conv{i}", x, (3, 3), channels, filters, strides=2)
    first = s.within("first_stage")
    shared = first.conv("conv", x, (3, 3), 64, 64)
    deltas = first.reshape("deltas", first.conv("boxes", shared, (1, 1), 64, 4 * SHAPES, relu=False), [-1, 4])
    scores = first.conv("objectness", shared, (1, 1), 64, SHAPES, relu=False)
    scores = first.float("Sigmoid", "Sigmoid", [first.reshape("scores", scores, [-1])])
    boxes = decoded(first.within("decode"), deltas)
    nms = first.within("non_max_suppression")
    chosen = nms.node("NonMaxSuppressionV3", "NonMaxSuppressionV3",
                      [boxes, scores, nms.const("max_output_size", MOST), nms.const("iou_threshold", 0.4),
                       nms.const("score_threshold", 0.55)], T=FLOAT, T_threshold=FLOAT)
    boxes, scores = gathered(first, "GatherV2", boxes, chosen), gathered(first, "GatherV2_1", scores, chosen)
    second = s.within("second_stage")
    count = second.extent("strided_slice", second.shape("Shape", boxes), 0)
    rows = second.node("ExpandDims", "ExpandDims", [count, second.const("ExpandDims/dim", 0)], T=INT, Tdim=INT)
    pictures = second.node("zeros", "Fill", [rows, second.const("zeros/Const", 0)], T=INT, index_type=INT)
    crops = second.float("CropAndResize", "CropAndResize", [x, boxes, pictures, second.const("crop_size", [CROP, CROP])],
                         method="bilinear", extrapolation_value=0.0)
    crops = second.pool("MaxPool", crops, (2, 2), (2, 2))
    side = CROP // 2
    flat = second.reshape("Flatten", crops, [-1, side * side * 64])
    hidden = second.dense("fc", flat, side * side * 64, 128, relu=True)
    s.float("detection_classes", "Softmax", [second.dense("classes", hidden, 128, CLASSES)])
    s.float("detection_deltas", "Identity", [second.dense("refined", hidden, 128, 4)])
    s.float("detection_boxes", "Identity", [boxes])
    s.float("detection_scores", "Identity", [scores])
    s.node("detection_indices", "Identity", [chosen], T=INT)
    return graph
