// RUN: lathe-opt %s --sink-transpose --simplify --fold-constants --dead-code --twin | FileCheck %s

// Between two convolutions with the channels last nothing is left of the transposes.
// CHECK-LABEL: func.func @main
// CHECK: [[X:%.*]] = nn.transpose %arg0
// CHECK: [[A:%.*]] = nn.conv [[X]]
// CHECK: [[R:%.*]] = nn.relu [[A]]
// CHECK: [[S:%.*]] = nn.mul [[R]], {{.*}} : (tensor<1x4x5x5xf32>, tensor<1x4x1x1xf32>)
// CHECK: [[B:%.*]] = nn.conv [[S]]
// CHECK: [[C:%.*]] = nn.add [[B]], [[S]]
// CHECK: [[Y:%.*]] = nn.transpose [[C]]
// CHECK-NEXT: return [[Y]]
// CHECK: twin: equal
func.func @main(%x: tensor<1x5x5x4xf32>) -> tensor<1x5x5x4xf32> {
  %w = nn.constant {value = dense<0.25> : tensor<4x4x1x1xf32>} : tensor<4x4x1x1xf32>
  %s = nn.constant {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : tensor<4xf32>
  %t = nn.transpose %x {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x5x5x4xf32>) -> tensor<1x4x5x5xf32>
  %a = nn.conv %t, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x5x5xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x5x5xf32>
  %u = nn.transpose %a {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x4x5x5xf32>) -> tensor<1x5x5x4xf32>
  %r = nn.relu %u : (tensor<1x5x5x4xf32>) -> tensor<1x5x5x4xf32>
  %m = nn.mul %r, %s : (tensor<1x5x5x4xf32>, tensor<4xf32>) -> tensor<1x5x5x4xf32>
  %v = nn.transpose %m {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x5x5x4xf32>) -> tensor<1x4x5x5xf32>
  %b = nn.conv %v, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x5x5xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x5x5xf32>
  %d = nn.transpose %b {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x4x5x5xf32>) -> tensor<1x5x5x4xf32>
  %y = nn.add %d, %m : (tensor<1x5x5x4xf32>, tensor<1x5x5x4xf32>) -> tensor<1x5x5x4xf32>
  return %y : tensor<1x5x5x4xf32>
}

// -----

// Axes follow: a concatenation of channels, a pad and a slice of the width, the mean over the image.
// CHECK-LABEL: func.func @main
// CHECK: [[P:%.*]] = nn.max_pool
// CHECK: [[C:%.*]] = nn.concat [[P]], [[P]] {axis = 1 : i64}
// CHECK: [[D:%.*]] = nn.pad [[C]] {{.*}}pads = array<i64: 0, 0, 0, 1, 0, 0, 0, 2>
// CHECK: [[S:%.*]] = nn.slice [[D]] {{.*}}axes = array<i64: 3>
// CHECK: [[M:%.*]] = nn.reduce_mean [[S]] {axes = array<i64: 2, 3>}
// CHECK: nn.reshape [[M]]
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<2x4x6x6xf32>) -> tensor<2x8xf32> {
  %p = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x4x6x6xf32>) -> tensor<2x4x3x3xf32>
  %t = nn.transpose %p {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x4x3x3xf32>) -> tensor<2x3x3x4xf32>
  %c = nn.concat %t, %t {axis = 3 : i64} : (tensor<2x3x3x4xf32>, tensor<2x3x3x4xf32>) -> tensor<2x3x3x8xf32>
  %d = nn.pad %c {operandSegmentSizes = array<i32: 1, 0, 0>, pads = array<i64: 0, 0, 1, 0, 0, 0, 2, 0>} : (tensor<2x3x3x8xf32>) -> tensor<2x3x6x8xf32>
  %s = nn.slice %d {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: 1>, ends = array<i64: 5>, axes = array<i64: 2>, steps = array<i64: 1>} : (tensor<2x3x6x8xf32>) -> tensor<2x3x4x8xf32>
  %m = nn.reduce_mean %s {axes = array<i64: 1, 2>, keepdims = false} : (tensor<2x3x4x8xf32>) -> tensor<2x8xf32>
  return %m : tensor<2x8xf32>
}

// -----

// The weights behind a flattened image take its order.
// CHECK-LABEL: func.func @main
// CHECK: [[P:%.*]] = nn.max_pool
// CHECK: [[S:%.*]] = nn.slice [[P]]
// CHECK: [[R:%.*]] = nn.reshape [[S]]
// CHECK: [[A:%.*]] = nn.gemm [[R]]
// CHECK: [[B:%.*]] = nn.matmul [[R]]
// CHECK: return [[A]], [[B]]
// CHECK: twin: equal
func.func @main(%x: tensor<2x2x3x6xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>) {
  %w = nn.constant {value = dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.5, 2.5, 3.5],
                                   [0.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.5, 8.0, 9.0, 1.5, 2.5, 3.5],
                                   [3.0, 2.0, 1.0, 4.0, 5.0, 6.0, 2.0, 8.0, 1.0, 1.5, 0.0, 3.5]]> : tensor<3x12xf32>} : tensor<3x12xf32>
  %v = nn.constant {value = dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0], [1.5], [2.5], [3.5]]> : tensor<12x1xf32>} : tensor<12x1xf32>
  %p = nn.max_pool %x {kernel = array<i64: 2, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x2x3x6xf32>) -> tensor<2x2x2x6xf32>
  %t = nn.transpose %p {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x2x2x6xf32>) -> tensor<2x2x6x2xf32>
  %s = nn.slice %t {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: 1>, ends = array<i64: 4>, axes = array<i64: 2>, steps = array<i64: 1>} : (tensor<2x2x6x2xf32>) -> tensor<2x2x3x2xf32>
  %r = nn.reshape %s {shape = array<i64: 2, 12>} : (tensor<2x2x3x2xf32>) -> tensor<2x12xf32>
  %a = nn.gemm %r, %w {trans_b = true} : (tensor<2x12xf32>, tensor<3x12xf32>) -> tensor<2x3xf32>
  %b = nn.matmul %r, %v : (tensor<2x12xf32>, tensor<12x1xf32>) -> tensor<2x1xf32>
  return %a, %b : tensor<2x3xf32>, tensor<2x1xf32>
}

// -----

// What was never an image stays as it is.
// CHECK-LABEL: func.func @main
// CHECK: nn.transpose
// CHECK-NEXT: nn.relu
// CHECK: twin: equal
func.func @main(%x: tensor<1x2x3x4xf32>) -> tensor<1x3x4x2xf32> {
  %t = nn.transpose %x {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x2x3x4xf32>) -> tensor<1x3x4x2xf32>
  %r = nn.relu %t : (tensor<1x3x4x2xf32>) -> tensor<1x3x4x2xf32>
  return %r : tensor<1x3x4x2xf32>
}

// -----

// Bytes of a convolution's sums are an image, and so are rows of it.
// CHECK-LABEL: func.func @main
// CHECK: [[Q:%.*]] = nn.requantize
// CHECK: [[G:%.*]] = nn.gather [[Q]]
// CHECK: [[M:%.*]] = nn.max [[G]], [[G]]
// CHECK: [[Y:%.*]] = nn.transpose [[M]]
// CHECK-NEXT: return [[Y]]
// CHECK: twin: equal
func.func @main(%x: tensor<1x4x5x5xi8>) -> tensor<1x3x5x4xi8> {
  %w = nn.constant {value = dense<25> : tensor<4x4x1x1xi8>} : tensor<4x4x1x1xi8>
  %m = nn.constant {value = dense<1500000000> : tensor<i32>} : tensor<i32>
  %s = nn.constant {value = dense<-6> : tensor<i32>} : tensor<i32>
  %i = nn.constant {value = dense<[0, 2, 4]> : tensor<3xi64>} : tensor<3xi64>
  %a = nn.conv_integer %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x4x5x5xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x5x5xi32>
  %q = nn.requantize %a, %m, %s {to = i8} : (tensor<1x4x5x5xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4x5x5xi8>
  %g = nn.gather %q, %i {axis = 2 : i64} : (tensor<1x4x5x5xi8>, tensor<3xi64>) -> tensor<1x4x3x5xi8>
  %t = nn.transpose %g {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x4x3x5xi8>) -> tensor<1x3x5x4xi8>
  %y = nn.max %t, %t : (tensor<1x3x5x4xi8>, tensor<1x3x5x4xi8>) -> tensor<1x3x5x4xi8>
  return %y : tensor<1x3x5x4xi8>
}
