// RUN: lathe-opt %s --simplify --twin | FileCheck %s

// Bounds one after the other.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.clip %arg0 {max = 6.000000e+00 : f64, min = 0.000000e+00 : f64
// CHECK-NEXT: return
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = nn.relu %x : (tensor<64xf32>) -> tensor<64xf32>
  %b = nn.clip %a {min = -1.0 : f64, max = 6.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64xf32>) -> tensor<64xf32>
  %c = nn.relu %b : (tensor<64xf32>) -> tensor<64xf32>
  return %c : tensor<64xf32>
}

// -----

// Reshapes and transposes that undo one another.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: return %arg0
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %a = nn.reshape %x {shape = array<i64: 6, 4>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %b = nn.transpose %a {perm = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %c = nn.transpose %b {perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %d = nn.reshape %c {shape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  return %d : tensor<2x3x4xf32>
}

// -----

// With a symbolic batch too.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.reshape %arg0 {{{.*}}shape = array<i64: -1, 12>
// CHECK-NEXT: return
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<?x3x4xf32> {nn.dims = ["N", "3", "4"]}) -> tensor<?x12xf32> {
  %a = nn.reshape %x {shape = array<i64: 0, 4, 3>} : (tensor<?x3x4xf32>) -> tensor<?x4x3xf32>
  %b = nn.reshape %a {shape = array<i64: 0, -1>} : (tensor<?x4x3xf32>) -> tensor<?x12xf32>
  return %b : tensor<?x12xf32>
}

// -----

// Moving an axis of extent 1 moves nothing.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: return
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<2x1x4xf32>) -> tensor<1x2x4xf32> {
  %a = nn.transpose %x {perm = array<i64: 1, 0, 2>} : (tensor<2x1x4xf32>) -> tensor<1x2x4xf32>
  return %a : tensor<1x2x4xf32>
}

// -----

// Neutral arithmetic, casts to the same type, splits that are put together again.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: return %arg0
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %zero = nn.constant {value = dense<0.0> : tensor<6xf32>} : tensor<6xf32>
  %a = nn.mul %one, %x : (tensor<f32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = nn.add %a, %zero : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %c = nn.cast %b {to = f32} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %d:2 = nn.split %c {axis = 1 : i64, sizes = array<i64: 2, 4>} : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x4xf32>)
  %e = nn.concat %d#0, %d#1 {axis = -1 : i64} : (tensor<4x2xf32>, tensor<4x4xf32>) -> tensor<4x6xf32>
  return %e : tensor<4x6xf32>
}

// -----

// 1 - x is not x.
// CHECK-LABEL: func.func @main
// CHECK: nn.sub
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %a = nn.sub %zero, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// A pool over the whole image is a reduction.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.reduce_mean %arg0 {axes = array<i64: 2, 3>}
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<2x3x7x5xf32>) -> tensor<2x3x1x1xf32> {
  %a = nn.average_pool %x {kernel = array<i64: 7, 5>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x7x5xf32>) -> tensor<2x3x1x1xf32>
  return %a : tensor<2x3x1x1xf32>
}

// -----

// A concat inside a concat, and the split of a concat.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.concat %arg0, %arg1, %arg0 {axis = 1 : i64}
// CHECK-NEXT: return %{{.*}}, %arg1
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x2xf32>) -> (tensor<2x8xf32>, tensor<2x2xf32>) {
  %a = nn.concat %x, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
  %b = nn.concat %a, %x {axis = 1 : i64} : (tensor<2x5xf32>, tensor<2x3xf32>) -> tensor<2x8xf32>
  %c = nn.concat %x, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
  %d:2 = nn.split %c {axis = 1 : i64, sizes = array<i64: 3, 2>} : (tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x2xf32>)
  return %b, %d#1 : tensor<2x8xf32>, tensor<2x2xf32>
}

// -----

// A gather of one index is a slice.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: [[S:%.*]] = nn.slice %arg0 {{.*}}starts = array<i64: 2>
// CHECK-NEXT: nn.reshape [[S]]
// CHECK-NEXT: return
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<3x2x4xf32>) -> tensor<2x4xf32> {
  %i = nn.constant {value = dense<-1> : tensor<i64>} : tensor<i64>
  %a = nn.gather %x, %i {axis = 0 : i64} : (tensor<3x2x4xf32>, tensor<i64>) -> tensor<2x4xf32>
  return %a : tensor<2x4xf32>
}

// -----

// A gather of all elements in order is its operand.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: return %arg0
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %i = nn.constant {value = dense<[0, -2, 2]> : tensor<3xi64>} : tensor<3xi64>
  %a = nn.gather %x, %i {axis = 0 : i64} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return %a : tensor<3x2xf32>
}

// -----

// A slice of a slice reads the first one's operand, also along the same axis in steps.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = nn.slice %arg0 {axes = array<i64: 1, 2>, ends = array<i64: 8, 5>, {{.*}}starts = array<i64: 3, 1>, steps = array<i64: 4, 1>} : (tensor<?x9x6xf32>) -> tensor<?x2x4xf32>
// CHECK-NEXT: return %[[A]]
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<?x9x6xf32> {nn.dims = ["N", "9", "6"]}) -> tensor<?x2x4xf32> {
  %a = nn.slice %x {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: 1>, ends = array<i64: 9>, axes = array<i64: 1>, steps = array<i64: 2>} : (tensor<?x9x6xf32>) -> tensor<?x4x6xf32>
  %b = nn.slice %a {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: 1, -5>, ends = array<i64: 9, -1>, axes = array<i64: 1, 2>, steps = array<i64: 2, 1>} : (tensor<?x4x6xf32>) -> tensor<?x2x4xf32>
  return %b : tensor<?x2x4xf32>
}

// -----

// The number of elements, which is 0, does not tell an open extent: reshapes and transposes of axes of extent 1 stay.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = nn.transpose %arg0
// CHECK-NEXT: %[[B:.*]] = nn.reshape %arg0
// CHECK-NEXT: %[[C:.*]] = nn.reshape %[[B]]
// CHECK-NEXT: return %[[A]], %[[C]]
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<?x0x3x1xf32> {nn.dims = ["N", "0", "3", "1"]}) -> (tensor<?x1x0x3xf32>, tensor<?x0xf32>) {
  %a = nn.transpose %x {perm = array<i64: 0, 3, 1, 2>} : (tensor<?x0x3x1xf32>) -> tensor<?x1x0x3xf32>
  %b = nn.reshape %x {shape = array<i64: 0, 0, 3>} : (tensor<?x0x3x1xf32>) -> tensor<?x0x3xf32>
  %c = nn.reshape %b {shape = array<i64: 0, 0>} : (tensor<?x0x3xf32>) -> tensor<?x0xf32>
  return %a, %c : tensor<?x1x0x3xf32>, tensor<?x0xf32>
}

// -----

// An extent of transposed axes is read from the value before; more than one stay where they are.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[T:.*]] = nn.transpose %arg0
// CHECK-NEXT: %[[A:.*]] = nn.shape %arg0 {end = 3 : i64, start = 2 : i64}
// CHECK-NEXT: %[[B:.*]] = nn.shape %[[T]]
// CHECK-NEXT: return %[[A]], %[[B]]
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<?x3x?xf32> {nn.dims = ["N", "3", "W"]}) -> (tensor<1xi64>, tensor<2xi64>) {
  %t = nn.transpose %x {perm = array<i64: 0, 2, 1>} : (tensor<?x3x?xf32>) -> tensor<?x?x3xf32>
  %a = nn.shape %t {start = 1 : i64, end = 2 : i64} : (tensor<?x?x3xf32>) -> tensor<1xi64>
  %b = nn.shape %t {start = 0 : i64, end = 2 : i64} : (tensor<?x?x3xf32>) -> tensor<2xi64>
  return %a, %b : tensor<1xi64>, tensor<2xi64>
}
