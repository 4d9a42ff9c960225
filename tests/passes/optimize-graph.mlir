// RUN: lathe-opt %s --optimize-graph --channel-block 8 --twin | FileCheck %s
// RUN: lathe-opt %s --optimize-graph -O 0 --twin | FileCheck %s --check-prefix=O0
// RUN: lathe-opt %s --optimize-graph -O 2 --twin | FileCheck %s --check-prefix=O2
// What was printed can be read, edited and taken further: at the same block size its layouts stay, at another they are chosen anew.
// RUN: lathe-opt %s --optimize-graph --channel-block 8 | lathe-opt - --optimize-graph --channel-block 8 --form-kernels --twin | FileCheck %s --check-prefix=AGAIN
// RUN: lathe-opt %s --optimize-graph --channel-block 8 | lathe-opt - --optimize-graph --channel-block 4 --twin | FileCheck %s --check-prefix=OTHER

// CHECK-LABEL: func.func @main
// CHECK-NOT: batch_norm
// CHECK: nn.conv {{.*}}pads = array<i64: 1, 1, 1, 1>{{.*}} -> tensor<?x8x8x8xf32, #nn.blocked<1, 8>>
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.reduce_mean {{.*}} -> tensor<?x8x1x1xf32>
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: return
// CHECK: twin: equal
// O0: nn.pad
// O0: nn.conv
// O0: nn.mul
// O0-NEXT: nn.add
// O0: nn.relu
// O0: nn.average_pool
// O0: twin: equal
// O2-NOT: blocked
// O2: twin: equal
// AGAIN: func.func private @contraction({{.*}} -> tensor<?x8x8x8xf32, #nn.blocked<1, 8>>
// AGAIN: twin: equal (max rel 0.0e+00)
// OTHER-NOT: blocked<1, 8>
// OTHER: nn.conv {{.*}}blocked<1, 4>
// OTHER-NOT: blocked<1, 8>
// OTHER: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<?x3x8x8xf32> {nn.dims = ["N", "3", "8", "8"]}) -> tensor<?x8xf32> {
  %w = nn.constant {value = dense<0.5> : tensor<8x3x3x3xf32>} : tensor<8x3x3x3xf32>
  %scale = nn.constant {value = dense<[1.5, -0.5, 2.0, 1.0, 1.5, -0.5, 2.0, 1.0]> : tensor<8xf32>} : tensor<8xf32>
  %bias = nn.constant {value = dense<0.25> : tensor<8xf32>} : tensor<8xf32>
  %mean = nn.constant {value = dense<0.5> : tensor<8xf32>} : tensor<8xf32>
  %var = nn.constant {value = dense<0.25> : tensor<8xf32>} : tensor<8xf32>
  %p = nn.pad %x {pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x10x10xf32>
  %y = nn.conv %p, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<?x3x10x10xf32>, tensor<8x3x3x3xf32>) -> tensor<?x8x8x8xf32>
  %z = nn.batch_norm %y, %scale, %bias, %mean, %var : (tensor<?x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x8x8xf32>
  %r = nn.relu %z : (tensor<?x8x8x8xf32>) -> tensor<?x8x8x8xf32>
  %g = nn.average_pool %r {kernel = array<i64: 8, 8>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<?x8x8x8xf32>) -> tensor<?x8x1x1xf32>
  %f = nn.reshape %g {shape = array<i64: 0, 8>} : (tensor<?x8x1x1xf32>) -> tensor<?x8xf32>
  return %f : tensor<?x8xf32>
}
