// RUN: lathe-opt %s --simplify | FileCheck %s
// RUN: not lathe-opt %s --simplify --twin 2>&1 | FileCheck %s --check-prefix=TWIN

// Consecutive and as many as the axis has elements, but the last one is out of range: the gather stays, and whoever
// evaluates it reports the index. simplify.mlir has the indices 0, 1, 2, which fold.
// CHECK-LABEL: func.func @main
// CHECK: nn.gather
// TWIN: index 3 is outside [-3, 3)
func.func @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %i = nn.constant {value = dense<[1, 2, 3]> : tensor<3xi64>} : tensor<3xi64>
  %a = nn.gather %x, %i {axis = 0 : i64} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return %a : tensor<3x2xf32>
}
