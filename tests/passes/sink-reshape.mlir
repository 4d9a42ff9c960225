// RUN: lathe-opt %s --sink-reshape --simplify --twin | FileCheck %s

// Bias, activation and residual follow the product in its own shape.
// CHECK-LABEL: func.func @main
// CHECK: [[P:%.*]] = nn.matmul
// CHECK: [[A:%.*]] = nn.add [[P]], {{.*}} -> tensor<6x8xf32>
// CHECK: [[B:%.*]] = nn.tanh [[A]]
// CHECK: [[R:%.*]] = nn.reshape %arg1
// CHECK: [[C:%.*]] = nn.add [[B]], [[R]]{{.*}} -> tensor<6x8xf32>
// CHECK: [[Y:%.*]] = nn.reshape [[C]]
// CHECK: return [[Y]]
// CHECK: twin: equal
func.func @main(%x: tensor<6x4xf32>, %r: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %w = nn.constant {value = dense<0.5> : tensor<4x8xf32>} : tensor<4x8xf32>
  %b = nn.constant {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>} : tensor<8xf32>
  %p = nn.matmul %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %v = nn.reshape %p {shape = array<i64: 2, 3, 8>} : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
  %a = nn.add %v, %b : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %t = nn.tanh %a : (tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = nn.add %t, %r : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// A reshaped operand that is broadcast stays where it is.
// CHECK-LABEL: func.func @main
// CHECK: nn.matmul
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: nn.mul
// CHECK: twin: equal
func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %r: tensor<2x8x3x3xf32>) -> tensor<2x8x3x3xf32> {
  %p = nn.matmul %x, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %v = nn.reshape %p {shape = array<i64: 2, 8, 1, 1>} : (tensor<2x8xf32>) -> tensor<2x8x1x1xf32>
  %y = nn.mul %v, %r : (tensor<2x8x1x1xf32>, tensor<2x8x3x3xf32>) -> tensor<2x8x3x3xf32>
  return %y : tensor<2x8x3x3xf32>
}

// -----

// The other operand would get the shape of an empty product, whose open extent its elements do not tell.
// CHECK-LABEL: func.func @main
// CHECK: nn.matmul
// CHECK: nn.add {{.*}} -> tensor<?xf32>
// CHECK: twin: equal
func.func @main(%x: tensor<?x4xf32> {nn.dims = ["N", "4"]}, %w: tensor<4x0xf32>, %e: tensor<?x0xf32> {nn.dims = ["N", "0"]}) -> tensor<?xf32> {
  %p = nn.matmul %x, %w : (tensor<?x4xf32>, tensor<4x0xf32>) -> tensor<?x0xf32>
  %v = nn.reshape %p {shape = array<i64: -1>} : (tensor<?x0xf32>) -> tensor<?xf32>
  %r = nn.reshape %e {shape = array<i64: -1>} : (tensor<?x0xf32>) -> tensor<?xf32>
  %y = nn.add %v, %r : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
