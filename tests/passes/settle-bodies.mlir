// RUN: lathe-opt %s --settle-bodies --twin | FileCheck %s

// A captured constant becomes one of the body, and extents of captured values follow the values around it. The branch of
// a known condition is all that is left of nn.if.
// CHECK: module @body
// CHECK: nn.dims = ["N", "4"]
// CHECK: nn.dims = ["N", "4"]
// CHECK: nn.constant {value = dense<2.000000e+00>
// CHECK-NOT: module
// CHECK: func.func @main(
// CHECK: nn.loop
// CHECK-NOT: nn.if
// CHECK: nn.tanh
// CHECK-NOT: nn.neg
// CHECK: twin: equal
module {
  module @body {
    func.func @main(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<?x4xf32> {nn.dims = ["N", "4"]}, %w: tensor<f32>,
                    %x: tensor<?x4xf32>) -> (tensor<i1>, tensor<?x4xf32>) {
      %0 = nn.mul %v, %w : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
      %1 = nn.add %0, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
      return %c, %1 : tensor<i1>, tensor<?x4xf32>
    }
  }
  module @taken {
    func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %0 = nn.tanh %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
      return %0 : tensor<?x4xf32>
    }
  }
  module @other {
    func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %0 = nn.neg %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
      return %0 : tensor<?x4xf32>
    }
  }
  func.func @main(%x: tensor<?x4xf32> {nn.dims = ["N", "4"]}) -> tensor<?x4xf32> {
    %n = nn.constant {value = dense<3> : tensor<i64>} : tensor<i64>
    %true = nn.constant {value = dense<true> : tensor<i1>} : tensor<i1>
    %two = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
    %0 = nn.loop %n, %true, %x, %two, %x {body = @body, carried = 1 : i64}
        : (tensor<i64>, tensor<i1>, tensor<?x4xf32>, tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = nn.if %true, %0 {then_body = @taken, else_body = @other} : (tensor<i1>, tensor<?x4xf32>) -> tensor<?x4xf32>
    return %1 : tensor<?x4xf32>
  }
}
