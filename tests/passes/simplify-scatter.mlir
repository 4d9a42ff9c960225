// RUN: lathe-opt %s --simplify --twin | FileCheck %s

// Positions that are alike in every slice are positions of slices.
// CHECK: %[[COLUMN:.*]] = nn.reshape {{.*}}-> tensor<3x1xi64>
// CHECK: nn.scatter_nd %arg0, %[[COLUMN]], %arg1 {{.*}}reduction = "add"
// Of a part of a slice they are not, nor along another axis.
// CHECK: nn.scatter_elements
// CHECK: nn.scatter_elements
// CHECK: twin: equal
func.func @main(%x: tensor<5x2x4xf32>, %u: tensor<3x2x4xf32>, %v: tensor<3x2x3xf32>,
    %w: tensor<5x1x4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) {
  %zero = nn.constant {value = dense<0> : tensor<3x1x1xi64>} : tensor<3x1x1xi64>
  %i = nn.constant {value = dense<[[[4]], [[0]], [[4]]]> : tensor<3x1x1xi64>} : tensor<3x1x1xi64>
  %0 = nn.expand %i {shape = array<i64: 1, 2, 4>} : (tensor<3x1x1xi64>) -> tensor<3x2x4xi64>
  %y = nn.scatter_elements %x, %0, %u {reduction = "add"} : (tensor<5x2x4xf32>, tensor<3x2x4xi64>, tensor<3x2x4xf32>) -> tensor<5x2x4xf32>
  %1 = nn.expand %zero {shape = array<i64: 1, 2, 3>} : (tensor<3x1x1xi64>) -> tensor<3x2x3xi64>
  %z = nn.scatter_elements %x, %1, %v : (tensor<5x2x4xf32>, tensor<3x2x3xi64>, tensor<3x2x3xf32>) -> tensor<5x2x4xf32>
  %one = nn.constant {value = dense<1> : tensor<1x1x1xi64>} : tensor<1x1x1xi64>
  %2 = nn.expand %one {shape = array<i64: 5, 1, 4>} : (tensor<1x1x1xi64>) -> tensor<5x1x4xi64>
  %q = nn.scatter_elements %x, %2, %w {axis = 1 : i64} : (tensor<5x2x4xf32>, tensor<5x1x4xi64>, tensor<5x1x4xf32>) -> tensor<5x2x4xf32>
  return %y, %z, %q : tensor<5x2x4xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>
}
