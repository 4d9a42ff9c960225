// RUN: lathe-opt %s --recognize-attention --simplify --twin | FileCheck %s

// Scaled queries, transposed keys.
// CHECK-LABEL: func.func @main
// CHECK: nn.attention %arg0, %arg1, %arg2 {{.*}}scale = 2.500000e-01
// CHECK-NOT: nn.softmax
// CHECK: return
// CHECK: twin: equal
func.func @main(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %c = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %s = nn.mul %q, %c : (tensor<2x3x5x8xf32>, tensor<f32>) -> tensor<2x3x5x8xf32>
  %t = nn.transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x3x7x8xf32>) -> tensor<2x3x8x7xf32>
  %a = nn.matmul %s, %t : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %p = nn.softmax %a {axis = -1 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// -----

// Divided scores, an added mask, a symbolic batch.
// CHECK-LABEL: func.func @main
// CHECK: nn.attention {{.*}}, %arg3 {{.*}}scale = 5.000000e-01
// CHECK-NOT: nn.softmax
// CHECK: twin: equal
func.func @main(%q: tensor<?x3x5x4xf32> {nn.dims = ["N", "3", "5", "4"]}, %k: tensor<?x3x4x6xf32> {nn.dims = ["N", "3", "4", "6"]},
                %v: tensor<?x3x6x4xf32> {nn.dims = ["N", "3", "6", "4"]}, %m: tensor<?x1x1x6xf32> {nn.dims = ["N", "1", "1", "6"]}) -> tensor<?x3x5x4xf32> {
  %c = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %a = nn.matmul %q, %k : (tensor<?x3x5x4xf32>, tensor<?x3x4x6xf32>) -> tensor<?x3x5x6xf32>
  %d = nn.div %a, %c : (tensor<?x3x5x6xf32>, tensor<f32>) -> tensor<?x3x5x6xf32>
  %e = nn.add %d, %m : (tensor<?x3x5x6xf32>, tensor<?x1x1x6xf32>) -> tensor<?x3x5x6xf32>
  %p = nn.softmax %e {axis = 3 : i64} : (tensor<?x3x5x6xf32>) -> tensor<?x3x5x6xf32>
  %y = nn.matmul %p, %v : (tensor<?x3x5x6xf32>, tensor<?x3x6x4xf32>) -> tensor<?x3x5x4xf32>
  return %y : tensor<?x3x5x4xf32>
}

// -----

// A causal mask, chosen by where.
// CHECK-LABEL: func.func @main
// CHECK: nn.attention {{.*}}causal = "upper_left"
// CHECK-NOT: nn.where
// CHECK: twin: equal
func.func @main(%q: tensor<2x3x4xf32>, %k: tensor<2x4x3xf32>, %v: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %m = nn.constant {value = dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>} : tensor<3x3xi1>
  %f = nn.constant {value = dense<-10000.0> : tensor<f32>} : tensor<f32>
  %a = nn.matmul %q, %k : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
  %w = nn.where %m, %a, %f : (tensor<3x3xi1>, tensor<2x3x3xf32>, tensor<f32>) -> tensor<2x3x3xf32>
  %p = nn.softmax %w {axis = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %y = nn.matmul %p, %v : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// Windows: a bias a head, then a mask a window behind a reshape of the outer axes.
// CHECK-LABEL: func.func @main
// CHECK: nn.attention {{.*}} -> tensor<2x4x3x5x8xf32>
// CHECK-NOT: nn.softmax
// CHECK: twin: equal
func.func @main(%q: tensor<8x3x5x8xf32>, %k: tensor<8x3x8x5xf32>, %v: tensor<8x3x5x8xf32>, %b: tensor<1x3x5x5xf32>, %m: tensor<1x4x1x5x5xf32>) -> tensor<8x3x5x8xf32> {
  %a = nn.matmul %q, %k : (tensor<8x3x5x8xf32>, tensor<8x3x8x5xf32>) -> tensor<8x3x5x5xf32>
  %s = nn.add %a, %b : (tensor<8x3x5x5xf32>, tensor<1x3x5x5xf32>) -> tensor<8x3x5x5xf32>
  %r = nn.reshape %s {shape = array<i64: 2, 4, 3, 5, 5>} : (tensor<8x3x5x5xf32>) -> tensor<2x4x3x5x5xf32>
  %t = nn.add %r, %m : (tensor<2x4x3x5x5xf32>, tensor<1x4x1x5x5xf32>) -> tensor<2x4x3x5x5xf32>
  %u = nn.reshape %t {shape = array<i64: 8, 3, 5, 5>} : (tensor<2x4x3x5x5xf32>) -> tensor<8x3x5x5xf32>
  %p = nn.softmax %u {axis = -1 : i64} : (tensor<8x3x5x5xf32>) -> tensor<8x3x5x5xf32>
  %y = nn.matmul %p, %v : (tensor<8x3x5x5xf32>, tensor<8x3x5x8xf32>) -> tensor<8x3x5x8xf32>
  return %y : tensor<8x3x5x8xf32>
}

// -----

// Weights that somebody else wants are computed.
// CHECK-LABEL: func.func @main
// CHECK: nn.softmax
// CHECK-NOT: nn.attention
// CHECK: twin: equal
func.func @main(%q: tensor<2x3x4xf32>, %k: tensor<2x4x3xf32>, %v: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x3xf32>) {
  %a = nn.matmul %q, %k : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
  %p = nn.softmax %a {axis = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %y = nn.matmul %p, %v : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %y, %p : tensor<2x3x4xf32>, tensor<2x3x3xf32>
}

// -----

// The sum is scaled, not the product.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.attention
// CHECK: twin: equal
func.func @main(%q: tensor<2x3x4xf32>, %k: tensor<2x4x3xf32>, %v: tensor<2x3x4xf32>, %m: tensor<3x3xf32>) -> tensor<2x3x4xf32> {
  %c = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %a = nn.matmul %q, %k : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
  %b = nn.add %a, %m : (tensor<2x3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x3xf32>
  %d = nn.div %b, %c : (tensor<2x3x3xf32>, tensor<f32>) -> tensor<2x3x3xf32>
  %p = nn.softmax %d {axis = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %y = nn.matmul %p, %v : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// Scores divided by zero are not scaled: 0 / 0 is NaN.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.attention
// CHECK: nn.div
// CHECK: twin: equal
func.func @main(%q: tensor<2x5x4xf32>, %k: tensor<2x4x6xf32>, %v: tensor<2x6x4xf32>) -> tensor<2x5x4xf32> {
  %c = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %a = nn.matmul %q, %k : (tensor<2x5x4xf32>, tensor<2x4x6xf32>) -> tensor<2x5x6xf32>
  %d = nn.div %a, %c : (tensor<2x5x6xf32>, tensor<f32>) -> tensor<2x5x6xf32>
  %p = nn.softmax %d {axis = 2 : i64} : (tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %y = nn.matmul %p, %v : (tensor<2x5x6xf32>, tensor<2x6x4xf32>) -> tensor<2x5x4xf32>
  return %y : tensor<2x5x4xf32>
}

// -----

// Keys and values that an exporter repeats for the heads that share them are read once.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.expand
// CHECK: nn.attention {{.*}} : (tensor<1x6x3x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x6x3x4xf32>
// CHECK: twin: equal
func.func @main(%q: tensor<1x6x3x4xf32>, %k: tensor<1x2x5x4xf32>, %v: tensor<1x2x5x4xf32>) -> tensor<1x6x3x4xf32> {
  %n = nn.constant {value = dense<[1, 2, 3, 5, 4]> : tensor<5xi64>} : tensor<5xi64>
  %k1 = nn.reshape %k {shape = array<i64: 1, 2, 1, 5, 4>} : (tensor<1x2x5x4xf32>) -> tensor<1x2x1x5x4xf32>
  %k2 = nn.expand %k1, %n : (tensor<1x2x1x5x4xf32>, tensor<5xi64>) -> tensor<1x2x3x5x4xf32>
  %k3 = nn.reshape %k2 {shape = array<i64: 1, 6, 5, 4>} : (tensor<1x2x3x5x4xf32>) -> tensor<1x6x5x4xf32>
  %v1 = nn.reshape %v {shape = array<i64: 1, 2, 1, 5, 4>} : (tensor<1x2x5x4xf32>) -> tensor<1x2x1x5x4xf32>
  %v2 = nn.expand %v1, %n : (tensor<1x2x1x5x4xf32>, tensor<5xi64>) -> tensor<1x2x3x5x4xf32>
  %v3 = nn.reshape %v2 {shape = array<i64: 1, 6, 5, 4>} : (tensor<1x2x3x5x4xf32>) -> tensor<1x6x5x4xf32>
  %t = nn.transpose %k3 {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x6x5x4xf32>) -> tensor<1x6x4x5xf32>
  %a = nn.matmul %q, %t : (tensor<1x6x3x4xf32>, tensor<1x6x4x5xf32>) -> tensor<1x6x3x5xf32>
  %p = nn.softmax %a {axis = 3 : i64} : (tensor<1x6x3x5xf32>) -> tensor<1x6x3x5xf32>
  %y = nn.matmul %p, %v3 : (tensor<1x6x3x5xf32>, tensor<1x6x5x4xf32>) -> tensor<1x6x3x4xf32>
  return %y : tensor<1x6x3x4xf32>
}
