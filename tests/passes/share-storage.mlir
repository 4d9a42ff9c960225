// RUN: lathe-opt %s --optimize-graph --form-kernels --twin | FileCheck %s
// RUN: lathe-opt %s --optimize-graph --form-kernels -O 1 --twin | FileCheck %s --check-prefix=O1

// The kernels of both halves write into the result.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @
// CHECK: %[[B:.*]] = call @
// CHECK: %[[C:.*]] = nn.concat %[[A]], %[[B]] {axis = 1 : i64, nn.in_place}
// CHECK: call @{{.*}}(%[[C]]
// CHECK-NOT: nn.concat
// CHECK: twin: equal
// O1-NOT: nn.in_place
// O1: nn.family = "movement"
// O1: twin: equal
func.func @main(%x: tensor<1x16x6x6xf32>) -> tensor<1x48x3x3xf32> {
  %w = nn.constant {value = dense<0.25> : tensor<32x16x1x1xf32>} : tensor<32x16x1x1xf32>
  %v = nn.constant {value = dense<0.5> : tensor<16x16x1x1xf32>} : tensor<16x16x1x1xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x6x6xf32>, tensor<32x16x1x1xf32>) -> tensor<1x32x6x6xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x6x6xf32>
  %c = nn.concat %a, %b {axis = 1 : i64} : (tensor<1x32x6x6xf32>, tensor<1x16x6x6xf32>) -> tensor<1x48x6x6xf32>
  %y = nn.max_pool %c {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x48x6x6xf32>) -> tensor<1x48x3x3xf32>
  return %y : tensor<1x48x3x3xf32>
}

// -----

// DenseNet's form: each concatenation lists all parts again, and is the beginning of the next.
// CHECK-LABEL: func.func @main
// CHECK: %[[AB:.*]] = nn.concat %[[A:.*]], %[[B:.*]] {nn.in_place}
// CHECK: %[[C:.*]] = call @{{.*}}(%[[AB]])
// CHECK: nn.concat %[[AB]], %[[C]] {nn.in_place}
// CHECK-NOT: nn.concat
// CHECK: twin: equal
func.func @main(%x: tensor<4x16xf32>) -> tensor<16x16xf32> {
  %a = nn.relu %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = nn.sigmoid %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %ab = nn.concat %a, %b {axis = 0 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %c = nn.softmax %ab {axis = 1 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %abc = nn.concat %a, %b, %c {axis = 0 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  return %abc : tensor<16x16xf32>
}

// -----

// Arguments, results and parts used twice live elsewhere; a batch cuts the parts into pieces: all are copied.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.in_place
// CHECK: twin: equal
func.func @main(%x: tensor<2x16xf32>) -> (tensor<2x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<2x32xf32>) {
  %a = nn.relu %x : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %s = nn.softmax %x {axis = 1 : i64} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %t = nn.softmax %s {axis = 1 : i64} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %0 = nn.concat %x, %s {axis = 0 : i64} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %1 = nn.concat %a, %s {axis = 0 : i64} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %2 = nn.concat %s, %s {axis = 0 : i64} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %3 = nn.concat %s, %t {axis = 1 : i64} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x32xf32>
  return %a, %0, %1, %2, %3 : tensor<2x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<2x32xf32>
}

// -----

// Slices and splits of whole rows are read where they lie; one that is returned, or begins between multiples of 64 bytes, is copied.
// CHECK-LABEL: func.func @main
// CHECK: nn.split {{.*}}nn.in_place
// CHECK: nn.slice {{.*}}nn.in_place
// CHECK-NOT: nn.in_place
// CHECK: twin: equal
func.func @main(%x: tensor<6x16xf32>, %z: tensor<6x15xf32>) -> (tensor<3x16xf32>, tensor<2x16xf32>, tensor<2x15xf32>) {
  %a:2 = nn.split %x {axis = 0 : i64, sizes = array<i64: 3, 3>} : (tensor<6x16xf32>) -> (tensor<3x16xf32>, tensor<3x16xf32>)
  %b = nn.softmax %a#0 {axis = 1 : i64} : (tensor<3x16xf32>) -> tensor<3x16xf32>
  %c = nn.softmax %a#1 {axis = 1 : i64} : (tensor<3x16xf32>) -> tensor<3x16xf32>
  %d = nn.add %b, %c : (tensor<3x16xf32>, tensor<3x16xf32>) -> tensor<3x16xf32>
  %e = nn.slice %d {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: -2>, ends = array<i64: 3>, axes = array<i64: 0>, steps = array<i64: 1>} : (tensor<3x16xf32>) -> tensor<2x16xf32>
  %f = nn.softmax %e {axis = 1 : i64} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %g = nn.slice %z {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: 1>, ends = array<i64: 3>, axes = array<i64: 0>, steps = array<i64: 1>} : (tensor<6x15xf32>) -> tensor<2x15xf32>
  %h = nn.softmax %g {axis = 1 : i64} : (tensor<2x15xf32>) -> tensor<2x15xf32>
  return %d, %f, %h : tensor<3x16xf32>, tensor<2x16xf32>, tensor<2x15xf32>
}
