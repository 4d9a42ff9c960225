// RUN: lathe-opt %s --assign-layout --channel-block 8 --twin | FileCheck %s

// The first convolution reads row-major and writes blocks; residual and pool stay blocked; the mean writes row-major.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv %arg0, {{.*}} -> tensor<1x16x16x16xf32, #nn.blocked<1, 8>>
// CHECK: nn.conv {{.*}}#nn.blocked<1, 8>>
// CHECK: nn.add {{.*}} -> tensor<1x16x16x16xf32, #nn.blocked<1, 8>>
// CHECK: nn.max_pool {{.*}} -> tensor<1x16x8x8xf32, #nn.blocked<1, 8>>
// CHECK: nn.reduce_mean {{.*}} -> tensor<1x16x1x1xf32>
// CHECK-NEXT: nn.reshape
// CHECK-NOT: nn.convert_layout
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x3x16x16xf32>) -> tensor<1x4xf32> {
  %w1 = nn.constant {value = dense<0.5> : tensor<16x3x3x3xf32>} : tensor<16x3x3x3xf32>
  %w2 = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %w3 = nn.constant {value = dense<0.25> : tensor<16x4xf32>} : tensor<16x4xf32>
  %a = nn.conv %x, %w1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x3x16x16xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x16x16xf32>
  %b = nn.conv %a, %w2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x16x16xf32>
  %c = nn.add %a, %b : (tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  %d = nn.max_pool %c {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x16x16x16xf32>) -> tensor<1x16x8x8xf32>
  %e = nn.reduce_mean %d {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x16x8x8xf32>) -> tensor<1x16x1x1xf32>
  %f = nn.reshape %e {shape = array<i64: 1, 16>} : (tensor<1x16x1x1xf32>) -> tensor<1x16xf32>
  %g = nn.gemm %f, %w3 : (tensor<1x16xf32>, tensor<16x4xf32>) -> tensor<1x4xf32>
  return %g : tensor<1x4xf32>
}

// -----

// Nothing to gain, nothing changed.
// CHECK-LABEL: func.func @main
// CHECK-NOT: blocked
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x4x4xf32>, %y: tensor<1x16x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %a = nn.mul %x, %y : (tensor<1x16x4x4xf32>, tensor<1x16x1x1xf32>) -> tensor<1x16x4x4xf32>
  return %a : tensor<1x16x4x4xf32>
}

// -----

// A concat of whole blocks stays blocked, one that cuts a block is row-major: its convolution writes that directly.
// CHECK-LABEL: func.func @main
// CHECK: nn.concat {{.*}} -> tensor<1x16x32x32xf32, #nn.blocked<1, 8>>
// CHECK: nn.concat {{.*}} -> tensor<1x20x32x32xf32>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x3x32x32xf32>, %s: tensor<1x12x32x32xf32>) -> (tensor<1x8x32x32xf32>, tensor<1x20x32x32xf32>) {
  %w = nn.constant {value = dense<0.5> : tensor<8x3x1x1xf32>} : tensor<8x3x1x1xf32>
  %v = nn.constant {value = dense<0.25> : tensor<8x16x3x3xf32>} : tensor<8x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x3x32x32xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x32x32xf32>
  %b = nn.relu %a : (tensor<1x8x32x32xf32>) -> tensor<1x8x32x32xf32>
  %c = nn.concat %a, %b {axis = 1 : i64} : (tensor<1x8x32x32xf32>, tensor<1x8x32x32xf32>) -> tensor<1x16x32x32xf32>
  %d = nn.conv %c, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x16x32x32xf32>, tensor<8x16x3x3xf32>) -> tensor<1x8x32x32xf32>
  %e = nn.conv %c, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x16x32x32xf32>, tensor<8x16x3x3xf32>) -> tensor<1x8x32x32xf32>
  %f = nn.concat %s, %e {axis = 1 : i64} : (tensor<1x12x32x32xf32>, tensor<1x8x32x32xf32>) -> tensor<1x20x32x32xf32>
  return %d, %f : tensor<1x8x32x32xf32>, tensor<1x20x32x32xf32>
}

// -----

// Between convolutions a concat that cuts a block, and the split behind it, stay blocked; images of one pixel are converted for free.
// CHECK-LABEL: func.func @main
// CHECK: nn.concat {{.*}} -> tensor<1x20x32x32xf32, #nn.blocked<1, 8>>
// CHECK: nn.split {{.*}}#nn.blocked<1, 8>>, tensor<1x10x32x32xf32, #nn.blocked<1, 8>>
// CHECK-NOT: nn.convert_layout
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x3x32x32xf32>) -> tensor<1x10x1x1xf32> {
  %w = nn.constant {value = dense<0.5> : tensor<12x3x1x1xf32>} : tensor<12x3x1x1xf32>
  %v = nn.constant {value = dense<0.25> : tensor<8x12x3x3xf32>} : tensor<8x12x3x3xf32>
  %u = nn.constant {value = dense<0.25> : tensor<10x10x3x3xf32>} : tensor<10x10x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x3x32x32xf32>, tensor<12x3x1x1xf32>) -> tensor<1x12x32x32xf32>
  %b = nn.conv %a, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x12x32x32xf32>, tensor<8x12x3x3xf32>) -> tensor<1x8x32x32xf32>
  %c = nn.concat %a, %b {axis = 1 : i64} : (tensor<1x12x32x32xf32>, tensor<1x8x32x32xf32>) -> tensor<1x20x32x32xf32>
  %d:2 = nn.split %c {axis = 1 : i64, sizes = array<i64: 10, 10>} : (tensor<1x20x32x32xf32>) -> (tensor<1x10x32x32xf32>, tensor<1x10x32x32xf32>)
  %e = nn.conv %d#0, %u {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x10x32x32xf32>, tensor<10x10x3x3xf32>) -> tensor<1x10x32x32xf32>
  %f = nn.add %d#1, %e : (tensor<1x10x32x32xf32>, tensor<1x10x32x32xf32>) -> tensor<1x10x32x32xf32>
  %g = nn.reduce_mean %f {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x10x32x32xf32>) -> tensor<1x10x1x1xf32>
  return %g : tensor<1x10x1x1xf32>
}

// -----

// Phases first (DCR), whole blocks of channels: the interleaving of a transposed convolution moves blocks.
// CHECK-LABEL: func.func @main
// CHECK: nn.depth_to_space {{.*}} : (tensor<1x64x8x8xf32, #nn.blocked<1, 8>>) -> tensor<1x16x16x16xf32, #nn.blocked<1, 8>>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x16x8x8xf32>) -> tensor<1x4x16x16xf32> {
  %w1 = nn.constant {value = dense<0.5> : tensor<64x16x1x1xf32>} : tensor<64x16x1x1xf32>
  %w2 = nn.constant {value = dense<0.25> : tensor<4x16x3x3xf32>} : tensor<4x16x3x3xf32>
  %a = nn.conv %x, %w1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>, tensor<64x16x1x1xf32>) -> tensor<1x64x8x8xf32>
  %b = nn.depth_to_space %a {block_size = 2 : i64, mode = "DCR"} : (tensor<1x64x8x8xf32>) -> tensor<1x16x16x16xf32>
  %c = nn.conv %b, %w2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x16x16x16xf32>, tensor<4x16x3x3xf32>) -> tensor<1x4x16x16xf32>
  return %c : tensor<1x4x16x16xf32>
}
