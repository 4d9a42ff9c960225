// RUN: lathe-opt %s --infer-shapes --twin | FileCheck %s

// Result types follow from the operands, the function's type from what it returns.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> tensor<1x4x6x6xf32>
// CHECK: nn.relu {{.*}} -> tensor<1x4x6x6xf32>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x4x6x6xf32>) -> tensor<?x?x?x?xf32> {
  %y = nn.relu %x : (tensor<1x4x6x6xf32>) -> tensor<?x?x?x?xf32>
  return %y : tensor<?x?x?x?xf32>
}

// -----

// Shape arithmetic whose outcome is known becomes a constant even when the batch is not known.
// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = nn.constant {value = dense<[3, 8]> : tensor<2xi64>}
// CHECK: return %[[C]]
// CHECK: twin: equal
func.func @main(%x: tensor<?x3x8x8xf32> {nn.dims = ["N", "3", "8", "8"]}) -> tensor<2xi64> {
  %s = nn.shape %x {start = 1 : i64, end = 3 : i64} : (tensor<?x3x8x8xf32>) -> tensor<2xi64>
  return %s : tensor<2xi64>
}
