include "ops/Base.td"

// y = f over some axes, which become 1 (keepdims) or vanish. No axes: all of them, or none with noop_with_empty_axes.
class Nn_Reduce<string mnemonic, string onnxOp, list<Mapping> others = []> : NnOp<mnemonic> {
  let description = [{
    Constraints: reduce_c1: axes are in [-rank, rank), none twice; without keepdims their number is
    known. reduce_c2: x has numbers.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$axes_in, NnI64s<>:$axes, NnBool<"true">:$keepdims, NnBool<"false">:$noop_with_empty_axes);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"axes_in", "axes">];
  let mappings = !listconcat([Onnx<onnxOp>], others);
  let inferFunction = "inferReduce";
  let lowering = "reduction";
  let flops = "product(in[0]->dims)";
  let tolerance = "1e-5";
  let benchmarkAxes = ["shape", "axes"];
}

def Nn_ReduceSumOp : Nn_Reduce<"reduce_sum", "ReduceSum", [Keras<["ops.Sum", "tf.math.reduce_sum"]>]> {
  let summary = "sum over axes";
}

def Nn_ReduceMeanOp : Nn_Reduce<"reduce_mean", "ReduceMean"> {
  let summary = "arithmetic mean over axes";
  let mappings = [Onnx<"ReduceMean">, Onnx<"GlobalAveragePool", 1, 1000, 0>,
    Keras<["ops.Mean", "tf.math.reduce_mean"]>];
}

def Nn_ReduceMaxOp : Nn_Reduce<"reduce_max", "ReduceMax"> {
  let summary = "maximum over axes";
  let mappings = [Onnx<"ReduceMax">, Onnx<"GlobalMaxPool", 1, 1000, 0>, Keras<["ops.Max", "tf.math.reduce_max"]>];
}

def Nn_ReduceMinOp : Nn_Reduce<"reduce_min", "ReduceMin", [Keras<["ops.Min", "tf.math.reduce_min"]>]> {
  let summary = "minimum over axes";
}

def Nn_ReduceProdOp : Nn_Reduce<"reduce_prod", "ReduceProd", [Keras<["ops.Prod", "tf.math.reduce_prod"]>]> {
  let summary = "product over axes";
  let inferFunction = "";
}

def Nn_ReduceL1Op : Nn_Reduce<"reduce_l1", "ReduceL1"> {
  let summary = "sum of absolute values over axes";
}

def Nn_ReduceL2Op : Nn_Reduce<"reduce_l2", "ReduceL2"> {
  let summary = "square root of the sum of squares over axes";
}

def Nn_ReduceSumSquareOp : Nn_Reduce<"reduce_sum_square", "ReduceSumSquare"> {
  let summary = "sum of squares over axes";
}

def Nn_ReduceLogSumOp : Nn_Reduce<"reduce_log_sum", "ReduceLogSum"> {
  let summary = "logarithm of the sum over axes";
}

def Nn_ReduceLogSumExpOp : Nn_Reduce<"reduce_log_sum_exp", "ReduceLogSumExp"> {
  let summary = "logarithm of the sum of exponentials over axes";
}

// i64 position of an extreme value along one axis.
class Nn_ArgExtreme<string mnemonic, string onnxOp> : NnOp<mnemonic> {
  let description = [{
    Constraints: arg_c1: axis is in [-rank, rank). arg_c2: x has numbers. arg_c3: the axis is not empty.
  }];
  let arguments = (ins NnTensor:$x, NnI64<"0">:$axis, NnBool<"true">:$keepdims, NnBool<"false">:$select_last_index);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<onnxOp>];
  let inferFunction = "inferArgExtreme";
  let flops = "product(in[0]->dims)";
  let lowering = "scan";
  let benchmarkAxes = ["shape", "axis"];
}

def Nn_ArgMaxOp : Nn_ArgExtreme<"arg_max", "ArgMax"> {
  let summary = "position of the first (or last) maximum along an axis";
}

def Nn_ArgMinOp : Nn_ArgExtreme<"arg_min", "ArgMin"> {
  let summary = "position of the first (or last) minimum along an axis";
}
