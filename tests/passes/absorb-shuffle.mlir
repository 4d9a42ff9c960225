// RUN: lathe-opt %s --channel-shuffle --absorb-shuffle --twin | FileCheck %s

// Two units of a shuffled network: what each convolution reads are runs of what the convolutions before wrote, halves that pass by are not
// moved at all. The depthwise convolution in between follows the order.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.gather
// CHECK: %[[A:.*]] = nn.conv %arg0
// CHECK: %[[R:.*]] = nn.relu %[[A]]
// CHECK: %[[B:.*]] = nn.conv %arg0
// CHECK: nn.slice %[[B]] {{.*}}ends = array<i64: 3>{{.*}}starts = array<i64: 0>
// CHECK: nn.slice %[[R]] {{.*}}ends = array<i64: 3>{{.*}}starts = array<i64: 0>
// CHECK: nn.concat
// CHECK: nn.conv {{.*}}group = 6
// CHECK: nn.concat
// CHECK: nn.conv
// CHECK-NOT: nn.gather
// CHECK: twin: equal
func.func @main(%x: tensor<?x4x5x5xf32> {nn.dims = ["N", "4", "5", "5"]}) -> tensor<?x2x5x5xf32> {
  %w = nn.constant {value = dense<[[[[0.5]], [[2.0]], [[-1.0]], [[0.25]]], [[[1.5]], [[-2.0]], [[1.0]], [[0.5]]], [[[3.5]], [[2.0]], [[1.25]], [[0.75]]], [[[0.125]], [[1.0]], [[2.5]], [[-0.5]]], [[[1.0]], [[2.0]], [[3.0]], [[4.0]]], [[[4.0]], [[-3.0]], [[2.0]], [[1.0]]]]> : tensor<6x4x1x1xf32>} : tensor<6x4x1x1xf32>
  %v = nn.constant {value = dense<[[[[1.5]], [[1.0]], [[-1.0]], [[0.5]]], [[[0.5]], [[-1.0]], [[2.0]], [[1.5]]], [[[2.5]], [[0.5]], [[0.25]], [[1.75]]], [[[3.125]], [[1.5]], [[0.5]], [[-1.5]]], [[[-1.0]], [[1.0]], [[2.0]], [[0.5]]], [[[1.0]], [[-1.0]], [[1.0]], [[2.0]]]]> : tensor<6x4x1x1xf32>} : tensor<6x4x1x1xf32>
  %b = nn.constant {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>} : tensor<6xf32>
  %d = nn.constant {value = dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]], [[[5.0]]], [[[6.0]]]]> : tensor<6x1x1x1xf32>} : tensor<6x1x1x1xf32>
  %e = nn.constant {value = dense<[[[[1.0]], [[-2.0]], [[3.0]], [[4.0]], [[-5.0]], [[6.0]]], [[[2.0]], [[3.0]], [[-4.0]], [[5.0]], [[6.0]], [[7.0]]], [[[1.5]], [[2.5]], [[3.5]], [[-4.5]], [[5.5]], [[6.5]]], [[[1.0]], [[2.0]], [[3.0]], [[5.0]], [[-7.0]], [[11.0]]], [[[0.5]], [[1.0]], [[-1.5]], [[2.0]], [[2.5]], [[3.0]]], [[[9.0]], [[8.0]], [[-7.0]], [[6.0]], [[5.0]], [[4.0]]]]> : tensor<6x6x1x1xf32>} : tensor<6x6x1x1xf32>
  %f = nn.constant {value = dense<[[[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]], [[8.0]], [[9.0]], [[10.0]], [[11.0]], [[12.0]]], [[[-1.0]], [[2.0]], [[-3.0]], [[4.0]], [[-5.0]], [[6.0]], [[-7.0]], [[8.0]], [[-9.0]], [[10.0]], [[-11.0]], [[12.0]]]]> : tensor<2x12x1x1xf32>} : tensor<2x12x1x1xf32>
  %p = nn.conv %x, %w, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<?x4x5x5xf32>, tensor<6x4x1x1xf32>, tensor<6xf32>) -> tensor<?x6x5x5xf32>
  %q = nn.relu %p : (tensor<?x6x5x5xf32>) -> tensor<?x6x5x5xf32>
  %r = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<?x4x5x5xf32>, tensor<6x4x1x1xf32>) -> tensor<?x6x5x5xf32>
  %c0 = nn.concat %q, %r {axis = 1 : i64} : (tensor<?x6x5x5xf32>, tensor<?x6x5x5xf32>) -> tensor<?x12x5x5xf32>
  %a0 = nn.reshape %c0 {shape = array<i64: 0, 2, 6, 5, 5>} : (tensor<?x12x5x5xf32>) -> tensor<?x2x6x5x5xf32>
  %t0 = nn.transpose %a0 {perm = array<i64: 0, 2, 1, 3, 4>} : (tensor<?x2x6x5x5xf32>) -> tensor<?x6x2x5x5xf32>
  %s0 = nn.reshape %t0 {shape = array<i64: 0, 12, 5, 5>} : (tensor<?x6x2x5x5xf32>) -> tensor<?x12x5x5xf32>
  %h:2 = nn.split %s0 {axis = 1 : i64, sizes = array<i64: 6, 6>} : (tensor<?x12x5x5xf32>) -> (tensor<?x6x5x5xf32>, tensor<?x6x5x5xf32>)
  %g = nn.conv %h#1, %d, %b {group = 6 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<?x6x5x5xf32>, tensor<6x1x1x1xf32>, tensor<6xf32>) -> tensor<?x6x5x5xf32>
  %y = nn.conv %g, %e {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<?x6x5x5xf32>, tensor<6x6x1x1xf32>) -> tensor<?x6x5x5xf32>
  %c1 = nn.concat %h#0, %y {axis = 1 : i64} : (tensor<?x6x5x5xf32>, tensor<?x6x5x5xf32>) -> tensor<?x12x5x5xf32>
  %a1 = nn.reshape %c1 {shape = array<i64: 0, 2, 6, 5, 5>} : (tensor<?x12x5x5xf32>) -> tensor<?x2x6x5x5xf32>
  %t1 = nn.transpose %a1 {perm = array<i64: 0, 2, 1, 3, 4>} : (tensor<?x2x6x5x5xf32>) -> tensor<?x6x2x5x5xf32>
  %s1 = nn.reshape %t1 {shape = array<i64: 0, 12, 5, 5>} : (tensor<?x6x2x5x5xf32>) -> tensor<?x12x5x5xf32>
  %z = nn.conv %s1, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<?x12x5x5xf32>, tensor<2x12x1x1xf32>) -> tensor<?x2x5x5xf32>
  return %z : tensor<?x2x5x5xf32>
}

// -----

// A shuffle that a result shows, or that a grouped convolution reads, stays.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: nn.gather
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x2x4x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) {
  %w = nn.constant {value = dense<[[[[0.5]], [[2.0]]], [[[1.5]], [[-2.0]]], [[[3.5]], [[2.0]]], [[[0.125]], [[1.0]]]]> : tensor<4x2x1x1xf32>} : tensor<4x2x1x1xf32>
  %u = nn.constant {value = dense<[[[[0.5]], [[3.0]]], [[[1.0]], [[-2.0]]], [[[0.5]], [[1.0]]], [[[2.0]], [[1.0]]]]> : tensor<4x2x1x1xf32>} : tensor<4x2x1x1xf32>
  %p = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  %a = nn.reshape %p {shape = array<i64: 1, 2, 2, 16>} : (tensor<1x4x4x4xf32>) -> tensor<1x2x2x16xf32>
  %b = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x2x2x16xf32>) -> tensor<1x2x2x16xf32>
  %c = nn.reshape %b {shape = array<i64: 1, 4, 4, 4>} : (tensor<1x2x2x16xf32>) -> tensor<1x4x4x4xf32>
  %q = nn.conv %x, %u {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  %d = nn.reshape %q {shape = array<i64: 1, 2, 2, 16>} : (tensor<1x4x4x4xf32>) -> tensor<1x2x2x16xf32>
  %e = nn.transpose %d {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x2x2x16xf32>) -> tensor<1x2x2x16xf32>
  %f = nn.reshape %e {shape = array<i64: 1, 4, 4, 4>} : (tensor<1x2x2x16xf32>) -> tensor<1x4x4x4xf32>
  %y = nn.conv %f, %w {group = 2 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %c, %y : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
}
