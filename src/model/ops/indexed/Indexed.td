include "ops/Base.td"

// Operators that read or write elements at positions in another tensor. A negative index counts from the end. An index
// outside the axis is an error of the run.
class Nn_Indexed<string mnemonic, list<Trait> traits = []> : NnOp<mnemonic, traits> {
  let lowering = "indexed";
  let flops = "Dim(0)";
  let benchmarkAxes = ["shape", "indices"];
}

def Nn_GatherElementsOp : Nn_Indexed<"gather_elements"> {
  let summary = "y[i] = x[i with coordinate `axis` replaced by indices[i]]";
  let description = [{
    y[i0, ..., ik, ...] = x[i0, ..., indices[i0, ..., ik, ...], ...] with the index at the axis.

    Constraints: gather_elements_c1: x has at least rank 1 and axis is in [-rank, rank). gather_elements_c2: indices are i32 or i64.
    gather_elements_c3: indices have x's rank and on other axes no more extent than x. gather_elements_c4: the axis is not
    empty unless indices are.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$indices, NnI64<"0">:$axis);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"GatherElements", 11>];
}

def Nn_GatherNdOp : Nn_Indexed<"gather_nd"> {
  let summary = "slices of x at index vectors: the last axis of indices holds the leading coordinates";
  let description = [{
    y has the extents of indices without the last, then those of x behind batch_dims and the coordinates. The first batch_dims axes of x and
    indices are walked together.

    Constraints: gather_nd_c1: both have at least rank 1; batch_dims is not negative and less than either rank. gather_nd_c2: indices are i32 or
    i64. gather_nd_c3: their last extent is known and at most x's rank less batch_dims. gather_nd_c4: batch extents agree.
    gather_nd_c5: the axes that are indexed are not empty unless y is.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$indices, NnI64<"0">:$batch_dims);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"GatherND", 11>];
}

// x with `updates` put into, or combined with, the elements that indices name. Which of several updates of one element is
// the last is the order of the updates.
class Nn_Scatter<string mnemonic> : Nn_Indexed<mnemonic> {
  let results = (outs NnTensor:$y);
}

def Nn_ScatterElementsOp : Nn_Scatter<"scatter_elements"> {
  let summary = "a copy of x with updates[i] written to position i with coordinate `axis` replaced by indices[i]";
  let description = [{
    reduction is "none" (replaces), "add", "mul", "max" or "min". Updates are applied in row-major order.

    Constraints: scatter_elements_c1: x has at least rank 1 and axis is in [-rank, rank). scatter_elements_c2: indices are i32 or i64.
    scatter_elements_c3: indices have x's rank and on other axes no more extent than x. scatter_elements_c4: updates have the extents of indices and
    x's type. scatter_elements_c5: reduction is one of the five, and combines numbers.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$indices, NnTensor:$updates, NnI64<"0">:$axis, NnStr<"none">:$reduction);
  let mappings = [Onnx<"Scatter", 9, 10>, Onnx<"ScatterElements", 11>];
}

def Nn_ScatterNdOp : Nn_Scatter<"scatter_nd"> {
  let summary = "a copy of x with every slice of updates written at its index vector";
  let description = [{
    reduction as for scatter_elements.

    Constraints: scatter_nd_c1: x and indices have at least rank 1. scatter_nd_c2: indices are i32 or i64. scatter_nd_c3: their last extent is
    known and at most x's rank. scatter_nd_c4: updates have the extents of indices without the last, then those of x behind the coordinates, and
    x's type. scatter_nd_c5: reduction is one of the five, and combines numbers.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$indices, NnTensor:$updates, NnStr<"none">:$reduction);
  let mappings = [Onnx<"ScatterND", 11>];
}

// ---- Extents that depend on the data: pass bind-extents writes them with operators of ops/selection/ --------------------------

def Nn_NonZeroOp : NnOp<"non_zero"> {
  let summary = "positions of the elements that are not zero, one column each";
  let description = [{
    i64, rank x count, in row-major order. The count depends on the data.

    Constraints: non_zero_c1: x has numbers or bool.
  }];
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"NonZero", 9>];
}

def Nn_CompressOp : NnOp<"compress"> {
  let summary = "slices of x along an axis where condition is true";
  let description = [{
    axis INT64_MAX: of x as one row. A condition shorter than the axis is false behind its end. The extent depends on the data.

    Constraints: compress_c1: axis is in [-rank, rank). compress_c2: condition is a vector of bool, not longer than the axis.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$condition, NnI64<"INT64_MAX">:$axis);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Compress", 9>];
}

def Nn_UniqueOp : NnOp<"unique"> {
  let summary = "distinct slices of x along an axis (or elements of x), with first positions, inverse indices and counts";
  let description = [{
    axis INT64_MAX: the elements of x. sorted: in ascending order, otherwise in that of first appearance. Extents depend on the data.
    Slices along an axis are never compiled.

    Constraints: unique_c1: axis is in [-rank, rank).
  }];
  let arguments = (ins NnTensor:$x, NnI64<"INT64_MAX">:$axis, NnBool<"true">:$sorted);
  let results = (outs NnTensor:$y, NnTensor:$indices, NnTensor:$inverse_indices, NnTensor:$counts);
  let mappings = [Onnx<"Unique", 11>];
}

def Nn_NonMaxSuppressionOp : NnOp<"non_max_suppression", [AttrSizedOperandSegments]> {
  let summary = "boxes in the order of their scores that do not overlap a box selected before";
  let description = [{
    boxes: batch x boxes x 4 (y1, x1, y2, x2, or centre x, centre y, width, height with center_point_box), scores: batch x classes x boxes. Result: i64
    selected x 3 of (batch, class, box), by batch, class, then falling score. At most max_output_boxes_per_class (0 or absent: none) of a
    batch and class. A box overlaps another where intersection over union is greater than iou_threshold; only scores greater than
    score_threshold count. The number of boxes depends on the data.

    Constraints: nms_c1: boxes is batch x boxes x 4, scores batch x classes x boxes, both of one float type. nms_c2: limit and thresholds have one
    element. nms_c3: center_point_box is 0 or 1.
  }];
  let arguments = (ins NnTensor:$boxes, NnTensor:$scores, Optional<NnTensor>:$max_output_boxes_per_class, Optional<NnTensor>:$iou_threshold,
    Optional<NnTensor>:$score_threshold, NnI64<"0">:$center_point_box);
  let results = (outs NnTensor:$selected);
  let mappings = [Onnx<"NonMaxSuppression", 10>];
}

def Nn_ReverseSequenceOp : NnOp<"reverse_sequence"> {
  let summary = "the first sequence_lens[b] elements along the time axis in reverse order, for each batch entry b";
  let description = [{
    Constraints: reverse_sequence_c1: x has at least rank 2; batch_axis and time_axis are 0 and 1 or 1 and 0. reverse_sequence_c2: sequence_lens is an i64
    vector of the batch axis' extent. A length outside [0, time] is an error of the run.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$sequence_lens, NnI64<"1">:$batch_axis, NnI64<"0">:$time_axis);
  let results = (outs NnTensor:$y);
  let flops = "Dim(0)";
  let lowering = "indexed";
  let mappings = [Onnx<"ReverseSequence", 10>];
}
