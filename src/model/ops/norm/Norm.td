include "ops/Base.td"

def Nn_BatchNormOp : NnOp<"batch_norm"> {
  let summary = "(x - mean) / sqrt(var + epsilon) * scale + bias per channel, with given statistics";
  let description = [{
    x: N x C x ..., the others: C elements. Becomes a multiply and an add a channel, or part of the convolution before it.

    Constraints: batch_norm_c1: rank of x is at least 2. batch_norm_c2: scale, bias, mean and var have rank 1 and C
    elements. batch_norm_c3: element types are floating-point.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$scale, NnTensor:$bias, NnTensor:$mean, NnTensor:$var, NnF64<"1e-5">:$epsilon);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"BatchNormalization", 7, 1000, 0>];
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
  let mappings = [Onnx<"LRN">];
  let lowering = "lrn";
  let flops = "product(out[0]->dims) * (Dim(a.size) * 2 + 4)";
  let tolerance = "1e-5";
  let benchmarkAxes = ["batch", "channels", "height", "width", "size"];
}

class Nn_Softmax<string mnemonic, string onnxOp, list<Mapping> others = []> : NnOp<mnemonic> {
  let arguments = (ins NnTensor:$x, NnI64<"-1">:$axis);
  let results = (outs NnTensor:$y);
  let mappings = !listconcat([Onnx<onnxOp, 1, 12, 0>, Onnx<onnxOp, 13>], others);
  let inferFunction = "inferSoftmaxLike";
  let lowering = "softmax";
  let flops = "product(out[0]->dims) * 5";
  let tolerance = "1e-5";
  let benchmarkAxes = ["shape", "axis"];
}

def Nn_SoftmaxOp : Nn_Softmax<"softmax", "Softmax", [TensorFlow<["Softmax"]>]> {
  let summary = "exp(x) over its sum along one axis";
  let description = [{
    Constraints: softmax_c1: axis is in [-rank, rank). softmax_c2: x is floating-point.
  }];
}

def Nn_LogSoftmaxOp : Nn_Softmax<"log_softmax", "LogSoftmax", [TensorFlow<["LogSoftmax"], ["LOG_SOFTMAX"]>]> {
  let summary = "logarithm of softmax";
  let description = [{
    Constraints: those of softmax.
  }];
}

def Nn_HardmaxOp : NnOp<"hardmax"> {
  let summary = "1 at the first greatest element along one axis, 0 elsewhere";
  let description = [{
    Constraints: those of softmax.
  }];
  let arguments = (ins NnTensor:$x, NnI64<"-1">:$axis);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Hardmax", 1, 12, 0>, Onnx<"Hardmax", 13>];
  let lowering = "scan";
  let benchmarkAxes = ["shape", "axis"];
}

// Normalisation of rows to mean 0 and variance 1 (or length 1) by their own statistics.
class Nn_Normalize<string mnemonic> : NnOp<mnemonic> {
  let results = (outs NnTensor:$y);
  let lowering = "normalize";
  let flops = "product(out[0]->dims) * 8";
  let tolerance = "1e-5";
}

def Nn_LayerNormOp : Nn_Normalize<"layer_norm"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over the axes from `axis` on";
  let description = [{
    Mean and variance (of all elements, not one less) are those of the axes from `axis` on, for each index of the axes before.

    Constraints: layer_norm_c1: axis is in [-rank, rank). layer_norm_c2: scale and bias broadcast to the shape of x.
    layer_norm_c3: element types are floating-point and equal.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$scale, Optional<NnTensor>:$bias, NnI64<"-1">:$axis, NnF64<"1e-5">:$epsilon);
  let mappings = [Onnx<"LayerNormalization", 17, 1000, 0>];
  let benchmarkAxes = ["shape", "axis"];
}

def Nn_RmsNormOp : Nn_Normalize<"rms_norm"> {
  let summary = "x / sqrt(mean of squares + epsilon) * scale over the axes from `axis` on";
  let description = [{
    Constraints: layer_norm_c1 to layer_norm_c3.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$scale, NnI64<"-1">:$axis, NnF64<"1e-5">:$epsilon);
  let mappings = [Onnx<"RMSNormalization", 23, 1000, 0>];
  let flops = "product(out[0]->dims) * 4";
  let benchmarkAxes = ["shape", "axis"];
}

def Nn_InstanceNormOp : Nn_Normalize<"instance_norm"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias for each channel of each image";
  let description = [{
    x: N x C x ..., scale and bias: C elements. Mean and variance are those of the axes from 2 on.

    Constraints: instance_norm_c1: rank of x is at least 2. instance_norm_c2: scale and bias have rank 1 and C elements.
    instance_norm_c3: element types are floating-point and equal.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$scale, NnTensor:$bias, NnF64<"1e-5">:$epsilon);
  let mappings = [Onnx<"InstanceNormalization", 6>];
  let inferFunction = "inferChannelNorm";
  let benchmarkAxes = ["batch", "channels", "height", "width"];
}

def Nn_GroupNormOp : Nn_Normalize<"group_norm"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias for each group of channels of each image";
  let description = [{
    x: N x C x ..., scale and bias: C elements. Mean and variance are those of C / num_groups neighbouring channels and the axes from 2 on.

    Constraints: instance_norm_c1 to instance_norm_c3. group_norm_c1: num_groups is positive and divides C.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$scale, NnTensor:$bias, NnI64<"1">:$num_groups, NnF64<"1e-5">:$epsilon);
  let mappings = [Onnx<"GroupNormalization", 18, 20, 0>, Onnx<"GroupNormalization", 21, 1000, 0>];
  let benchmarkAxes = ["batch", "channels", "height", "width", "groups"];
}

def Nn_LpNormalizeOp : Nn_Normalize<"lp_normalize"> {
  let summary = "x / max(norm, epsilon) along one axis; 0 where the norm is 0";
  let description = [{
    The norm is the sum of |x| (p = 1) or the root of the sum of squares (p = 2).

    Constraints: lp_normalize_c1: axis is in [-rank, rank). lp_normalize_c2: p is 1 or 2. lp_normalize_c3: x is floating-point.
  }];
  let arguments = (ins NnTensor:$x, NnI64<"-1">:$axis, NnI64<"2">:$p, NnF64<"0.0">:$epsilon);
  let mappings = [Onnx<"LpNormalization", 1>];
  let flops = "product(out[0]->dims) * 3";
  let benchmarkAxes = ["shape", "axis"];
}
