include "ops/Base.td"

// y = f over a sliding window of the spatial axes.
class Nn_Pool<string mnemonic, string onnxOp> : NnOp<mnemonic> {
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<onnxOp, 1, 1000, 0>];
  let lowering = "pool";
  let flops = "out[0]->dims[0] * out[0]->dims[1] * poolTaps(*in[0], *out[0], a.kernel, a.strides, a.dilations, a.pads, a.ceil_mode)";
  let benchmarkAxes = ["batch", "channels", "height", "width", "kernel", "stride", "pad"];
}

def Nn_MaxPoolOp : Nn_Pool<"max_pool", "MaxPool"> {
  let summary = "maximum over a sliding window of the spatial axes";
  let description = [{
    x: N x C x spatial.... out = floordiv(in + padBegin + padEnd - (dilation * (kernel - 1) + 1), stride) + 1, rounded up
    instead when ceil_mode, then less the windows that would start in the end padding. Padding never wins. A third group of pads as for conv.

    Constraints: pool_c1: rank of x is 3 to 5. pool_c2: kernel, strides and dilations have one value a spatial axis, pads
    two (all begins, then all ends) or three. pool_c3: kernel, strides and dilations are positive, pads are not negative.
    pool_c4: a pad is less than the dilated kernel. pool_c5: the dilated kernel fits into the padded input, with ceil_mode
    into that and stride - 1 elements behind it. pool_c6: x has numbers.
  }];
  let arguments = (ins NnTensor:$x, NnI64s<>:$kernel, NnI64s<>:$strides, NnI64s<>:$pads, NnI64s<>:$dilations, NnBool<"false">:$ceil_mode);
}

def Nn_AveragePoolOp : Nn_Pool<"average_pool", "AveragePool"> {
  let summary = "mean over a sliding window of the spatial axes";
  let description = [{
    Extents and constraints as for max_pool. The divisor is the number of elements of the window that lie inside x or, with
    count_include_pad, inside x and its explicit padding (never what ceil_mode adds beyond).
  }];
  let arguments = (ins NnTensor:$x, NnI64s<>:$kernel, NnI64s<>:$strides, NnI64s<>:$pads, NnI64s<>:$dilations, NnBool<"false">:$ceil_mode,
    NnBool<"false">:$count_include_pad);
}
