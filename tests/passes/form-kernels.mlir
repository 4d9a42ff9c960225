// RUN: lathe-opt %s --form-kernels --twin | FileCheck %s
// RUN: lathe-opt %s --form-kernels -O 1 --twin | FileCheck %s --check-prefix=O1
// RUN: lathe-opt %s --form-kernels --decline contraction --twin | FileCheck %s --check-prefix=DECLINED

// A convolution takes bias, activation and residual sum; hard-swish written with two operators as well.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @contraction
// CHECK-NEXT: return
// CHECK: func.func private @contraction({{.*}}) -> {{.*}} attributes {nn.family = "contraction"}
// CHECK: nn.conv
// CHECK-NEXT: nn.hard_sigmoid
// CHECK-NEXT: nn.mul
// CHECK-NEXT: return
// CHECK: func.func private @contraction_1(%{{.*}}: tensor<?x4x6x6xf32> {nn.dims = ["N", "4", "6", "6"]}, %{{.*}}: tensor<4x4x3x3xf32> {nn.constant}
// CHECK: nn.conv
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.relu
// CHECK: twin: equal (max rel 0.0e+00)
// O1-COUNT-2: nn.family = "contraction"
// O1: nn.family = "elementwise"
// O1: twin: equal
// DECLINED-LABEL: func.func @main
// DECLINED: nn.conv {{.*}}nn.reason = "declined on request"
// DECLINED: call @elementwise
// DECLINED: nn.conv
// DECLINED: nn.family = "elementwise"
// DECLINED: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<?x4x6x6xf32> {nn.dims = ["N", "4", "6", "6"]}) -> tensor<?x4x6x6xf32> {
  %w = nn.constant {value = dense<0.25> : tensor<4x4x3x3xf32>} : tensor<4x4x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<?x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<?x4x6x6xf32>
  %b = nn.hard_sigmoid %a : (tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %c = nn.mul %a, %b : (tensor<?x4x6x6xf32>, tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %d = nn.conv %c, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<?x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<?x4x6x6xf32>
  %e = nn.add %x, %d : (tensor<?x4x6x6xf32>, tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %f = nn.relu %e : (tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  return %f : tensor<?x4x6x6xf32>
}

// -----

// A value used elsewhere ends the kernel; what depends on it through another kernel cannot join.
// CHECK-LABEL: func.func @main
// CHECK: call @contraction(
// CHECK: call @softmax
// CHECK: call @elementwise
// CHECK: twin: equal (max rel 0.0e+00)
// O1: twin: equal
// DECLINED: twin: equal
func.func @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = nn.constant {value = dense<[[0.5, 2.0], [1.25, -1.0]]> : tensor<2x2xf32>} : tensor<2x2xf32>
  %a = nn.gemm %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %b = nn.softmax %a {axis = 1 : i64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %c = nn.mul %a, %b : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %c : tensor<3x2xf32>
}

// -----

// An element-wise DAG with both branches, broadcasting, and a scalar that moves into the kernel.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @elementwise(%arg0, %arg1)
// CHECK-NEXT: return
// CHECK: func.func private @elementwise
// CHECK-NEXT: nn.constant {value = dense<2.000000e+00>
// CHECK: twin: equal (max rel 0.0e+00)
// O1: twin: equal
// DECLINED: twin: equal
func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<3x1xf32>) -> tensor<2x3x4xf32> {
  %two = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %a = nn.sigmoid %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %b = nn.tanh %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %c = nn.mul %a, %y : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  %d = nn.pow %c, %two : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %e = nn.add %b, %d : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %e : tensor<2x3x4xf32>
}

// -----

// What has no kernel stays, with the reason; a reshape stays as a view.
// CHECK-LABEL: func.func @main
// CHECK: nn.det {{.*}}nn.reason = "the operator has no compiled form"
// CHECK: nn.reshape
// CHECK-NOT: nn.reason
// CHECK: twin: equal (max rel 0.0e+00)
// O1: twin: equal
// DECLINED: twin: equal
func.func @main(%x: tensor<2x3x3xf32>) -> tensor<2x1xf32> {
  %a = nn.det %x : (tensor<2x3x3xf32>) -> tensor<2xf32>
  %b = nn.reshape %a {shape = array<i64: 2, 1>} : (tensor<2xf32>) -> tensor<2x1xf32>
  return %b : tensor<2x1xf32>
}

// -----

// A declined kernel in blocked layout is tried between conversions, then left to the reference.
// DECLINED: func.func @main
// DECLINED: call @movement
// DECLINED: nn.conv {{.*}}nn.reason = "declined on request"
// DECLINED: call @movement
// DECLINED: twin: equal
// CHECK-LABEL: func.func @main
// CHECK: twin: equal
// O1: twin: equal
func.func @main(%x: tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32> {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x1x1xf32>} : tensor<16x16x1x1xf32>
  %a = nn.convert_layout %x : tensor<1x16x6x6xf32> -> tensor<1x16x6x6xf32, #nn.blocked<1, 16>>
  %b = nn.conv %a, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x6x6xf32, #nn.blocked<1, 16>>, tensor<16x16x1x1xf32>) -> tensor<1x16x6x6xf32, #nn.blocked<1, 16>>
  %c = nn.convert_layout %b : tensor<1x16x6x6xf32, #nn.blocked<1, 16>> -> tensor<1x16x6x6xf32>
  return %c : tensor<1x16x6x6xf32>
}

// -----

// Expanded to an open batch, as class tokens and initial states are: the argument that has the extent comes along.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.reason
// CHECK: call @movement{{.*}}(%arg0, %arg1)
// CHECK: func.func private @movement
// CHECK: nn.shape %arg0
// CHECK: nn.concat
// CHECK: nn.expand %arg1
// CHECK: twin: equal (max rel 0.0e+00)
// O1: twin: equal
// DECLINED: twin: equal
func.func @main(%x: tensor<?x4x3xf32> {nn.dims = ["N", "4", "3"]}, %token: tensor<1x1x3xf32>) -> (tensor<?x5x3xf32>, tensor<?x2xf32>) {
  %n = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?x4x3xf32>) -> tensor<1xi64>
  %rest = nn.constant {value = dense<[1, 3]> : tensor<2xi64>} : tensor<2xi64>
  %target = nn.concat %n, %rest {axis = 0 : i64} : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
  %t = nn.expand %token, %target : (tensor<1x1x3xf32>, tensor<3xi64>) -> tensor<?x1x3xf32>
  %y = nn.concat %t, %x {axis = 1 : i64} : (tensor<?x1x3xf32>, tensor<?x4x3xf32>) -> tensor<?x5x3xf32>
  %two = nn.constant {value = dense<2> : tensor<1xi64>} : tensor<1xi64>
  %pair = nn.concat %n, %two {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %zeros = nn.constant_of_shape %pair {type = f32, value = 0.5 : f64} : (tensor<2xi64>) -> tensor<?x2xf32>
  return %y, %zeros : tensor<?x5x3xf32>, tensor<?x2xf32>
}

// -----

// An extent that is computed with is stored by a kernel, which is told it.
// CHECK-LABEL: func.func @main
// CHECK: [[S:%.*]] = call @{{.*}}(%arg0) : (tensor<?x4xf32>) -> tensor<2xi64>
// CHECK-NOT: nn.shape
// CHECK: return
// CHECK: func.func private
// CHECK: nn.shape %arg0
// CHECK: twin: equal (max rel 0.0e+00)
// O1: twin: equal
// DECLINED: twin: equal
func.func @main(%x: tensor<?x4xf32> {nn.dims = ["N", "4"]}) -> tensor<?x4xf32> {
  %s = nn.shape %x : (tensor<?x4xf32>) -> tensor<2xi64>
  %n = nn.reduce_prod %s {axes = array<i64: 0>, keepdims = false} : (tensor<2xi64>) -> tensor<i64>
  %f = nn.cast %n {to = f32} : (tensor<i64>) -> tensor<f32>
  %y = nn.div %x, %f : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// Attention takes the views around it; the reshapes at both ends are no work and stay.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: [[H:%.*]] = nn.reshape %arg0
// CHECK-NEXT: [[C:%.*]] = call @{{.*}}([[H]]) : (tensor<2x5x3x4x8xf32>) -> tensor<2x5x4x8xf32>
// CHECK-NEXT: [[Y:%.*]] = nn.reshape [[C]]
// CHECK-NEXT: return [[Y]]
// CHECK: nn.transpose
// CHECK: nn.split
// CHECK: nn.attention
// CHECK: nn.transpose
// CHECK: twin: equal (max rel 0.0e+00)
// O1: twin: equal
// DECLINED: twin: equal
func.func @main(%x: tensor<2x5x96xf32>) -> tensor<2x5x32xf32> {
  %h = nn.reshape %x {shape = array<i64: 2, 5, 3, 4, 8>} : (tensor<2x5x96xf32>) -> tensor<2x5x3x4x8xf32>
  %t = nn.transpose %h {perm = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x5x3x4x8xf32>) -> tensor<3x2x4x5x8xf32>
  %p:3 = nn.split %t {axis = 0 : i64, sizes = array<i64: 1, 1, 1>} : (tensor<3x2x4x5x8xf32>) -> (tensor<1x2x4x5x8xf32>, tensor<1x2x4x5x8xf32>, tensor<1x2x4x5x8xf32>)
  %q = nn.reshape %p#0 {shape = array<i64: 2, 4, 5, 8>} : (tensor<1x2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %k = nn.reshape %p#1 {shape = array<i64: 2, 4, 5, 8>} : (tensor<1x2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %v = nn.reshape %p#2 {shape = array<i64: 2, 4, 5, 8>} : (tensor<1x2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %a = nn.attention %q, %k, %v {scale = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %b = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x4x5x8xf32>) -> tensor<2x5x4x8xf32>
  %y = nn.reshape %b {shape = array<i64: 2, 5, 32>} : (tensor<2x5x4x8xf32>) -> tensor<2x5x32xf32>
  return %y : tensor<2x5x32xf32>
}

// -----

// A concatenation takes the slices it joins.
// CHECK-LABEL: func.func @main
// CHECK: call @
// CHECK-NOT: call @
// CHECK: nn.family = "movement"
// CHECK: nn.slice
// CHECK: nn.slice
// CHECK: nn.concat
// CHECK: twin: equal (max rel 0.0e+00)
// O1: twin: equal
// DECLINED: twin: equal
func.func @main(%x: tensor<2x6x3xf32>) -> tensor<2x6x3xf32> {
  %a = nn.slice %x {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: 2>, ends = array<i64: 6>, axes = array<i64: 1>, steps = array<i64: 1>} : (tensor<2x6x3xf32>) -> tensor<2x4x3xf32>
  %b = nn.slice %x {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: 0>, ends = array<i64: 2>, axes = array<i64: 1>, steps = array<i64: 1>} : (tensor<2x6x3xf32>) -> tensor<2x2x3xf32>
  %c = nn.concat %a, %b {axis = 1 : i64} : (tensor<2x4x3xf32>, tensor<2x2x3xf32>) -> tensor<2x6x3xf32>
  return %c : tensor<2x6x3xf32>
}

// -----

// A depthwise convolution and the pointwise one that alone reads what is computed from it are one kernel.
// CHECK-LABEL: func.func @main
// CHECK: call @contraction(
// CHECK-NEXT: return
// CHECK: func.func private @contraction(
// CHECK: nn.conv
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.relu
// CHECK-NEXT: return
// CHECK: twin: equal (max rel 0.0e+00)
// O1: twin: equal
// DECLINED: twin: equal
func.func @main(%x: tensor<2x4x6x6xf32>) -> tensor<2x8x3x3xf32> {
  %w = nn.constant {value = dense<0.25> : tensor<4x1x3x3xf32>} : tensor<4x1x3x3xf32>
  %v = nn.constant {value = dense<0.5> : tensor<8x4x1x1xf32>} : tensor<8x4x1x1xf32>
  %a = nn.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 4 : i64} : (tensor<2x4x6x6xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x3x3xf32>
  %b = nn.relu %a : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %c = nn.conv %b, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<2x4x3x3xf32>, tensor<8x4x1x1xf32>) -> tensor<2x8x3x3xf32>
  %d = nn.relu %c : (tensor<2x8x3x3xf32>) -> tensor<2x8x3x3xf32>
  return %d : tensor<2x8x3x3xf32>
}

// -----

// Not where something else reads it.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @contraction
// CHECK: twin: equal (max rel 0.0e+00)
// O1: twin: equal
// DECLINED: twin: equal
func.func @main(%x: tensor<2x4x6x6xf32>) -> (tensor<2x8x6x6xf32>, tensor<2x4x6x6xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<4x1x3x3xf32>} : tensor<4x1x3x3xf32>
  %v = nn.constant {value = dense<0.5> : tensor<8x4x1x1xf32>} : tensor<8x4x1x1xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 4 : i64} : (tensor<2x4x6x6xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x6x6xf32>
  %b = nn.conv %a, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<2x4x6x6xf32>, tensor<8x4x1x1xf32>) -> tensor<2x8x6x6xf32>
  return %b, %a : tensor<2x8x6x6xf32>, tensor<2x4x6x6xf32>
}

// -----

// An operand of f16 that a square product takes as f32 is converted before it: inside, no kernel could be made of it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.constant
// CHECK-NEXT: %[[A:.*]] = call @elementwise(%arg0)
// CHECK-NEXT: call @contraction(%[[A]], %{{.*}}, %arg1)
// CHECK: func.func private @contraction(
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.add
// CHECK-NEXT: return
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<4x4xf16>, %r: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %w = nn.constant {value = dense<0.25> : tensor<4x4xf16>} : tensor<4x4xf16>
  %a = nn.cast %x {to = f32} : (tensor<4x4xf16>) -> tensor<4x4xf32>
  %b = nn.matmul %a, %w : (tensor<4x4xf32>, tensor<4x4xf16>) -> tensor<4x4xf32>
  %c = nn.add %b, %r : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}
