include "ops/Base.td"

def Nn_ReshapeOp : NnOp<"reshape"> {
  let summary = "the same elements under other extents";
  let description = [{
    `shape` holds the new extents; -1 (at most once) takes what is left, 0 copies the extent of x at that position unless `allow_zero`.
    Flatten, Squeeze and Unsqueeze are reshapes. reshape_c1: element counts agree. reshape_c2: at most one -1. reshape_c3: a copied extent exists.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$shape_in, NnI64s<>:$shape, NnBool<"false">:$allow_zero);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"shape_in", "shape">];
  let onnx = [Onnx<"Reshape", 1, 1000, 0>, Onnx<"Flatten", 1, 1000, 0>, Onnx<"Squeeze", 1, 1000, 0>, Onnx<"Unsqueeze", 1, 1000, 0>];
  let lowering = "view";
  let flops = "Dim(0)";
}
