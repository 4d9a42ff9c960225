// RUN: lathe-opt %s --split-recurrence --dead-code --twin | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<5x2x3xf32> {nn.name = "x"}, %lengths: tensor<2xi32> {nn.name = "lengths"},
                %h: tensor<1x2x2xf32> {nn.name = "h"})
    -> (tensor<5x2x2x2xf32>, tensor<5x1x2x2xf32>, tensor<1x2x2xf32>) {
  // Both directions in one product; both biases in one sum; zero states and full lengths are left out.
  // CHECK: %[[FLAT:.*]] = nn.reshape %{{.*}} {shape = array<i64: 16, 3>}
  // CHECK: %[[TURNED:.*]] = nn.transpose %[[FLAT]] {perm = array<i64: 1, 0>}
  // CHECK: %[[PRODUCT:.*]] = nn.matmul %arg0, %[[TURNED]] {{.*}} -> tensor<5x2x16xf32>
  // CHECK: %[[BIASES:.*]] = nn.add
  // CHECK: %[[COLUMNS:.*]] = nn.reshape %[[BIASES]] {shape = array<i64: 16>}
  // CHECK: %[[GATES:.*]] = nn.add %[[PRODUCT]], %[[COLUMNS]]
  // CHECK: nn.recurrence %[[GATES]], %{{[^,]*}} {{{.*}}direction = "bidirectional"
  %w = nn.constant {value = dense<0.25> : tensor<2x8x3xf32>} : tensor<2x8x3xf32>
  %r = nn.constant {value = dense<0.5> : tensor<2x8x2xf32>} : tensor<2x8x2xf32>
  %b = nn.constant {value = dense<0.125> : tensor<2x16xf32>} : tensor<2x16xf32>
  %all = nn.constant {value = dense<5> : tensor<2xi32>} : tensor<2xi32>
  %zero = nn.constant {value = dense<0.0> : tensor<2x2x2xf32>} : tensor<2x2x2xf32>
  %y, %yh, %yc = nn.lstm %x, %w, %r, %b, %all, %zero, %zero {direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}
    : (tensor<5x2x3xf32>, tensor<2x8x3xf32>, tensor<2x8x2xf32>, tensor<2x16xf32>, tensor<2xi32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>)
    -> (tensor<5x2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>)

  // The bias inside the reset stays with the recurrence.
  // CHECK: %[[INSIDE:.*]] = nn.slice %{{.*}} {axes = array<i64: 1>, ends = array<i64: 12>, {{.*}}starts = array<i64: 10>}
  // CHECK: nn.concat
  // CHECK: nn.recurrence %{{[^,]*}}, %{{[^,]*}}, %[[INSIDE]], %arg1, %arg2 {{{.*}}cell = "gru"
  // CHECK-SAME: linear_before_reset = true
  %gw = nn.constant {value = dense<0.25> : tensor<1x6x3xf32>} : tensor<1x6x3xf32>
  %gr = nn.constant {value = dense<0.5> : tensor<1x6x2xf32>} : tensor<1x6x2xf32>
  %gb = nn.constant {value = dense<[[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]]> : tensor<1x12xf32>} : tensor<1x12xf32>
  %z, %zh = nn.gru %x, %gw, %gr, %gb, %lengths, %h {linear_before_reset = true, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}
    : (tensor<5x2x3xf32>, tensor<1x6x3xf32>, tensor<1x6x2xf32>, tensor<1x12xf32>, tensor<2xi32>, tensor<1x2x2xf32>)
    -> (tensor<5x1x2x2xf32>, tensor<1x2x2xf32>)
  // CHECK: return
  // CHECK: twin: equal
  return %y, %z, %zh : tensor<5x2x2x2xf32>, tensor<5x1x2x2xf32>, tensor<1x2x2xf32>
}
