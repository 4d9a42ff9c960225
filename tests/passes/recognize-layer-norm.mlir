// RUN: lathe-opt %s --recognize-layer-norm --twin | FileCheck %s

// PyTorch's layer norm before opset 17, with a symbolic batch.
// CHECK-LABEL: func.func @main
// CHECK: nn.layer_norm %arg0, {{.*}}, {{.*}} {axis = 2 : i64, epsilon = 9.99{{[0-9]*}}E-6 : f64}
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<?x5x8xf32> {nn.dims = ["N", "5", "8"]}) -> tensor<?x5x8xf32> {
  %two = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %eps = nn.constant {value = dense<9.99999974E-6> : tensor<f32>} : tensor<f32>
  %g = nn.constant {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>} : tensor<8xf32>
  %h = nn.constant {value = dense<[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]> : tensor<8xf32>} : tensor<8xf32>
  %m = nn.reduce_mean %x {axes = array<i64: -1>} : (tensor<?x5x8xf32>) -> tensor<?x5x1xf32>
  %d = nn.sub %x, %m : (tensor<?x5x8xf32>, tensor<?x5x1xf32>) -> tensor<?x5x8xf32>
  %q = nn.pow %d, %two : (tensor<?x5x8xf32>, tensor<f32>) -> tensor<?x5x8xf32>
  %v = nn.reduce_mean %q {axes = array<i64: -1>} : (tensor<?x5x8xf32>) -> tensor<?x5x1xf32>
  %e = nn.add %v, %eps : (tensor<?x5x1xf32>, tensor<f32>) -> tensor<?x5x1xf32>
  %s = nn.sqrt %e : (tensor<?x5x1xf32>) -> tensor<?x5x1xf32>
  %n = nn.div %d, %s : (tensor<?x5x8xf32>, tensor<?x5x1xf32>) -> tensor<?x5x8xf32>
  %w = nn.mul %n, %g : (tensor<?x5x8xf32>, tensor<8xf32>) -> tensor<?x5x8xf32>
  %y = nn.add %w, %h : (tensor<?x5x8xf32>, tensor<8xf32>) -> tensor<?x5x8xf32>
  return %y : tensor<?x5x8xf32>
}

// -----

// Without parameters, by a reciprocal, over two axes; the deviations are spelled twice.
// CHECK-LABEL: func.func @main
// CHECK: nn.layer_norm %arg0, {{.*}} {axis = 1 : i64
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<3x5x8xf32>) -> tensor<3x5x8xf32> {
  %eps = nn.constant {value = dense<0.5> : tensor<1x1x1xf32>} : tensor<1x1x1xf32>
  %m = nn.reduce_mean %x {axes = array<i64: 2, 1>} : (tensor<3x5x8xf32>) -> tensor<3x1x1xf32>
  %d = nn.sub %x, %m : (tensor<3x5x8xf32>, tensor<3x1x1xf32>) -> tensor<3x5x8xf32>
  %d2 = nn.sub %m, %x : (tensor<3x1x1xf32>, tensor<3x5x8xf32>) -> tensor<3x5x8xf32>
  %q = nn.mul %d2, %d2 : (tensor<3x5x8xf32>, tensor<3x5x8xf32>) -> tensor<3x5x8xf32>
  %v = nn.reduce_mean %q {axes = array<i64: 1, 2>} : (tensor<3x5x8xf32>) -> tensor<3x1x1xf32>
  %e = nn.add %eps, %v : (tensor<1x1x1xf32>, tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %s = nn.sqrt %e : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %i = nn.reciprocal %s : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %n = nn.mul %i, %d : (tensor<3x1x1xf32>, tensor<3x5x8xf32>) -> tensor<3x5x8xf32>
  return %n : tensor<3x5x8xf32>
}

// -----

// TensorFlow: x * (g / s) + (b - m * (g / s)).
// CHECK-LABEL: func.func @main
// CHECK: nn.layer_norm %arg0, {{.*}}, {{.*}} {axis = 1 : i64
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %eps = nn.constant {value = dense<0.001> : tensor<f32>} : tensor<f32>
  %g = nn.constant {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : tensor<4xf32>
  %h = nn.constant {value = dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf32>} : tensor<4xf32>
  %m = nn.reduce_mean %x {axes = array<i64: 1>} : (tensor<6x4xf32>) -> tensor<6x1xf32>
  %d = nn.sub %x, %m : (tensor<6x4xf32>, tensor<6x1xf32>) -> tensor<6x4xf32>
  %q = nn.mul %d, %d : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %v = nn.reduce_mean %q {axes = array<i64: 1>} : (tensor<6x4xf32>) -> tensor<6x1xf32>
  %e = nn.add %v, %eps : (tensor<6x1xf32>, tensor<f32>) -> tensor<6x1xf32>
  %s = nn.sqrt %e : (tensor<6x1xf32>) -> tensor<6x1xf32>
  %i = nn.reciprocal %s : (tensor<6x1xf32>) -> tensor<6x1xf32>
  %t = nn.mul %i, %g : (tensor<6x1xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %a = nn.mul %x, %t : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %b = nn.mul %m, %t : (tensor<6x1xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %c = nn.sub %h, %b : (tensor<4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %y = nn.add %a, %c : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}

// -----

// RMS norm.
// CHECK-LABEL: func.func @main
// CHECK: nn.rms_norm %arg0, {{.*}} {axis = 1 : i64
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %two = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %eps = nn.constant {value = dense<0.001> : tensor<f32>} : tensor<f32>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %g = nn.constant {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : tensor<4xf32>
  %q = nn.pow %x, %two : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %v = nn.reduce_mean %q {axes = array<i64: 1>} : (tensor<6x4xf32>) -> tensor<6x1xf32>
  %e = nn.add %v, %eps : (tensor<6x1xf32>, tensor<f32>) -> tensor<6x1xf32>
  %s = nn.sqrt %e : (tensor<6x1xf32>) -> tensor<6x1xf32>
  %i = nn.div %one, %s : (tensor<f32>, tensor<6x1xf32>) -> tensor<6x1xf32>
  %n = nn.mul %x, %i : (tensor<6x4xf32>, tensor<6x1xf32>) -> tensor<6x4xf32>
  %y = nn.mul %g, %n : (tensor<4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}

// -----

// Over the pixels of images: an instance norm.
// CHECK-LABEL: func.func @main
// CHECK: nn.instance_norm %arg0
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> {
  %eps = nn.constant {value = dense<0.001> : tensor<f32>} : tensor<f32>
  %g = nn.constant {value = dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>} : tensor<2x1x1xf32>
  %m = nn.reduce_mean %x {axes = array<i64: 2, 3>} : (tensor<2x2x4x4xf32>) -> tensor<2x2x1x1xf32>
  %d = nn.sub %x, %m : (tensor<2x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<2x2x4x4xf32>
  %q = nn.mul %d, %d : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %v = nn.reduce_mean %q {axes = array<i64: 2, 3>} : (tensor<2x2x4x4xf32>) -> tensor<2x2x1x1xf32>
  %e = nn.add %v, %eps : (tensor<2x2x1x1xf32>, tensor<f32>) -> tensor<2x2x1x1xf32>
  %s = nn.sqrt %e : (tensor<2x2x1x1xf32>) -> tensor<2x2x1x1xf32>
  %n = nn.div %d, %s : (tensor<2x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<2x2x4x4xf32>
  %y = nn.mul %n, %g : (tensor<2x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<2x2x4x4xf32>
  return %y : tensor<2x2x4x4xf32>
}

// -----

// A scale that varies with the rows stays behind; mean and variance over different axes are no norm.
// CHECK-LABEL: func.func @main
// CHECK: nn.layer_norm
// CHECK-NEXT: nn.mul
// CHECK-NOT: nn.layer_norm
// CHECK: nn.sqrt
// CHECK: twin: equal
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %eps = nn.constant {value = dense<0.001> : tensor<f32>} : tensor<f32>
  %g = nn.constant {value = dense<[[1.0], [2.0]]> : tensor<2x1xf32>} : tensor<2x1xf32>
  %m = nn.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %d = nn.sub %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %q = nn.mul %d, %d : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %v = nn.reduce_mean %q {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %e = nn.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %s = nn.sqrt %e : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %n = nn.div %d, %s : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = nn.mul %n, %g : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %v2 = nn.reduce_mean %q {axes = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %e2 = nn.add %v2, %eps : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %s2 = nn.sqrt %e2 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %n2 = nn.div %d, %s2 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %z = nn.add %y, %n2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %z : tensor<2x4xf32>
}
