// RUN: lathe-opt %s --fold-pad --twin | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.pad
// CHECK: nn.conv {{.*}}pads = array<i64: 1, 2, 4, 0>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x1x6x6xf32>) -> tensor<1x1x9x6xf32> {
  %w = nn.constant {value = dense<0.5> : tensor<1x1x3x3xf32>} : tensor<1x1x3x3xf32>
  %p = nn.pad %x {pads = array<i64: 0, 0, 0, 1, 0, 0, 3, 0>, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x1x6x6xf32>) -> tensor<1x1x9x7xf32>
  %y = nn.conv %p, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 0>} : (tensor<1x1x9x7xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x9x6xf32>
  return %y : tensor<1x1x9x6xf32>
}

// -----

// Zeros never win among non-negative elements; the pad may not hide a whole window.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.pad
// CHECK: nn.max_pool {{.*}}pads = array<i64: 1, 1, 1, 1>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32> {
  %r = nn.relu %x : (tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32>
  %p = nn.pad %r {pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x2x6x6xf32>) -> tensor<1x2x8x8xf32>
  %y = nn.max_pool %p {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}

// -----

// They do win among negative ones.
// CHECK-LABEL: func.func @main
// CHECK: nn.pad
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32> {
  %p = nn.pad %x {pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x2x6x6xf32>) -> tensor<1x2x8x8xf32>
  %y = nn.max_pool %p {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}

// -----

// Padding that was averaged is counted.
// CHECK-LABEL: func.func @main
// CHECK: nn.average_pool {{.*}}count_include_pad = true{{.*}}pads = array<i64: 1, 1, 1, 1>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32> {
  %p = nn.pad %x {pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x2x6x6xf32>) -> tensor<1x2x8x8xf32>
  %y = nn.average_pool %p {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}
