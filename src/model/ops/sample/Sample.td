include "ops/Base.td"

// Operators that read or write elements at positions off the grid of x.

def Nn_GridSampleOp : NnOp<"grid_sample"> {
  let summary = "x interpolated at the positions in grid";
  let description = [{
    x: N x C x spatial..., grid: N x out... x rank of the space, coordinates last axis of x first, -1 to 1 across the extent (centres of the first and
    last elements with align_corners, otherwise the outer edges). mode "linear", "nearest" (half to even) or "cubic" (coefficient -0.75, rank 2 only);
    padding_mode "zeros", "border" or "reflection" outside. Result: N x C x out....

    Constraints: grid_sample_c1: x has rank 4 or 5 and grid the same. grid_sample_c2: batches agree, grid's last extent is x's spatial rank.
    grid_sample_c3: modes are among those named. grid_sample_c4: both are floating-point. grid_sample_c5: x has an element.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$grid, NnStr<"linear">:$mode, NnStr<"zeros">:$padding_mode, NnBool<"false">:$align_corners);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"GridSample", 16, 1000, 0>];
  let flops = "product(out[0]->dims) * 8";
  let lowering = "indexed";
  let tolerance = "1e-5";
}

def Nn_RoiAlignOp : NnOp<"roi_align"> {
  let summary = "each region of x pooled to one size with bilinear sampling";
  let description = [{
    x: N x C x H x W, rois: R x 4 of x1, y1, x2, y2 (times spatial_scale: pixels), batch_indices: R. Result: R x C x output_height x output_width.
    mode "avg" or "max" of the samples of a bin, sampling_ratio each way (0: ceil of the bin's extent). coordinate_mode "half_pixel" subtracts half a pixel,
    "output_half_pixel" does not and makes every region at least one pixel.

    Constraints: roi_align_c1: x has rank 4, rois is R x 4, batch_indices R integers. roi_align_c2: output extents are positive, sampling_ratio is not
    negative. roi_align_c3: modes are among those named. roi_align_c4: x and rois are of one float type. roi_align_c5: x has pixels.
    A batch index outside [0, N), or a coordinate of 1e9 pixels and more, is an error of the run.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$rois, NnTensor:$batch_indices, NnStr<"avg">:$mode, NnStr<"half_pixel">:$coordinate_mode,
    NnI64<"1">:$output_height, NnI64<"1">:$output_width, NnI64<"0">:$sampling_ratio, NnF64<"1.0">:$spatial_scale);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"RoiAlign", 10, 1000, 0>];
  let lowering = "indexed";
  let tolerance = "1e-5";
}

def Nn_MaxPoolIndicesOp : NnOp<"max_pool_indices"> {
  let summary = "flat i64 position in x of each maximum of max_pool";
  let description = [{
    Attributes, extents and constraints as for max_pool. The position counts row-major, or with column_major (ONNX's storage_order) the first spatial axis
    fastest within a plane. Of equal elements the first; the first NaN wins.
  }];
  let arguments = (ins NnTensor:$x, NnI64s<>:$kernel, NnI64s<>:$strides, NnI64s<>:$pads, NnI64s<>:$dilations, NnBool<"false">:$ceil_mode,
    NnBool<"false">:$column_major);
  let results = (outs NnTensor:$indices);
  let flops = "out[0]->dims[0] * out[0]->dims[1] * poolTaps(*in[0], *out[0], a.kernel, a.strides, a.dilations, a.pads, a.ceil_mode)";
  let lowering = "indexed";
}

def Nn_MaxUnpoolOp : NnOp<"max_unpool"> {
  let summary = "zeros, with every element of x at its position in indices (from max_pool)";
  let description = [{
    Result extents: output_shape_in where given, otherwise (in - 1) * stride - pads + kernel.

    Constraints: max_unpool_c1: x has rank 3 to 5, indices are i64 of its extents. max_unpool_c2: kernel and strides have one value a spatial axis, pads
    two; the first two are positive, pads not negative. max_unpool_c3: output_shape_in holds rank extents, batch and channels those of x.
    max_unpool_c4: no extent is negative. A position outside the result is an error of the run.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$indices, Optional<NnTensor>:$output_shape_in, NnI64s<>:$kernel, NnI64s<>:$strides, NnI64s<>:$pads,
    NnI64s<>:$output_shape);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"output_shape_in", "output_shape">];
  let mappings = [Onnx<"MaxUnpool", 9, 1000, 0>];
  let lowering = "indexed";
  let flops = "Dim(0)";
}

def Nn_Col2ImOp : NnOp<"col2im", [AttrSizedOperandSegments]> {
  let summary = "sliding blocks added back into the image that they were cut from";
  let description = [{
    x: N x C*block x L, L the number of block positions. Result: N x C x image.... Block positions as those of a convolution over the image.

    Constraints: col2im_c1: x has rank 3. col2im_c2: image and block have one value a spatial axis, at least one, positive. col2im_c3: strides and
    dilations likewise, pads two. col2im_c4: the block's elements divide x's second extent. col2im_c5: L is the number of positions. col2im_c6: x has
    numbers.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$image_in, Optional<NnTensor>:$block_in, NnI64s<>:$image, NnI64s<>:$block,
    NnI64s<>:$dilations, NnI64s<>:$pads, NnI64s<>:$strides);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"image_in", "image">, StaticOperand<"block_in", "block">];
  let mappings = [Onnx<"Col2Im", 18, 1000, 0>];
  let lowering = "indexed";
  let flops = "product(in[0]->dims)";
}

def Nn_DetOp : NnOp<"det"> {
  let summary = "determinant of every matrix";
  let description = [{
    Constraints: det_c1: x has at least rank 2 and its last two extents agree. det_c2: x is floating-point.
  }];
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Det", 11>];
  let flops = "product(in[0]->dims)";
  let tolerance = "1e-5";
}
