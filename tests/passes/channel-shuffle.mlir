// RUN: lathe-opt %s --channel-shuffle --simplify --twin | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: dense<[0, 3, 1, 4, 2, 5]> : tensor<6xi64>
// CHECK: nn.gather %arg0, {{.*}}axis = 1 : i64
// CHECK-NEXT: return
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<?x6x4x4xf32> {nn.dims = ["N", "6", "4", "4"]}) -> tensor<?x6x4x4xf32> {
  %a = nn.reshape %x {shape = array<i64: 0, 2, 3, 4, 4>} : (tensor<?x6x4x4xf32>) -> tensor<?x2x3x4x4xf32>
  %b = nn.transpose %a {perm = array<i64: 0, 2, 1, 3, 4>} : (tensor<?x2x3x4x4xf32>) -> tensor<?x3x2x4x4xf32>
  %c = nn.reshape %b {shape = array<i64: 0, 6, 4, 4>} : (tensor<?x3x2x4x4xf32>) -> tensor<?x6x4x4xf32>
  return %c : tensor<?x6x4x4xf32>
}

// -----

// The halves of a shuffle are gathered one by one.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: nn.gather %arg0
// CHECK-NOT: nn.split
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x4x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %a = nn.reshape %x {shape = array<i64: 1, 2, 2, 16>} : (tensor<1x4x4x4xf32>) -> tensor<1x2x2x16xf32>
  %b = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x2x2x16xf32>) -> tensor<1x2x2x16xf32>
  %c = nn.reshape %b {shape = array<i64: 1, 4, 4, 4>} : (tensor<1x2x2x16xf32>) -> tensor<1x4x4x4xf32>
  %d:2 = nn.split %c {axis = 1 : i64, sizes = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>)
  return %d#0, %d#1 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}
