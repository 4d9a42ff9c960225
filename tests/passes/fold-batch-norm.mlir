// RUN: lathe-opt %s --fold-batch-norm --dead-code --twin | FileCheck %s
// RUN: lathe-opt %s --fold-batch-norm --fold-constants --dead-code --exact-math --twin | FileCheck %s --check-prefix=EXACT
// RUN: lathe-opt %s --fold-batch-norm -O 0 --dead-code --twin | FileCheck %s --check-prefix=O0

// Behind a convolution: into its weights, with a new bias.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv %arg0, %{{[^,]*}}, %{{.*}} -> tensor<1x2x4x4xf32>
// CHECK-NEXT: return
// CHECK: twin: equal
// EXACT-LABEL: func.func @main
// EXACT: nn.conv
// EXACT: nn.sub
// EXACT-NEXT: nn.mul
// EXACT-NEXT: nn.add
// EXACT-NEXT: return
// EXACT: twin: equal
// O0-LABEL: func.func @main
// O0: nn.conv
// O0: nn.mul
// O0-NEXT: nn.add
// O0: twin: equal
func.func @main(%x: tensor<1x3x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant {value = dense<[[[[0.5]], [[-1.5]], [[2.0]]], [[[1.25]], [[0.75]], [[-0.5]]]]> : tensor<2x3x1x1xf32>} : tensor<2x3x1x1xf32>
  %scale = nn.constant {value = dense<[1.5, -0.5]> : tensor<2xf32>} : tensor<2xf32>
  %bias = nn.constant {value = dense<[0.25, 3.0]> : tensor<2xf32>} : tensor<2xf32>
  %mean = nn.constant {value = dense<[0.5, -0.75]> : tensor<2xf32>} : tensor<2xf32>
  %var = nn.constant {value = dense<[0.25, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %z = nn.batch_norm %y, %scale, %bias, %mean, %var {epsilon = 0.001 : f64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %z : tensor<1x2x4x4xf32>
}

// -----

// Before a grouped convolution without padding: into its weights as well.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.mul
// CHECK: nn.conv %arg0
// CHECK-NEXT: return
// CHECK: twin: equal
// EXACT: twin: equal
// O0: twin: equal
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32> {
  %w = nn.constant {value = dense<[[[[0.5, 1.5], [2.0, -1.0]]], [[[1.25, 0.75], [-0.5, 0.125]]]]> : tensor<2x1x2x2xf32>} : tensor<2x1x2x2xf32>
  %scale = nn.constant {value = dense<[1.5, -0.5]> : tensor<2xf32>} : tensor<2xf32>
  %bias = nn.constant {value = dense<[0.25, 3.0]> : tensor<2xf32>} : tensor<2xf32>
  %mean = nn.constant {value = dense<[0.5, -0.75]> : tensor<2xf32>} : tensor<2xf32>
  %var = nn.constant {value = dense<[0.25, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %z = nn.batch_norm %x, %scale, %bias, %mean, %var : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %y = nn.conv %z, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, group = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x1x2x2xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}

// -----

// Before a padded one the offset would reach the padding: multiply and add remain.
// CHECK-LABEL: func.func @main
// CHECK: nn.mul
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.conv
// CHECK: twin: equal
// EXACT: twin: equal
// O0: twin: equal
func.func @main(%x: tensor<?x2x4x4xf32> {nn.dims = ["N", "2", "4", "4"]}) -> tensor<?x1x4x4xf32> {
  %w = nn.constant {value = dense<0.5> : tensor<1x2x3x3xf32>} : tensor<1x2x3x3xf32>
  %scale = nn.constant {value = dense<[1.5, -0.5]> : tensor<2xf32>} : tensor<2xf32>
  %bias = nn.constant {value = dense<[0.25, 3.0]> : tensor<2xf32>} : tensor<2xf32>
  %mean = nn.constant {value = dense<[0.5, -0.75]> : tensor<2xf32>} : tensor<2xf32>
  %var = nn.constant {value = dense<[0.25, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %z = nn.batch_norm %x, %scale, %bias, %mean, %var : (tensor<?x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2x4x4xf32>
  %y = nn.conv %z, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<?x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<?x1x4x4xf32>
  return %y : tensor<?x1x4x4xf32>
}

// -----

// Parameters that are computed: the definition, spelled out.
// CHECK-LABEL: func.func @main
// CHECK: nn.sqrt
// CHECK: nn.div
// CHECK: nn.sub
// CHECK: twin: equal
// EXACT: twin: equal
// O0: twin: equal
func.func @main(%x: tensor<2x3xf32>, %scale: tensor<3xf32>) -> tensor<2x3xf32> {
  %bias = nn.constant {value = dense<[0.25, 3.0, 1.0]> : tensor<3xf32>} : tensor<3xf32>
  %mean = nn.constant {value = dense<[0.5, -0.75, 2.0]> : tensor<3xf32>} : tensor<3xf32>
  %var = nn.constant {value = dense<[0.25, 2.0, 1.0]> : tensor<3xf32>} : tensor<3xf32>
  %z = nn.batch_norm %x, %scale, %bias, %mean, %var : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}
