// RUN: lathe-opt %s --dead-code --twin | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.relu
// CHECK-NEXT: return
// CHECK-NOT: @unused
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = nn.constant {value = dense<1.0> : tensor<4xf32>} : tensor<4xf32>
  %a = nn.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = nn.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
