// RUN: lathe-opt %s --multiply-by-reciprocal --twin | FileCheck %s

// A sum of two quantised values, quantised: every pair of bytes gives the same.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.div
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<7x50xui8>, %y: tensor<7x50xui8>) -> tensor<7x50xui8> {
  %a = nn.constant {value = dense<1.600000e-02> : tensor<f32>} : tensor<f32>
  %b = nn.constant {value = dense<2.900000e-02> : tensor<f32>} : tensor<f32>
  %c = nn.constant {value = dense<3.125000e-02> : tensor<f32>} : tensor<f32>
  %z = nn.constant {value = dense<1.170000e+02> : tensor<f32>} : tensor<f32>
  %0 = nn.cast %x {to = f32} : (tensor<7x50xui8>) -> tensor<7x50xf32>
  %1 = nn.mul %0, %a : (tensor<7x50xf32>, tensor<f32>) -> tensor<7x50xf32>
  %2 = nn.cast %y {to = f32} : (tensor<7x50xui8>) -> tensor<7x50xf32>
  %3 = nn.sub %2, %z : (tensor<7x50xf32>, tensor<f32>) -> tensor<7x50xf32>
  %4 = nn.mul %3, %b : (tensor<7x50xf32>, tensor<f32>) -> tensor<7x50xf32>
  %5 = nn.add %1, %4 : (tensor<7x50xf32>, tensor<7x50xf32>) -> tensor<7x50xf32>
  %6 = nn.div %5, %c : (tensor<7x50xf32>, tensor<f32>) -> tensor<7x50xf32>
  %7 = nn.round %6 : (tensor<7x50xf32>) -> tensor<7x50xf32>
  %8 = nn.clip %7 {min = 0.0 : f64, max = 255.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<7x50xf32>) -> tensor<7x50xf32>
  %9 = nn.cast %8 {to = ui8} : (tensor<7x50xf32>) -> tensor<7x50xui8>
  return %9 : tensor<7x50xui8>
}

// -----

// Floats have too many values to try all.
// CHECK-LABEL: func.func @main
// CHECK: nn.div
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<7x50xf32>) -> tensor<7x50xui8> {
  %c = nn.constant {value = dense<3.000000e+00> : tensor<f32>} : tensor<f32>
  %6 = nn.div %x, %c : (tensor<7x50xf32>, tensor<f32>) -> tensor<7x50xf32>
  %7 = nn.round %6 : (tensor<7x50xf32>) -> tensor<7x50xf32>
  %8 = nn.clip %7 {min = 0.0 : f64, max = 255.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<7x50xf32>) -> tensor<7x50xf32>
  %9 = nn.cast %8 {to = ui8} : (tensor<7x50xf32>) -> tensor<7x50xui8>
  return %9 : tensor<7x50xui8>
}
