include "ops/Base.td"

// Operators that process one axis in order.
class Nn_Running<string mnemonic, string onnxOp, int since> : NnOp<mnemonic> {
  let description = [{
    exclusive: without the element itself. reverse: from the end. Constraints: running_c1: x has at least rank 1 and axis is in [-rank, rank).
    running_c2: x has numbers. running_c3: axis_in has one element.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$axis_in, NnI64<"0">:$axis, NnBool<"false">:$exclusive, NnBool<"false">:$reverse);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"axis_in", "axis">];
  let mappings = [Onnx<onnxOp, since>];
  let inferFunction = "inferRunning";
  let lowering = "scan";
  let benchmarkAxes = ["shape", "axis"];
}

def Nn_CumSumOp : Nn_Running<"cum_sum", "CumSum", 11> {
  let summary = "cumulative sum along an axis";
}

def Nn_CumProdOp : Nn_Running<"cum_prod", "CumProd", 26> {
  let summary = "cumulative product along an axis";
}

def Nn_TopKOp : NnOp<"top_k"> {
  let summary = "the k greatest (or least) elements along an axis and their positions";
  let description = [{
    In falling (rising) order; of equal ones the first comes first. A NaN counts as greater than every number. `sorted` is kept for other
    runtimes: the order is the same without it.

    Constraints: top_k_c1: x has at least rank 1 and axis is in [-rank, rank). top_k_c2: x has numbers. top_k_c3: k is in [0, extent of the axis].
    top_k_c4: k_in has one element.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$k_in, NnI64<"0">:$k, NnI64<"-1">:$axis, NnBool<"true">:$largest, NnBool<"true">:$sorted);
  let results = (outs NnTensor:$values, NnTensor:$indices);
  let staticOperands = [StaticOperand<"k_in", "k">];
  let mappings = [Onnx<"TopK", 1, 1000, 0>];
  let lowering = "scan";
  let benchmarkAxes = ["shape", "axis", "k"];
}
