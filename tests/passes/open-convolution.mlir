// RUN: lathe-opt %s --open-convolution --twin | FileCheck %s

// Stride 2 and padding: nine slices side by side are the rows of a product. The activation is its epilogue.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.conv
// CHECK: nn.pad
// CHECK: nn.transpose
// CHECK-COUNT-9: nn.slice
// CHECK: nn.concat
// CHECK: nn.matmul
// CHECK: nn.add
// CHECK: nn.relu
// CHECK: nn.transpose
// CHECK: twin: equal (max rel
func.func @main(%x: tensor<?x2x?x?xf32> {nn.dims = ["N", "2", "H", "W"]}, %w: tensor<3x2x3x3xf32>, %b: tensor<3xf32>) -> tensor<?x3x?x?xf32> {
  %y = nn.conv %x, %w, %b {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<?x2x?x?xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>) -> tensor<?x3x?x?xf32>
  %r = nn.relu %y : (tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32>
  return %r : tensor<?x3x?x?xf32>
}

// -----

// Depthwise, dilated, padded at one end only: a sum of products. One extent is static.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.conv
// CHECK-NOT: nn.matmul
// CHECK-COUNT-6: nn.mul
// CHECK: twin: equal (max rel
func.func @main(%x: tensor<1x4x?x9xf32> {nn.dims = ["1", "4", "H", "9"]}, %w: tensor<4x1x2x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x?x5xf32> {
  %y = nn.conv %x, %w, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 2>, pads = array<i64: 1, 0, 0, 0>, group = 4 : i64} : (tensor<1x4x?x9xf32>, tensor<4x1x2x3xf32>, tensor<4xf32>) -> tensor<1x4x?x5xf32>
  return %y : tensor<1x4x?x5xf32>
}

// -----

// Two groups along one axis; a 1x1 kernel needs no slice.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.conv
// CHECK-COUNT-2: nn.matmul
// CHECK: nn.concat
// CHECK: twin: equal (max rel
func.func @main(%x: tensor<2x6x?xf32> {nn.dims = ["2", "6", "T"]}, %w: tensor<4x3x1xf32>) -> tensor<2x4x?xf32> {
  %y = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, group = 2 : i64} : (tensor<2x6x?xf32>, tensor<4x3x1xf32>) -> tensor<2x4x?xf32>
  return %y : tensor<2x4x?xf32>
}

// -----

// Static extents stay a convolution, whose code is faster.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<?x2x5x5xf32> {nn.dims = ["N", "2", "5", "5"]}, %w: tensor<3x2x3x3xf32>) -> tensor<?x3x3x3xf32> {
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<?x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<?x3x3x3xf32>
  return %y : tensor<?x3x3x3xf32>
}

// -----

// SAME padding that follows the extents stays a convolution.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv
// CHECK: twin: equal (max rel
func.func @main(%x: tensor<?x2x?x?xf32> {nn.dims = ["N", "2", "H", "W"]}, %w: tensor<3x2x3x3xf32>) -> tensor<?x3x?x?xf32> {
  %y = nn.conv %x, %w {strides = array<i64: 2, 3>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1, 1, -1>} : (tensor<?x2x?x?xf32>, tensor<3x2x3x3xf32>) -> tensor<?x3x?x?xf32>
  return %y : tensor<?x3x?x?xf32>
}

// -----

// Bytes with zero points: the padding is the zero point.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.conv_integer
// CHECK: nn.pad
// CHECK: nn.matmul_integer
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<2x3x?x?xui8> {nn.dims = ["2", "3", "H", "W"]}, %w: tensor<4x3x3x3xi8>) -> tensor<2x4x?x?xi32> {
  %z = nn.constant {value = dense<7> : tensor<ui8>} : tensor<ui8>
  %v = nn.constant {value = dense<-3> : tensor<i8>} : tensor<i8>
  %y = nn.conv_integer %x, %w, %z, %v {operandSegmentSizes = array<i32: 1, 1, 1, 1>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x3x?x?xui8>, tensor<4x3x3x3xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x4x?x?xi32>
  return %y : tensor<2x4x?x?xi32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.conv_integer
// CHECK-COUNT-9: nn.mul
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x4x?x?xi8> {nn.dims = ["1", "4", "H", "W"]}, %w: tensor<4x1x3x3xi8>, %z: tensor<i8>) -> tensor<1x4x?x?xi32> {
  %y = nn.conv_integer %x, %w, %z {operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 4 : i64} : (tensor<1x4x?x?xi8>, tensor<4x1x3x3xi8>, tensor<i8>) -> tensor<1x4x?x?xi32>
  return %y : tensor<1x4x?x?xi32>
}
