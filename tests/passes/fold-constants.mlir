// RUN: lathe-opt %s --fold-constants --dead-code --twin | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: nn.constant {value = dense<[5.000000e+00, 7.000000e+00]> : tensor<2xf32>}
// CHECK-NEXT: nn.add
// CHECK: twin: equal
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = nn.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %b = nn.constant {value = dense<[4.0, 5.0]> : tensor<2xf32>} : tensor<2xf32>
  %c = nn.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %y = nn.add %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// Equal elements cost nothing, however many.
// CHECK-LABEL: func.func @main
// CHECK: nn.constant {value = dense<3.000000e+00> : tensor<512x512xf32>}
// CHECK-NOT: nn.expand
// CHECK: twin: equal
func.func @main(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %a = nn.constant {value = dense<3.0> : tensor<1x1xf32>} : tensor<1x1xf32>
  %b = nn.expand %a {shape = array<i64: 512, 512>} : (tensor<1x1xf32>) -> tensor<512x512xf32>
  %y = nn.add %x, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}

// -----

// Two numbers do not become a megabyte.
// CHECK-LABEL: func.func @main
// CHECK: nn.tile
// CHECK: twin: equal
func.func @main(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %r = nn.constant {value = dense<[[2.0], [3.0]]> : tensor<2x1xf32>} : tensor<2x1xf32>
  %t = nn.tile %r {repeats = array<i64: 256, 512>} : (tensor<2x1xf32>) -> tensor<512x512xf32>
  %y = nn.add %x, %t : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}
