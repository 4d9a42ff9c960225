include "ops/Base.td"

def Nn_BatchNormOp : NnOp<"batch_norm"> {
  let summary = "(x - mean) / sqrt(var + epsilon) * scale + bias a channel, with given statistics";
  let description = [{
    x: N x C x ..., the others: C elements. Becomes a multiply and an add a channel, or part of the convolution before it.

    Constraints: batch_norm_c1: rank of x is at least 2. batch_norm_c2: scale, bias, mean and var have rank 1 and C
    elements. batch_norm_c3: element types are floating-point.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$scale, NnTensor:$bias, NnTensor:$mean, NnTensor:$var, NnF64<"1e-5">:$epsilon);
  let results = (outs NnTensor:$y);
  let onnx = [Onnx<"BatchNormalization", 7, 1000, 0>];
  let lowering = "fold";
  let flops = "product(out[0]->dims) * 2";
  let tolerance = "1e-5";
  let benchmarkAxes = ["batch", "channels", "height", "width"];
}

def Nn_LrnOp : NnOp<"lrn"> {
  let summary = "local response normalisation across channels";
  let description = [{
    y = x / (bias + alpha / size * sum of squares over channels [c - floor((size-1)/2), c + ceil((size-1)/2)]) ^ beta.

    Constraints: lrn_c1: rank of x is at least 2. lrn_c2: size is positive. lrn_c3: x is floating-point.
  }];
  let arguments = (ins NnTensor:$x, NnI64<"1">:$size, NnF64<"0.0001">:$alpha, NnF64<"0.75">:$beta, NnF64<"1.0">:$bias);
  let results = (outs NnTensor:$y);
  let onnx = [Onnx<"LRN">];
  let lowering = "lrn";
  let flops = "product(out[0]->dims) * (Dim(a.size) * 2 + 4)";
  let tolerance = "1e-5";
  let benchmarkAxes = ["batch", "channels", "height", "width", "size"];
}

class Nn_Softmax<string mnemonic, string onnxOp> : NnOp<mnemonic> {
  let arguments = (ins NnTensor:$x, NnI64<"-1">:$axis);
  let results = (outs NnTensor:$y);
  let onnx = [Onnx<onnxOp, 1, 12, 0>, Onnx<onnxOp, 13>];
  let inferFunction = "inferSoftmaxLike";
  let lowering = "softmax";
  let flops = "product(out[0]->dims) * 5";
  let tolerance = "1e-5";
  let benchmarkAxes = ["shape", "axis"];
}

def Nn_SoftmaxOp : Nn_Softmax<"softmax", "Softmax"> {
  let summary = "exp(x) over its sum along one axis";
  let description = [{
    Constraints: softmax_c1: axis is in [-rank, rank). softmax_c2: x is floating-point.
  }];
}

def Nn_LogSoftmaxOp : Nn_Softmax<"log_softmax", "LogSoftmax"> {
  let summary = "logarithm of softmax";
  let description = [{
    Constraints: those of softmax.
  }];
}
