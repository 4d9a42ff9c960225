// RUN: lathe-opt %s --recognize-softmax --twin | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.softmax %arg0 {axis = 1 : i64}
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = nn.reduce_max %x {axes = array<i64: -1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %d = nn.sub %x, %m : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %e = nn.exp %d : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = nn.reduce_sum %e {axes = array<i64: -1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %y = nn.div %e, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Nothing subtracted; then its logarithm's form.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.softmax %arg0 {axis = 0 : i64}
// CHECK-NEXT: nn.log_softmax %{{.*}} {axis = 1 : i64}
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = nn.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = nn.reduce_sum %e {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %y = nn.div %e, %s : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %l = nn.reduce_log_sum_exp %y {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %z = nn.sub %y, %l : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
