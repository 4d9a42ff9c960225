// RUN: lathe-opt %s --recognize-activation --twin | FileCheck %s

// PyTorch's gelu.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.gelu %arg0
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = nn.constant {value = dense<1.41421354> : tensor<f32>} : tensor<f32>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %half = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %a = nn.div %x, %r : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = nn.erf %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = nn.add %b, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %d = nn.mul %x, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = nn.mul %d, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %e : tensor<4x8xf32>
}

// -----

// Other orders: (0.5 x) * (1 + erf(0.7071 x)), with numbers of rank 1.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.gelu %arg0
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = nn.constant {value = dense<0.707106769> : tensor<1xf32>} : tensor<1xf32>
  %one = nn.constant {value = dense<1.0> : tensor<1xf32>} : tensor<1xf32>
  %half = nn.constant {value = dense<0.5> : tensor<1xf32>} : tensor<1xf32>
  %h = nn.mul %half, %x : (tensor<1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = nn.mul %r, %x : (tensor<1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = nn.erf %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = nn.add %one, %b : (tensor<1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = nn.mul %c, %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// -----

// GPT-2's gelu: 0.5 x (1 + tanh(0.79788 (x + 0.044715 x^3))).
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.gelu %arg0 {approximate = "tanh"}
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %three = nn.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
  %k = nn.constant {value = dense<4.471500e-02> : tensor<f32>} : tensor<f32>
  %s = nn.constant {value = dense<0.797884583> : tensor<f32>} : tensor<f32>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %half = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %h = nn.mul %x, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %p = nn.pow %x, %three : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %a = nn.mul %p, %k : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = nn.add %x, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = nn.mul %b, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %t = nn.tanh %c : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %u = nn.add %t, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %y = nn.mul %h, %u : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// The factored form: tanh(0.79788 x (1 + 0.044715 x x)).
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.gelu %arg0 {approximate = "tanh"}
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k = nn.constant {value = dense<4.471500e-02> : tensor<f32>} : tensor<f32>
  %s = nn.constant {value = dense<0.797884583> : tensor<f32>} : tensor<f32>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %half = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = nn.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = nn.mul %q, %k : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = nn.add %a, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %sx = nn.mul %x, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %c = nn.mul %sx, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = nn.tanh %c : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %u = nn.add %t, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %v = nn.mul %u, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %y = nn.mul %v, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// x * clip(x + 3, 0, 6) / 6 and x * hard_sigmoid(x).
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.hard_swish %arg0
// CHECK-NEXT: nn.hard_swish
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %three = nn.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
  %six = nn.constant {value = dense<6.0> : tensor<f32>} : tensor<f32>
  %a = nn.add %x, %three : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = nn.clip %a {min = 0.0 : f64, max = 6.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = nn.mul %x, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = nn.div %c, %six : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %e = nn.hard_sigmoid %d {alpha = 0.16666666666666666 : f64, beta = 0.5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = nn.mul %e, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %f : tensor<4x8xf32>
}

// -----

// Mish with softplus and with its formula.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.mish %arg0
// CHECK-NEXT: nn.mish
// CHECK-NEXT: return
// CHECK: twin: equal
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %a = nn.softplus %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = nn.tanh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = nn.mul %x, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = nn.exp %c : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = nn.add %d, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %f = nn.log %e : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = nn.tanh %f : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = nn.mul %g, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %h : tensor<4x8xf32>
}

// -----

// Almost a gelu: left alone.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.gelu
// CHECK: nn.erf
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = nn.constant {value = dense<0.8> : tensor<f32>} : tensor<f32>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %half = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %a = nn.mul %x, %r : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = nn.erf %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = nn.add %b, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %d = nn.mul %x, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = nn.mul %d, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %e : tensor<4x8xf32>
}
