include "ops/Base.td"

def Nn_ReshapeOp : NnOp<"reshape"> {
  let summary = "the same elements with other extents";
  let description = [{
    `shape` holds the new extents; -1 (at most once) takes what is left, 0 copies the extent of x at that position unless `allow_zero`.
    Flatten, Squeeze and Unsqueeze are reshapes.

    Constraints: reshape_c1: element counts agree. reshape_c2: at most one -1, nothing below it. reshape_c3: a copied extent
    exists. reshape_c4: shape_in has rank 1 and a static length.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$shape_in, NnI64s<>:$shape, NnBool<"false">:$allow_zero);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"shape_in", "shape">];
  let mappings = [Onnx<"Reshape", 1, 1000, 0>, Onnx<"Flatten", 1, 1000, 0>, Onnx<"Squeeze", 1, 1000, 0>, Onnx<"Unsqueeze", 1, 1000, 0>];
  let lowering = "view";
  let flops = "Dim(0)";
  let benchmarkAxes = ["shape", "newShape"];
}

def Nn_BitCastOp : NnOp<"bit_cast"> {
  let summary = "the same bytes as elements of another type of the same width";
  let description = [{
    Constraints: bit_cast_c1: x has numbers or bool, `to` is a number. bit_cast_c2: both have the same width, of at least a byte.
  }];
  let arguments = (ins NnTensor:$x, NnElementType:$to);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"BitCast", 26>];
  let lowering = "view";
  let flops = "Dim(0)";
  let tolerance = "0";
  let benchmarkAxes = ["shape"];
}

def Nn_ShapeOp : NnOp<"shape"> {
  let summary = "the extents of x from `start` to `end` as i64";
  let description = [{
    Negative positions count from the end; both are clamped to [0, rank].
  }];
  let arguments = (ins NnTensor:$x, NnI64<"0">:$start, NnI64<"INT64_MAX">:$end);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Shape">, Onnx<"Size", 1, 1000, 0>];
  let lowering = "fold";
  let flops = "Dim(0)";
}

def Nn_ConstantOfShapeOp : NnOp<"constant_of_shape"> {
  let summary = "a tensor of one value whose extents are given at run time";
  let description = [{
    Constraints: constant_of_shape_c1: shape_in is an i64 vector of static length. constant_of_shape_c2: its values are not negative.
    constant_of_shape_c3: `type` is a number or bool.
  }];
  let arguments = (ins NnTensor:$shape_in, NnF64<"0.0">:$value, NnElementType:$type);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"ConstantOfShape", 9, 1000, 0>];
  let lowering = "fold";
  let flops = "Dim(0)";
}

def Nn_RangeOp : NnOp<"range"> {
  let summary = "start, start + delta, ... below (above, for a negative delta) limit";
  let description = [{
    Constraints: range_c1: the operands are scalars of one type. range_c2: delta is not zero. range_c3: they have numbers.
  }];
  let arguments = (ins NnTensor:$start, NnTensor:$limit, NnTensor:$delta);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Range", 11>];
  let lowering = "fold";
  let flops = "Dim(0)";
}
