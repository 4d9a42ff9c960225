include "ops/Base.td"

def Nn_ConvOp : NnOp<"conv", []> {
  let summary = "convolution of rank 1 to 3 with groups, strides, dilations and explicit padding";
  let description = [{
    x: N x C x spatial..., w: O x C/group x kernel..., b: O. Result: N x O x out..., with
    out = floordiv(in + padBegin + padEnd - (dilation * (kernel - 1) + 1), stride) + 1.

    A third group of pads makes the padding of an axis follow its extent, as SAME does: 1 where the end has one more of an
    odd padding (SAME_UPPER), -1 where the begin has (SAME_LOWER), 0 where the pads are as stated. The begin and the end are
    the most that any extent takes then, together dilation * (kernel - 1).

    Constraints: conv_c1: rank of x is 3 to 5 and equals rank of w. conv_c2: C = w.dim(1) * group. conv_c3: strides,
    dilations have one value a spatial axis, pads two (all begins, then all ends) or three. conv_c4: group is positive and
    divides O. conv_c5: strides and dilations are positive, pads are not negative, and what follows an extent is as above.
    conv_c6: the dilated kernel fits into the padded input and has at least one tap. conv_c7: b has O elements. conv_c8:
    element types agree and are numbers; beside x of f32, w may be f16.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$w, Optional<NnTensor>:$b,
    NnI64s<>:$strides, NnI64s<>:$dilations, NnI64s<>:$pads, NnI64<"1">:$group);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Conv", 1, 1000, 0>];
  let lowering = "contraction";
  let flops = "out[0]->dims[0] * out[0]->dims[1] * in[1]->dims[1] * convTaps(*in[0], *out[0], std::span(in[1]->dims).subspan(2), a.strides, a.dilations, a.pads) * 2";
  let tolerance = "1e-5";
  let benchmarkAxes = ["batch", "inChannels", "height", "width", "outChannels", "kernel", "stride", "pad", "dilation", "group"];
}

def Nn_ConvTransposeOp : NnOp<"conv_transpose", []> {
  let summary = "transposed convolution of rank 1 to 3: every input element adds a scaled kernel to the result";
  let description = [{
    x: N x C x spatial..., w: C x O/group x kernel..., b: O. Result: N x O x out..., with
    out = (in - 1) * stride + dilation * (kernel - 1) + 1 + output_padding - padBegin - padEnd.

    Compiled as a convolution whose output channels are the phases of the stride (passes/rewrites/ConvTranspose.cpp) where the weights are constant.

    Constraints: conv_transpose_c1: rank of x is 3 to 5 and equals rank of w. conv_transpose_c2: C = w.dim(0). conv_transpose_c3: strides, dilations
    and output_padding have one value a spatial axis, pads two (all begins, then all ends). conv_transpose_c4: group is positive and divides
    C. conv_transpose_c5: strides and dilations are positive, pads and output_padding are not negative. conv_transpose_c6: the kernel has at least one
    tap and the result at least no extent below zero. conv_transpose_c7: b has O elements. conv_transpose_c8: element types agree and are numbers.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$w, Optional<NnTensor>:$b,
    NnI64s<>:$strides, NnI64s<>:$dilations, NnI64s<>:$pads, NnI64s<>:$output_padding, NnI64<"1">:$group);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"ConvTranspose", 1, 1000, 0>];
  let lowering = "fold";
  let flops = "in[0]->dims[0] * in[0]->dims[1] * in[1]->dims[1] * transposedTaps(*in[0], *out[0], std::span(in[1]->dims).subspan(2), a.strides, a.dilations, a.pads) * 2";
  let tolerance = "1e-5";
  let benchmarkAxes = ["batch", "inChannels", "height", "width", "outChannels", "kernel", "stride", "pad", "outputPadding", "dilation", "group"];
}

def Nn_ConvIntegerOp : NnOp<"conv_integer", [AttrSizedOperandSegments]> {
  let summary = "convolution of 8-bit integers minus their zero points, summed in 32 bits";
  let description = [{
    x: N x C x spatial..., w: O x C/group x kernel..., each i8 or u8; x_zero_point has x's type and one value,
    w_zero_point w's type and one value or one an output channel (O). w without w_zero_point may be i16: weights from
    which their zero point was subtracted. Result, i32, of conv's extents: the convolution of
    x - x_zero_point with w - w_zero_point, modulo 2^32; padding is zero after the subtraction.

    Compiled where the weights and their zero points are constant, otherwise as a convolution of 32-bit integers
    (passes/rewrites/WidenInteger.cpp).

    Constraints: conv_integer_c1 to c6 as conv_c1 to c6. conv_integer_c7: zero points have one of the shapes above.
    conv_integer_c8: x and w are i8 or u8 (w without zero point: or i16), zero points of their operand's type.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$w, Optional<NnTensor>:$x_zero_point, Optional<NnTensor>:$w_zero_point,
    NnI64s<>:$strides, NnI64s<>:$dilations, NnI64s<>:$pads, NnI64<"1">:$group);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"ConvInteger", 10, 1000, 0>];
  let lowering = "contraction";
  let flops = "out[0]->dims[0] * out[0]->dims[1] * in[1]->dims[1] * convTaps(*in[0], *out[0], std::span(in[1]->dims).subspan(2), a.strides, a.dilations, a.pads) * 2";
  let tolerance = "0";
  let benchmarkAxes = ["batch", "inChannels", "height", "width", "outChannels", "kernel", "stride", "pad", "dilation", "group"];
}
