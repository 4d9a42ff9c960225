include "ops/Base.td"

// Operators that only move elements: no arithmetic, any element type.
class Nn_Movement<string mnemonic, list<Trait> traits = []> : NnOp<mnemonic, traits> {
  let lowering = "movement";
  let flops = "Dim(0)";
  let benchmarkAxes = ["shape"];
}

def Nn_TransposeOp : Nn_Movement<"transpose"> {
  let summary = "permutation of axes: axis i of y is axis perm[i] of x";
  let description = [{
    An empty perm reverses the axes. Constraints: transpose_c1: perm is a permutation of 0 ... rank - 1.
  }];
  let arguments = (ins NnTensor:$x, NnI64s<>:$perm);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Transpose">];
  let benchmarkAxes = ["shape", "perm"];
}

def Nn_ConcatOp : Nn_Movement<"concat"> {
  let summary = "concatenation of tensors along an axis";
  let description = [{
    Constraints: concat_c1: there is at least one input. concat_c2: axis is in [-rank, rank). concat_c3: inputs have one rank
    and one element type. concat_c4: extents agree on every other axis.
  }];
  let arguments = (ins Variadic<NnTensor>:$inputs, NnI64<"0">:$axis);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Concat", 4>];
  let benchmarkAxes = ["shape", "axis", "count"];
}

def Nn_SplitOp : Nn_Movement<"split"> {
  let summary = "pieces of the given sizes along an axis";
  let description = [{
    Constraints: split_c1: axis is in [-rank, rank). split_c2: there is at least one size and none is negative. split_c3: the sizes add
    up to the extent.
  }];
  let arguments = (ins NnTensor:$x, NnI64<"0">:$axis, NnI64s<>:$sizes);
  let results = (outs Variadic<NnTensor>:$pieces);
  let mappings = [Onnx<"Split", 2, 1000, 0>];
  let benchmarkAxes = ["shape", "axis", "sizes"];
}

def Nn_SliceOp : Nn_Movement<"slice", [AttrSizedOperandSegments]> {
  let summary = "every step-th element from start to end (not included) on some axes";
  let description = [{
    starts and ends count from the end where negative, are clamped to the extent, and may run backwards with a negative step. Without axes:
    the first ones in order. Without steps: 1.

    Constraints: slice_c1: starts and ends have equally many values, axes and steps as many or none. slice_c2: axes are in
    [-rank, rank), none twice. slice_c3: no step is zero.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$starts_in, Optional<NnTensor>:$ends_in, Optional<NnTensor>:$axes_in,
    Optional<NnTensor>:$steps_in, NnI64s<>:$starts, NnI64s<>:$ends, NnI64s<>:$axes, NnI64s<>:$steps);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"starts_in", "starts">, StaticOperand<"ends_in", "ends">, StaticOperand<"axes_in", "axes">,
    StaticOperand<"steps_in", "steps">];
  let mappings = [Onnx<"Slice">];
  let benchmarkAxes = ["shape", "starts", "ends", "axes", "steps"];
}

def Nn_GatherOp : Nn_Movement<"gather"> {
  let summary = "slices of x at the given indices of one axis";
  let description = [{
    Result: x's extents with those of indices in place of the axis. A negative index counts from the end.

    Constraints: gather_c1: axis is in [-rank, rank). gather_c2: indices are i32 or i64.
    gather_c3: the axis is not empty unless y is.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$indices, NnI64<"0">:$axis);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Gather">];
  let benchmarkAxes = ["shape", "count", "axis"];
}

def Nn_PadOp : Nn_Movement<"pad", [AttrSizedOperandSegments]> {
  let summary = "x padded, or with negative pads cropped, at both ends of its axes";
  let description = [{
    mode is "constant" (filled with value), "edge", "reflect" (without repeating the edge) or "wrap". pads: all begins, then all ends.

    Constraints: pad_c1: pads has two values an axis. pad_c2: mode is one of the four. pad_c3: no extent becomes negative.
    pad_c4: value_in has one element of x's type. pad_c5: modes other than constant need an element to repeat.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$pads_in, Optional<NnTensor>:$value_in, NnStr<"constant">:$mode, NnI64s<>:$pads, NnF64<"0.0">:$value);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"pads_in", "pads">, StaticOperand<"value_in", "value">];
  let mappings = [Onnx<"Pad", 2, 17>, Onnx<"Pad", 18, 1000, 0>];
  let benchmarkAxes = ["shape", "pads"];
}

def Nn_ExpandOp : Nn_Movement<"expand"> {
  let summary = "x broadcast to the given extents (to its own where they are larger)";
  let description = [{
    Constraints: expand_c1: x and shape broadcast. expand_c2: shape_in has rank 1 and a static length. expand_c3: no extent is negative.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$shape_in, NnI64s<>:$shape);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"shape_in", "shape">];
  let mappings = [Onnx<"Expand", 8>];
  let benchmarkAxes = ["shape", "newShape"];
}

def Nn_TileOp : Nn_Movement<"tile"> {
  let summary = "x repeated along each axis";
  let description = [{
    Constraints: tile_c1: repeats has one value an axis. tile_c2: none is negative.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$repeats_in, NnI64s<>:$repeats);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"repeats_in", "repeats">];
  let mappings = [Onnx<"Tile", 6>];
  let benchmarkAxes = ["shape", "repeats"];
}

def Nn_SpaceToDepthOp : Nn_Movement<"space_to_depth"> {
  let summary = "blocks of pixels become channels";
  let description = [{
    N x C x H x W to N x C*b*b x H/b x W/b. Constraints: block_c1: x has rank 4. block_c2: block_size is positive.
    block_c3: it divides height and width.
  }];
  let arguments = (ins NnTensor:$x, NnI64<"1">:$block_size);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"SpaceToDepth", 1, 1000, 1, ["blocksize=block_size"]>];
  let benchmarkAxes = ["shape", "blockSize"];
}

def Nn_DepthToSpaceOp : Nn_Movement<"depth_to_space"> {
  let summary = "channels become blocks of pixels";
  let description = [{
    N x C x H x W to N x C/b/b x H*b x W*b. mode "DCR": channel = (row * b + column) * C/b/b + c; "CRD": channel = (c * b + row) * b + column.

    Constraints: block_c1, block_c2. block_c4: block_size squared divides the channels. block_c5: mode is "DCR" or "CRD".
  }];
  let arguments = (ins NnTensor:$x, NnI64<"1">:$block_size, NnStr<"DCR">:$mode);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"DepthToSpace", 1, 1000, 1, ["blocksize=block_size"]>];
  let benchmarkAxes = ["shape", "blockSize"];
}
