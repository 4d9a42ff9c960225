// RUN: lathe-opt %s --lift-transpose --fold-pad --twin | FileCheck %s

// A picture is scaled, shifted and padded with the channels last: the convolution behind takes up the pad.
// CHECK-LABEL: func.func @main
// CHECK: [[X:%.*]] = nn.transpose %arg0 {{.*}} : (tensor<1x5x6x3xui8>) -> tensor<1x3x5x6xui8>
// CHECK: [[F:%.*]] = nn.cast [[X]]
// CHECK: [[S:%.*]] = nn.mul [[F]]
// CHECK: [[B:%.*]] = nn.sub [[S]], {{.*}} : (tensor<1x3x5x6xf32>, tensor<3x1x1xf32>)
// CHECK: nn.conv [[B]], {{.*}}pads = array<i64: 1, 2, 1, 0>
// CHECK-NOT: nn.pad
// CHECK: twin: equal
func.func @main(%x: tensor<1x5x6x3xui8>) -> tensor<1x4x5x6xf32> {
  %w = nn.constant {value = dense<0.25> : tensor<4x3x3x3xf32>} : tensor<4x3x3x3xf32>
  %k = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %m = nn.constant {value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>} : tensor<3xf32>
  %f = nn.cast %x {to = f32} : (tensor<1x5x6x3xui8>) -> tensor<1x5x6x3xf32>
  %s = nn.mul %f, %k : (tensor<1x5x6x3xf32>, tensor<f32>) -> tensor<1x5x6x3xf32>
  %b = nn.sub %s, %m : (tensor<1x5x6x3xf32>, tensor<3xf32>) -> tensor<1x5x6x3xf32>
  %p = nn.pad %b {operandSegmentSizes = array<i32: 1, 0, 0>, pads = array<i64: 0, 1, 2, 0, 0, 1, 0, 0>} : (tensor<1x5x6x3xf32>) -> tensor<1x7x8x3xf32>
  %t = nn.transpose %p {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x7x8x3xf32>) -> tensor<1x3x7x8xf32>
  %y = nn.conv %t, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x3x7x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x5x6xf32>
  return %y : tensor<1x4x5x6xf32>
}

// -----

// What another operator reads, too, stays where it is, and so does what is no constant or has constants of other axes.
// CHECK-LABEL: func.func @main
// CHECK: [[A:%.*]] = nn.add %arg0, %arg1
// CHECK: [[R:%.*]] = nn.relu [[A]]
// CHECK: nn.mul [[R]]
// CHECK: [[T:%.*]] = nn.transpose
// CHECK: twin: equal
func.func @main(%x: tensor<1x3x3x2xf32>, %y: tensor<1x3x3x2xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x3x3x2xf32>, tensor<1x2x3x3xf32>) {
  %k = nn.constant {value = dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>} : tensor<1x3x1xf32>
  %a = nn.add %x, %y : (tensor<1x3x3x2xf32>, tensor<1x3x3x2xf32>) -> tensor<1x3x3x2xf32>
  %r = nn.relu %a : (tensor<1x3x3x2xf32>) -> tensor<1x3x3x2xf32>
  %t = nn.transpose %r {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  %m = nn.mul %r, %k : (tensor<1x3x3x2xf32>, tensor<1x3x1xf32>) -> tensor<1x3x3x2xf32>
  %u = nn.transpose %m {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  return %t, %r, %u : tensor<1x2x3x3xf32>, tensor<1x3x3x2xf32>, tensor<1x2x3x3xf32>
}
