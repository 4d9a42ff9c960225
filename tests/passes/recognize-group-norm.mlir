// RUN: lathe-opt %s --recognize-group-norm --twin | FileCheck %s

// PyTorch's group norm.
// CHECK-LABEL: func.func @main
// CHECK: nn.group_norm %arg0, {{.*}}, {{.*}} {epsilon = {{.*}}, num_groups = 2 : i64}
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<?x4x3x3xf32> {nn.dims = ["N", "4", "3", "3"]}) -> tensor<?x4x3x3xf32> {
  %one = nn.constant {value = dense<1.0> : tensor<2xf32>} : tensor<2xf32>
  %zero = nn.constant {value = dense<0.0> : tensor<2xf32>} : tensor<2xf32>
  %g = nn.constant {value = dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>} : tensor<4x1x1xf32>
  %h = nn.constant {value = dense<[[[0.1]], [[0.2]], [[0.3]], [[0.4]]]> : tensor<4x1x1xf32>} : tensor<4x1x1xf32>
  %a = nn.reshape %x {shape = array<i64: 0, 2, -1>} : (tensor<?x4x3x3xf32>) -> tensor<?x2x18xf32>
  %n = nn.instance_norm %a, %one, %zero {epsilon = 1.0e-3 : f64} : (tensor<?x2x18xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2x18xf32>
  %b = nn.reshape %n {shape = array<i64: 0, 4, 3, 3>} : (tensor<?x2x18xf32>) -> tensor<?x4x3x3xf32>
  %w = nn.mul %b, %g : (tensor<?x4x3x3xf32>, tensor<4x1x1xf32>) -> tensor<?x4x3x3xf32>
  %y = nn.add %w, %h : (tensor<?x4x3x3xf32>, tensor<4x1x1xf32>) -> tensor<?x4x3x3xf32>
  return %y : tensor<?x4x3x3xf32>
}
