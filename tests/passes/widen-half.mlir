// RUN: lathe-opt %s --widen-half | FileCheck %s

// The square may leave float16: it is float32, and its readers compute with it. The root fits again.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = nn.cast %{{.*}} {to = f32} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK: nn.mul {{.*}} -> tensor<4xf32>
// CHECK: %[[R:.*]] = nn.sqrt %{{.*}} -> tensor<4xf32>
// CHECK: %[[Y:.*]] = nn.cast %[[R]] {to = f16}
// CHECK: return %[[Y]]
func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = nn.mul %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %1 = nn.sqrt %0 : (tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// -----

// What stays in range stays float16.
// CHECK-LABEL: func.func @main
// CHECK-NOT: f32
// CHECK: return
func.func @main(%x: tensor<1x4x3x3xf16>, %y: tensor<1x4x3x3xf16>) -> tensor<1x4x3x3xf16> {
  %0 = nn.clip %x {min = 0.0 : f64, max = 6.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x4x3x3xf16>) -> tensor<1x4x3x3xf16>
  %1 = nn.sigmoid %y : (tensor<1x4x3x3xf16>) -> tensor<1x4x3x3xf16>
  %2 = nn.mul %0, %1 : (tensor<1x4x3x3xf16>, tensor<1x4x3x3xf16>) -> tensor<1x4x3x3xf16>
  %w = nn.constant {value = dense<2.0> : tensor<8x4x1x1xf16>} : tensor<8x4x1x1xf16>
  %3 = nn.conv %2, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x3x3xf16>, tensor<8x4x1x1xf16>) -> tensor<1x8x3x3xf16>
  %4 = nn.softmax %3 {axis = 1 : i64} : (tensor<1x8x3x3xf16>) -> tensor<1x8x3x3xf16>
  %5 = nn.slice %4 {starts = array<i64: 0>, ends = array<i64: 4>, axes = array<i64: 1>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>} : (tensor<1x8x3x3xf16>) -> tensor<1x4x3x3xf16>
  return %5 : tensor<1x4x3x3xf16>
}

// -----

// Products of unknown values are float32; their weights stay float16, a bias does not.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W:.*]] = nn.constant {{.*}} : tensor<4x4xf16>
// CHECK-DAG: %[[B:.*]] = nn.constant {{.*}} : tensor<4xf32>
// CHECK: nn.gemm %{{.*}}, %[[W]], %[[B]] : (tensor<2x4xf32>, tensor<4x4xf16>, tensor<4xf32>) -> tensor<2x4xf32>
func.func @main(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  %w = nn.constant {value = dense<2.0> : tensor<4x4xf16>} : tensor<4x4xf16>
  %b = nn.constant {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf16>} : tensor<4xf16>
  %0 = nn.gemm %x, %w, %b : (tensor<2x4xf16>, tensor<4x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  %1 = nn.tanh %0 : (tensor<2x4xf16>) -> tensor<2x4xf16>
  return %1 : tensor<2x4xf16>
}

// -----

// A cast of the model rounds, and so do outputs; a divisor keeps its small digits.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = nn.softmax %{{.*}} -> tensor<2x4xf32>
// CHECK: %[[H:.*]] = nn.cast %[[S]] {to = f16}
// CHECK: nn.log %[[S]] : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: return %[[H]]
func.func @main(%x: tensor<2x4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>) {
  %0 = nn.softmax %x {axis = 1 : i64} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  %1 = nn.log %0 : (tensor<2x4xf16>) -> tensor<2x4xf16>
  return %0, %1 : tensor<2x4xf16>, tensor<2x4xf16>
}

// -----

// Where float32 would take much memory, results of linear operators are numbers of float16, products are not.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv %{{.*}} -> tensor<1x64x256x256xf16>
// CHECK: nn.conv %{{.*}} -> tensor<1x1x256x256xf16>
// CHECK: nn.mul %{{.*}} -> tensor<1x1x256x256xf32>
func.func @main(%x: tensor<1x1x256x256xf16>) -> tensor<1x1x256x256xf16> {
  %v = nn.constant {value = dense<2.0> : tensor<64x1x1x1xf16>} : tensor<64x1x1x1xf16>
  %w = nn.constant {value = dense<2.0> : tensor<1x64x1x1xf16>} : tensor<1x64x1x1xf16>
  %0 = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x1x256x256xf16>, tensor<64x1x1x1xf16>) -> tensor<1x64x256x256xf16>
  %1 = nn.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x64x256x256xf16>, tensor<1x64x1x1xf16>) -> tensor<1x1x256x256xf16>
  %2 = nn.mul %1, %1 : (tensor<1x1x256x256xf16>, tensor<1x1x256x256xf16>) -> tensor<1x1x256x256xf16>
  %3 = nn.sqrt %2 : (tensor<1x1x256x256xf16>) -> tensor<1x1x256x256xf16>
  return %3 : tensor<1x1x256x256xf16>
}
