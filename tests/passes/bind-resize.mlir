// RUN: lathe-opt %s --bind-extents --twin | FileCheck %s

// Sizes that are numbers stay numbers, the others become symbols.
// CHECK-LABEL: nn.bind_extents
// CHECK-SAME: symbols = "bySizes.extent0 bySizes.extent1"
// CHECK: nn.resize
// CHECK-SAME: -> tensor<1x3x?x?xf32>
// Computed scales: floor(x * scale), and the operator keeps the scales that it samples by.
// CHECK: nn.floor
// CHECK: nn.bind_extents {{.*}} {symbols = "byScales.extent0 byScales.extent1"}
// CHECK: nn.resize {{.*}} operandSegmentSizes = array<i32: 1, 0, 1, 1>, scales = array<f64: 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00>
// CHECK-SAME: -> tensor<1x3x?x?xf32>
// What PyTorch writes for a pad on some axes: pairs in reverse order. The known ones need no symbol, and the extent of
// the channels follows from arithmetic that is constant now.
// CHECK: nn.bind_extents {{.*}} {symbols = "padded.extent0 padded.extent1"}
// CHECK: nn.pad
// CHECK-SAME: -> tensor<1x3x?x?xf32>
// CHECK: twin: equal
func.func @main(%x: tensor<1x3x5x7xf32>, %n: tensor<2xi64>, %s: tensor<2xf32>, %p: tensor<1xi64>)
    -> (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) {
  %two = nn.constant {value = dense<[2, 2]> : tensor<2xi64>} : tensor<2xi64>
  %size = nn.abs %n : (tensor<2xi64>) -> tensor<2xi64>
  %positive = nn.add %size, %two : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %outer = nn.constant {value = dense<[1, 3]> : tensor<2xi64>} : tensor<2xi64>
  %sizes = nn.concat %outer, %positive : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %0 = nn.resize %x, %sizes {mode = "linear", operandSegmentSizes = array<i32: 1, 0, 0, 1>}
      : (tensor<1x3x5x7xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32> loc("bySizes")

  %ones = nn.constant {value = dense<1.0> : tensor<2xf32>} : tensor<2xf32>
  %size2 = nn.abs %s : (tensor<2xf32>) -> tensor<2xf32>
  %above = nn.add %size2, %ones : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %scales = nn.concat %ones, %above : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %1 = nn.resize %x, %scales {mode = "linear", operandSegmentSizes = array<i32: 1, 0, 1, 0>}
      : (tensor<1x3x5x7xf32>, tensor<4xf32>) -> tensor<?x?x?x?xf32> loc("byScales")

  %shape = nn.shape %1 : (tensor<?x?x?x?xf32>) -> tensor<4xi64>
  %at = nn.constant {value = dense<[1]> : tensor<1xi64>} : tensor<1xi64>
  %channels = nn.gather %shape, %at : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
  %asFloat = nn.cast %channels {to = f32} : (tensor<1xi64>) -> tensor<1xf32>
  %same = nn.cast %asFloat {to = i64} : (tensor<1xf32>) -> tensor<1xi64>
  %none = nn.sub %same, %channels : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %zero = nn.constant {value = dense<0> : tensor<1xi64>} : tensor<1xi64>
  %many = nn.abs %p : (tensor<1xi64>) -> tensor<1xi64>
  %pairs = nn.concat %zero, %many, %zero, %many, %zero, %none, %zero, %zero : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>,
      tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8xi64>
  %matrix = nn.reshape %pairs {shape = array<i64: 4, 2>} : (tensor<8xi64>) -> tensor<4x2xi64>
  %reversed = nn.slice %matrix {axes = array<i64: 0>, ends = array<i64: -9223372036854775807>,
      operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: -1>, steps = array<i64: -1>}
      : (tensor<4x2xi64>) -> tensor<4x2xi64>
  %turned = nn.transpose %reversed {perm = array<i64: 1, 0>} : (tensor<4x2xi64>) -> tensor<2x4xi64>
  %pads = nn.reshape %turned {shape = array<i64: -1>} : (tensor<2x4xi64>) -> tensor<8xi64>
  %2 = nn.pad %1, %pads {operandSegmentSizes = array<i32: 1, 1, 0>}
      : (tensor<?x?x?x?xf32>, tensor<8xi64>) -> tensor<?x?x?x?xf32> loc("padded")
  return %0, %1, %2 : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>
}
