// RUN: lathe-opt %s --static-operands --infer-shapes --dead-code --twin | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.constant
// CHECK: nn.slice %{{[^,]*}} {axes = array<i64: 1>, {{.*}}starts = array<i64: 1>
// CHECK-SAME: -> tensor<2x2xf32>
// CHECK: twin: equal
func.func @main(%x: tensor<2x4xf32>) -> tensor<?x?xf32> {
  %starts = nn.constant {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
  %ends = nn.constant {value = dense<3> : tensor<1xi64>} : tensor<1xi64>
  %axes = nn.constant {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
  %y = nn.slice %x, %starts, %ends, %axes {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (tensor<2x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// A target that repeats the symbolic batch needs no operand: 0 copies it.
// CHECK-LABEL: func.func @main
// CHECK: nn.reshape %arg0 {{{.*}}shape = array<i64: 0, 12>}
// CHECK-SAME: (tensor<?x3x4xf32>) -> tensor<?x12xf32>
// CHECK: twin: equal
func.func @main(%x: tensor<?x3x4xf32> {nn.dims = ["N", "3", "4"]}) -> tensor<?x?xf32> {
  %n = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?x3x4xf32>) -> tensor<1xi64>
  %rest = nn.constant {value = dense<12> : tensor<1xi64>} : tensor<1xi64>
  %target = nn.concat %n, %rest {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %y = nn.reshape %x, %target : (tensor<?x3x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// An operand that is computed at run time stays.
// CHECK-LABEL: func.func @main
// CHECK: nn.clip %arg0, %arg1
// CHECK: twin: equal
func.func @main(%x: tensor<4xf32>, %low: tensor<f32>) -> tensor<4xf32> {
  %y = nn.clip %x, %low {max = 6.0 : f64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Sizes that repeat the symbolic batch: -1 keeps it. As PyTorch exports F.interpolate(x, size=(6, 8)).
// CHECK-LABEL: func.func @main
// CHECK: nn.resize %arg0 {{{.*}}sizes = array<i64: -1, 3, 6, 8>}
// CHECK-SAME: (tensor<?x3x4x4xf32>) -> tensor<?x3x6x8xf32>
// CHECK: twin: equal
func.func @main(%x: tensor<?x3x4x4xf32> {nn.dims = ["N", "3", "4", "4"]}) -> tensor<?x?x?x?xf32> {
  %shape = nn.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x3x4x4xf32>) -> tensor<2xi64>
  %extents = nn.constant {value = dense<[6, 8]> : tensor<2xi64>} : tensor<2xi64>
  %sizes = nn.concat %shape, %extents {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %y = nn.resize %x, %sizes {mode = "linear", operandSegmentSizes = array<i32: 1, 0, 0, 1>} : (tensor<?x3x4x4xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  return %y : tensor<?x?x?x?xf32>
}
