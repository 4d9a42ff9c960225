// RUN: lathe-opt %s --conv-transpose --twin | FileCheck %s

// Kernel and stride equal: one 1x1 convolution, then the phases side by side.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.conv_transpose
// CHECK: %[[C:.*]] = nn.conv %{{.*}} : (tensor<1x2x3x4xf32>, tensor<12x2x1x1xf32>, tensor<12xf32>) -> tensor<1x12x3x4xf32>
// CHECK: nn.depth_to_space %[[C]] {block_size = 2 : i64{{.*}}}
// CHECK-NOT: nn.slice
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x2x3x4xf32>) -> tensor<1x3x6x8xf32> {
  %w = nn.constant {value = dense<[[[[1., 2.], [3., 4.]], [[5., 6.], [7., 8.]], [[9., 10.], [11., 12.]]], [[[13., 14.], [15., 16.]], [[17., 18.], [19., 20.]], [[21., 22.], [23., 24.]]]]> : tensor<2x3x2x2xf32>} : tensor<2x3x2x2xf32>
  %b = nn.constant {value = dense<[0.5, 1.5, 2.5]> : tensor<3xf32>} : tensor<3xf32>
  %y = nn.conv_transpose %x, %w, %b {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, output_padding = array<i64: 0, 0>} : (tensor<1x2x3x4xf32>, tensor<2x3x2x2xf32>, tensor<3xf32>) -> tensor<1x3x6x8xf32>
  return %y : tensor<1x3x6x8xf32>
}

// -----

// Kernel 4, stride 2, pad 1: every weight is used; the result is cut at both ends. The activation is the convolution's epilogue.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv %{{.*}}pads = array<i64: 1, 1, 1, 1>{{.*}} -> tensor<?x4x6x6xf32>
// CHECK: nn.relu %{{.*}} : (tensor<?x4x6x6xf32>)
// CHECK: nn.depth_to_space
// CHECK: nn.slice
// CHECK: twin: equal (max rel
func.func @main(%x: tensor<?x1x5x5xf32> {nn.dims = ["N", "1", "5", "5"]}) -> tensor<?x1x10x10xf32> {
  %w = nn.constant {value = dense<[[[[1., 2., -3., 4.], [5., 6., 7., 8.], [-9., 10., 11., 12.], [13., 14., 15., -16.]]]]> : tensor<1x1x4x4xf32>} : tensor<1x1x4x4xf32>
  %y = nn.conv_transpose %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, output_padding = array<i64: 0, 0>} : (tensor<?x1x5x5xf32>, tensor<1x1x4x4xf32>) -> tensor<?x1x10x10xf32>
  %r = nn.relu %y : (tensor<?x1x10x10xf32>) -> tensor<?x1x10x10xf32>
  return %r : tensor<?x1x10x10xf32>
}

// -----

// Stride 1: the kernel turned round, dilation kept, padding completed; groups stay.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.constant
// CHECK-NEXT: nn.constant
// CHECK-NEXT: nn.conv %{{.*}}dilations = array<i64: 2>, group = 2 : i64, pads = array<i64: 3, 4>
// CHECK-NEXT: return
// CHECK: twin: equal (max rel
func.func @main(%x: tensor<1x2x7xf32>) -> tensor<1x4x10xf32> {
  %w = nn.constant {value = dense<[[[1., 2., 3.], [4., 5., 6.]], [[7., 8., 9.], [-1., -2., -4.]]]> : tensor<2x2x3xf32>} : tensor<2x2x3xf32>
  %y = nn.conv_transpose %x, %w {strides = array<i64: 1>, dilations = array<i64: 2>, pads = array<i64: 1, 0>, output_padding = array<i64: 0>, group = 2 : i64} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x4x10xf32>
  return %y : tensor<1x4x10xf32>
}

// -----

// Kernel 3, stride 2: even positions have two taps, odd ones one. No weight is added for the second.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = nn.conv {{.*}}pads = array<i64: 1, 1>{{.*}}tensor<1x1x2xf32>
// CHECK: %[[B:.*]] = nn.conv {{.*}}pads = array<i64: 0, 1>{{.*}}tensor<1x1x1xf32>
// CHECK: nn.concat %{{.*}}, %{{.*}} {axis = 1 : i64}
// CHECK: twin: equal (max rel
func.func @main(%x: tensor<1x1x4xf32>) -> tensor<1x1x9xf32> {
  %w = nn.constant {value = dense<[[[1., 2., 3.]]]> : tensor<1x1x3xf32>} : tensor<1x1x3xf32>
  %y = nn.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, output_padding = array<i64: 0>} : (tensor<1x1x4xf32>, tensor<1x1x3xf32>) -> tensor<1x1x9xf32>
  return %y : tensor<1x1x9xf32>
}

// -----

// Stride 3, kernel 2: the third phase has no tap, but a bias.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv {{.*}} -> tensor<1x2x4xf32>
// CHECK: nn.pad
// CHECK: nn.add
// CHECK: twin: equal (max rel
func.func @main(%x: tensor<1x1x4xf32>) -> tensor<1x1x11xf32> {
  %w = nn.constant {value = dense<[[[1., 2.]]]> : tensor<1x1x2xf32>} : tensor<1x1x2xf32>
  %b = nn.constant {value = dense<0.5> : tensor<1xf32>} : tensor<1xf32>
  %y = nn.conv_transpose %x, %w, %b {strides = array<i64: 3>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, output_padding = array<i64: 0>} : (tensor<1x1x4xf32>, tensor<1x1x2xf32>, tensor<1xf32>) -> tensor<1x1x11xf32>
  return %y : tensor<1x1x11xf32>
}

// -----

// Weights that are computed stay with the reference.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv_transpose
// CHECK: twin: equal
func.func @main(%x: tensor<1x2x7xf32>, %w: tensor<2x2x3xf32>) -> tensor<1x2x9xf32> {
  %y = nn.conv_transpose %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, output_padding = array<i64: 0>} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x2x9xf32>
  return %y : tensor<1x2x9xf32>
}
