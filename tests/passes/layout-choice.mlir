// RUN: lathe-opt %s --assign-layout --channel-block 8 --layout nhwc --twin | FileCheck %s --check-prefix NHWC
// RUN: lathe-opt %s --assign-layout --channel-block 8 --layout nchw --twin | FileCheck %s --check-prefix NCHW
// RUN: lathe-opt %s --assign-layout --channel-block 8 --layout blocked --twin | FileCheck %s --check-prefix BLOCKED

// One block of all channels, filled up to vectors of 8; parts of 12 and 20 channels are joined in it.
// NHWC: nn.conv {{.*}} -> tensor<1x12x16x16xf32, #nn.blocked<1, 16>>
// NHWC: nn.max_pool {{.*}} -> tensor<1x20x16x16xf32, #nn.blocked<1, 24>>
// NHWC: nn.concat {{.*}} -> tensor<1x32x16x16xf32, #nn.blocked<1, 32>>
// NHWC: nn.conv {{.*}} -> tensor<1x8x16x16xf32, #nn.blocked<1, 8>>
// NHWC: twin: equal (max rel 0.0e+00)
// NCHW-NOT: nn.blocked
// NCHW: twin: equal (max rel 0.0e+00)
// BLOCKED: nn.conv {{.*}} -> tensor<1x12x16x16xf32, #nn.blocked<1, 8>>
// BLOCKED: nn.max_pool {{.*}} -> tensor<1x20x16x16xf32, #nn.blocked<1, 8>>
// BLOCKED: nn.conv {{.*}} -> tensor<1x8x16x16xf32, #nn.blocked<1, 8>>
// BLOCKED: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x3x16x16xf32>, %s: tensor<1x20x16x16xf32>) -> tensor<1x8x16x16xf32> {
  %w = nn.constant {value = dense<0.5> : tensor<12x3x1x1xf32>} : tensor<12x3x1x1xf32>
  %v = nn.constant {value = dense<0.25> : tensor<8x32x3x3xf32>} : tensor<8x32x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x3x16x16xf32>, tensor<12x3x1x1xf32>) -> tensor<1x12x16x16xf32>
  %b = nn.max_pool %s {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x20x16x16xf32>) -> tensor<1x20x16x16xf32>
  %c = nn.concat %a, %b {axis = 1 : i64} : (tensor<1x12x16x16xf32>, tensor<1x20x16x16xf32>) -> tensor<1x32x16x16xf32>
  %d = nn.conv %c, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x32x16x16xf32>, tensor<8x32x3x3xf32>) -> tensor<1x8x16x16xf32>
  return %d : tensor<1x8x16x16xf32>
}
