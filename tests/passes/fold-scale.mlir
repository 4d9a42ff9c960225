// RUN: lathe-opt %s --fold-scale --dead-code --twin | FileCheck %s
// RUN: lathe-opt %s --fold-scale --dead-code --exact-math --twin | FileCheck %s --check-prefix=EXACT

// A whole chain vanishes.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv
// CHECK-NEXT: return
// CHECK: twin: equal
// EXACT: nn.conv
// EXACT: nn.mul
// EXACT: nn.add
// EXACT: nn.sub
// EXACT: nn.div
// EXACT: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant {value = dense<[[[[0.5]]], [[[1.25]]]]> : tensor<2x1x1x1xf32>} : tensor<2x1x1x1xf32>
  %s = nn.constant {value = dense<[[[1.5]], [[-0.5]]]> : tensor<2x1x1xf32>} : tensor<2x1x1xf32>
  %t = nn.constant {value = dense<[[[[0.25]], [[3.0]]]]> : tensor<1x2x1x1xf32>} : tensor<1x2x1x1xf32>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %a = nn.mul %y, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %b = nn.add %t, %a : (tensor<1x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %c = nn.sub %one, %b : (tensor<f32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %d = nn.div %c, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %d : tensor<1x2x4x4xf32>
}

// -----

// A gemm takes them too.
// CHECK-LABEL: func.func @main
// CHECK: nn.gemm
// CHECK-NEXT: return
// CHECK: twin: equal
// EXACT: twin: equal
func.func @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = nn.constant {value = dense<[[0.5, 2.0], [1.25, -1.0]]> : tensor<2x2xf32>} : tensor<2x2xf32>
  %c = nn.constant {value = dense<[0.5, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %s = nn.constant {value = dense<[1.5, -0.5]> : tensor<2xf32>} : tensor<2xf32>
  %y = nn.gemm %x, %w, %c {alpha = 0.5 : f64, beta = 2.0 : f64, trans_b = true} : (tensor<3x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %a = nn.mul %y, %s : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  return %a : tensor<3x2xf32>
}

// -----

// A convolution with another user keeps its weights; a factor that varies along the width stays.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv
// CHECK: nn.mul
// CHECK: nn.mul
// CHECK: twin: equal (max rel 0.0e+00)
// EXACT: twin: equal
func.func @main(%x: tensor<1x1x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %w = nn.constant {value = dense<[[[[0.5]]], [[[1.25]]]]> : tensor<2x1x1x1xf32>} : tensor<2x1x1x1xf32>
  %s = nn.constant {value = dense<[1.5, -0.5]> : tensor<2xf32>} : tensor<2xf32>
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %a = nn.mul %y, %s : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %b = nn.mul %a, %s : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  return %b, %y : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

// -----

// Neither a divisor of zero nor a factor that takes weights beyond float32 moves into them.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv
// CHECK: nn.div
// CHECK: nn.mul
func.func @main(%x: tensor<1x1x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %w = nn.constant {value = dense<[[[[0.0]]], [[[1.0e30]]]]> : tensor<2x1x1x1xf32>} : tensor<2x1x1x1xf32>
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %big = nn.constant {value = dense<1.0e30> : tensor<f32>} : tensor<f32>
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %a = nn.div %y, %zero : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %z = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %b = nn.mul %z, %big : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  return %a, %b : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}
