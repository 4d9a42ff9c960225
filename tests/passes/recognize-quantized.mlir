// RUN: lathe-opt %s --recognize-quantized --twin | FileCheck %s

// Between dequantise and quantise the sums of integers take one factor; the zero point of the input is in the bias.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv_integer %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {
// CHECK: nn.add %{{.*}}xi32>
// CHECK: nn.cast %{{.*}} {to = f32}
// CHECK: nn.mul
// CHECK-NOT: nn.div
// CHECK: nn.round
// CHECK: twin: equal
func.func @main(%x: tensor<1x4x3x3xui8>) -> tensor<1x2x3x3xui8> {
  %w = nn.constant {value = dense<[[[[1]], [[-2]], [[3]], [[127]]], [[[5]], [[6]], [[-7]], [[0]]]]> : tensor<2x4x1x1xi8>} : tensor<2x4x1x1xi8>
  %sx = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %zx = nn.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
  %sw = nn.constant {value = dense<[[[[0.25]]], [[[0.125]]]]> : tensor<2x1x1x1xf32>} : tensor<2x1x1x1xf32>
  %sy = nn.constant {value = dense<4.0> : tensor<f32>} : tensor<f32>
  %zy = nn.constant {value = dense<17.0> : tensor<f32>} : tensor<f32>
  %0 = nn.cast %x {to = f32} : (tensor<1x4x3x3xui8>) -> tensor<1x4x3x3xf32>
  %1 = nn.sub %0, %zx : (tensor<1x4x3x3xf32>, tensor<f32>) -> tensor<1x4x3x3xf32>
  %2 = nn.mul %1, %sx : (tensor<1x4x3x3xf32>, tensor<f32>) -> tensor<1x4x3x3xf32>
  %3 = nn.cast %w {to = f32} : (tensor<2x4x1x1xi8>) -> tensor<2x4x1x1xf32>
  %4 = nn.mul %3, %sw : (tensor<2x4x1x1xf32>, tensor<2x1x1x1xf32>) -> tensor<2x4x1x1xf32>
  %5 = nn.conv %2, %4 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x3x3xf32>
  %6 = nn.div %5, %sy : (tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %7 = nn.round %6 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %8 = nn.add %7, %zy : (tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %9 = nn.clip %8 {min = 0.0 : f64, max = 255.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %10 = nn.cast %9 {to = ui8} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xui8>
  return %10 : tensor<1x2x3x3xui8>
}

// -----

// A pool between equal scales works on the integers.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.round
// CHECK: nn.max_pool %{{.*}}ui8>
// CHECK: twin: equal
func.func @main(%x: tensor<1x4x4x4xui8>) -> tensor<1x4x2x2xui8> {
  %s = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %z = nn.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
  %0 = nn.cast %x {to = f32} : (tensor<1x4x4x4xui8>) -> tensor<1x4x4x4xf32>
  %1 = nn.sub %0, %z : (tensor<1x4x4x4xf32>, tensor<f32>) -> tensor<1x4x4x4xf32>
  %2 = nn.mul %1, %s : (tensor<1x4x4x4xf32>, tensor<f32>) -> tensor<1x4x4x4xf32>
  %3 = nn.max_pool %2 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x2x2xf32>
  %4 = nn.div %3, %s : (tensor<1x4x2x2xf32>, tensor<f32>) -> tensor<1x4x2x2xf32>
  %5 = nn.round %4 : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %6 = nn.add %5, %z : (tensor<1x4x2x2xf32>, tensor<f32>) -> tensor<1x4x2x2xf32>
  %7 = nn.clip %6 {min = 0.0 : f64, max = 255.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %8 = nn.cast %7 {to = ui8} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xui8>
  return %8 : tensor<1x4x2x2xui8>
}

// -----

// Sums that the model spells out keep both of its roundings: its text, in which constants are folded, gives the same bits.
// CHECK-LABEL: func.func @main
// CHECK: nn.matmul_integer
// CHECK: nn.mul
// CHECK: nn.div
// CHECK: twin: equal
func.func @main(%x: tensor<2x3xui8>) -> tensor<2x2xui8> {
  %w = nn.constant {value = dense<[[1, -2], [3, 127], [5, 6]]> : tensor<3x2xi8>} : tensor<3x2xi8>
  %a = nn.constant {value = dense<5.9999997E-4> : tensor<f32>} : tensor<f32>
  %s = nn.constant {value = dense<0.11> : tensor<f32>} : tensor<f32>
  %z = nn.constant {value = dense<7.0> : tensor<f32>} : tensor<f32>
  %0 = nn.matmul_integer %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<2x3xui8>, tensor<3x2xi8>) -> tensor<2x2xi32>
  %1 = nn.cast %0 {to = f32} : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %2 = nn.mul %1, %a : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %3 = nn.div %2, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = nn.round %3 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = nn.add %4, %z : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %6 = nn.clip %5 {min = 0.0 : f64, max = 255.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %7 = nn.cast %6 {to = ui8} : (tensor<2x2xf32>) -> tensor<2x2xui8>
  return %7 : tensor<2x2xui8>
}
