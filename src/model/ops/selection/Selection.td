include "ops/Base.td"

// The parts of operators whose extents depend on data. Pass bind-extents writes NonZero, Compress, Unique, Range and
// NonMaxSuppression as a kernel that finds out how much there is, `bind_extents`, and kernels that make results of that
// extent.

def Nn_BindExtentsOp : NnOp<"bind_extents"> {
  let summary = "integers that become extents while the plan runs";
  let description = [{
    y is x. Shape functions behind it see element i as the symbol number i of `symbols` (names separated by spaces), which the plan binds when
    this operator runs. An element below 0 is an error. `most`: texts of extents, separated by semicolons, that the elements do not exceed; "" or
    an empty text: none is known.

    Constraints: bind_extents_c1: x is an i64 vector of static length. bind_extents_c2: symbols has one name an element, most none or as many
    texts. bind_extents_c3: no element exceeds its bound.
  }];
  let arguments = (ins NnTensor:$x, NnStr<"">:$symbols, NnStr<"">:$most);
  let results = (outs NnTensor:$y);
  let lowering = "view";
  let flops = "Dim(0)";
}

class Nn_Selection<string mnemonic, list<Trait> traits = []> : NnOp<mnemonic, traits> {
  let lowering = "selection";
}

def Nn_CountNonZeroOp : Nn_Selection<"count_non_zero"> {
  let summary = "number of elements that are not zero in every chunk of x";
  let description = [{
    i64, one number for every `chunk` elements in row-major order, at least one.

    Constraints: count_non_zero_c1: x has numbers or bool. count_non_zero_c2: chunk is positive.
  }];
  let arguments = (ins NnTensor:$x, NnI64<"16384">:$chunk);
  let results = (outs NnTensor:$counts);
  let flops = "product(in[0]->dims)";
}

def Nn_NonZeroPositionsOp : Nn_Selection<"non_zero_positions"> {
  let summary = "non_zero, given the number of positions of every chunk and of all";
  let description = [{
    counts: from count_non_zero with the same chunk; count: their sum, one i64. Result: i64 rank x count.

    Constraints: non_zero_positions_c1: x has numbers or bool. non_zero_positions_c2: counts is an i64 vector with an element a chunk, count one
    i64, chunk is positive.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$counts, NnTensor:$count, NnI64<"16384">:$chunk);
  let results = (outs NnTensor:$y);
  let flops = "product(in[0]->dims)";
}

def Nn_IotaOp : Nn_Selection<"iota"> {
  let summary = "0, 1, 2, ... as i64";
  let description = [{
    Constraints: iota_c1: count is one i64. iota_c2: it is not negative.
  }];
  let arguments = (ins NnTensor:$count);
  let results = (outs NnTensor:$y);
}

def Nn_SelectBoxesOp : Nn_Selection<"select_boxes", [AttrSizedOperandSegments]> {
  let summary = "the boxes that non_max_suppression selects, for every batch and class";
  let description = [{
    Operands as for non_max_suppression. boxes: i32 batch x classes x boxes, of which the first ones are the selected boxes in falling order of
    their scores; the rest is unspecified (the reference writes 0). counts: i64 batch x classes.

    Constraints: those of non_max_suppression.
  }];
  let arguments = (ins NnTensor:$boxes, NnTensor:$scores, Optional<NnTensor>:$max_output_boxes_per_class, Optional<NnTensor>:$iou_threshold,
    Optional<NnTensor>:$score_threshold, NnI64<"0">:$center_point_box);
  let results = (outs NnTensor:$selected, NnTensor:$counts);
  let flops = "product(in[1]->dims) * 8";
}

def Nn_SelectedBoxesOp : Nn_Selection<"selected_boxes"> {
  let summary = "the result of non_max_suppression from that of select_boxes";
  let description = [{
    selected and counts: from select_boxes; count: the sum of counts, one i64. Result: i64 count x 3 of (batch, class, box).

    Constraints: selected_boxes_c1: selected is i32 batch x classes x boxes, counts i64 batch x classes, count one i64.
  }];
  let arguments = (ins NnTensor:$selected, NnTensor:$counts, NnTensor:$count);
  let results = (outs NnTensor:$y);
}

def Nn_DistinctOp : Nn_Selection<"distinct"> {
  let summary = "the distinct elements of x with first positions, inverse indices, counts, and how many there are";
  let description = [{
    x: a vector of n elements. values, indices and counts have n elements, of which the first `count` are the results of unique without axis; the
    rest is unspecified (the reference writes 0). sorted: in ascending order, otherwise in that of first appearance. NaN equals NaN and is greater
    than every number.

    Constraints: distinct_c1: x is a vector of numbers or bool.
  }];
  let arguments = (ins NnTensor:$x, NnBool<"true">:$sorted);
  let results = (outs NnTensor:$values, NnTensor:$indices, NnTensor:$inverse_indices, NnTensor:$counts, NnTensor:$count);
  let flops = "product(in[0]->dims) * 4";
}
