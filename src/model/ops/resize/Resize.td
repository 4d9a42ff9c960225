include "ops/Base.td"

def Nn_ResizeOp : NnOp<"resize", [AttrSizedOperandSegments]> {
  let summary = "x resampled to other extents: nearest, linear or cubic";
  let description = [{
    `sizes` (extents of y, one an axis; -1 keeps the extent of x) or `scales` (y = floor(x * scale)) are given; an operand
    without elements counts as absent. Where both are, sizes are the extents, x * scale rounded down or to the nearest, and scales say
    which positions of x are sampled: so bind-extents writes computed scales, and the importer one scale for all axes that keep their
    aspect ratio. Beside the operands scales_in and sizes_in, `scales` has the scales that are known, and 0 elsewhere. roi (starts, then ends, in [0, 1] of each axis) is used by coordinate_mode
    "tf_crop_and_resize" only.

    mode: "nearest", "linear", "cubic". coordinate_mode, from an output position to an input position: "half_pixel",
    "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize".
    nearest_mode: "round_prefer_floor", "round_prefer_ceil", "floor", "ceil".

    Constraints: resize_c1: sizes or scales are given; both agree. resize_c2: it has one value an axis. resize_c3: sizes are
    positive, -1 or the extent of x, scales positive and finite. resize_c4: the modes are those named. resize_c5: roi has two values an axis with
    tf_crop_and_resize. resize_c6: x has numbers. resize_c7: an axis is not empty unless its size is 0 or copied.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$roi_in, Optional<NnTensor>:$scales_in, Optional<NnTensor>:$sizes_in,
    NnStr<"nearest">:$mode, NnStr<"half_pixel">:$coordinate_mode, NnStr<"round_prefer_floor">:$nearest_mode,
    NnF64s<>:$roi, NnF64s<>:$scales, NnI64s<>:$sizes,
    NnF64<"-0.75">:$cubic_coeff_a, NnBool<"false">:$exclude_outside, NnF64<"0.0">:$extrapolation_value, NnBool<"false">:$antialias);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"roi_in", "roi">, StaticOperand<"scales_in", "scales">, StaticOperand<"sizes_in", "sizes">];
  let mappings = [Onnx<"Resize", 10, 10, 0>, Onnx<"Resize", 11, 17, 1, ["coordinate_transformation_mode=coordinate_mode"]>,
    Onnx<"Resize", 18, 1000, 0>, Onnx<"Upsample", 7, 9, 0>];
  let lowering = "resize";
  let flops = "product(out[0]->dims) * (a.mode == \"nearest\" ? 0 : a.mode == \"linear\" ? 7 : 28)";
  let tolerance = "1e-5";
  let benchmarkAxes = ["batch", "channels", "height", "width", "outHeight", "outWidth", "mode"];
}
