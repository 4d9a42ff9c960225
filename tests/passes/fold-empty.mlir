// RUN: lathe-opt %s --fold-empty --twin | FileCheck %s

// What has no elements is known, whatever would make it; a sum over nothing needs no operand that runs.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.transpose
// CHECK: %[[E:.*]] = nn.constant {{.*}} : tensor<3x0xf32>
// CHECK: nn.reduce_sum %[[E]]
// CHECK: twin: equal
func.func @main(%x: tensor<0x3xf32>) -> tensor<3x1xf32> {
  %a = nn.transpose %x {perm = array<i64: 1, 0>} : (tensor<0x3xf32>) -> tensor<3x0xf32>
  %b = nn.relu %a : (tensor<3x0xf32>) -> tensor<3x0xf32>
  %c = nn.reduce_sum %b {axes = array<i64: 1>} : (tensor<3x0xf32>) -> tensor<3x1xf32>
  return %c : tensor<3x1xf32>
}

// -----

// The past of a model that has none yet.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: return %arg1
// CHECK: twin: equal
func.func @main(%past: tensor<1x0x8xf32>, %now: tensor<1x1x8xf32>) -> tensor<1x1x8xf32> {
  %a = nn.concat %past, %now {axis = 1 : i64} : (tensor<1x0x8xf32>, tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  return %a : tensor<1x1x8xf32>
}

// -----

// The run may refuse what the operator gets.
// CHECK-LABEL: func.func @main
// CHECK: nn.expand %arg0
// CHECK: twin: equal
func.func @main(%x: tensor<?x0xf32>) -> tensor<2x0xf32> {
  %y = nn.expand %x {shape = array<i64: 2, 1>} : (tensor<?x0xf32>) -> tensor<2x0xf32>
  return %y : tensor<2x0xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: nn.concat %arg0, %arg2 :
// CHECK: twin: equal
func.func @main(%a: tensor<2xf32>, %b: tensor<0xf32>, %c: tensor<3xf32>) -> tensor<5xf32> {
  %y = nn.concat %a, %b, %c {axis = 0 : i64} : (tensor<2xf32>, tensor<0xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}
