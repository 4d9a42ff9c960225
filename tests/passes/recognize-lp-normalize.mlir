// RUN: lathe-opt %s --recognize-lp-normalize --twin | FileCheck %s

// PyTorch's normalize.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.lp_normalize %arg0 {axis = 1 : i64, epsilon = {{1.000000e-12|9.99[0-9]*E-13}} : f64
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %n = nn.reduce_l2 %x {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %c = nn.clip %n {min = 1.0e-12 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %e = nn.expand %c {shape = array<i64: 4, 8>} : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %y = nn.div %x, %e : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// TensorFlow's l2_normalize; without a limit it stays as it is.
// CHECK-LABEL: func.func @main
// CHECK: nn.lp_normalize %arg0 {axis = 1 : i64, epsilon = {{1.0[0-9]*E-6|9.99[0-9]*E-7}}
// CHECK-NOT: nn.lp_normalize
// CHECK: nn.div
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %eps = nn.constant {value = dense<1.0e-12> : tensor<f32>} : tensor<f32>
  %q = nn.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = nn.reduce_sum %q {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %m = nn.max %s, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r = nn.sqrt %m : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %i = nn.reciprocal %r : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %y = nn.mul %x, %i : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %n = nn.reduce_l2 %y {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %z = nn.div %y, %n : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
