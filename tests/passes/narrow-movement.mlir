// RUN: lathe-opt %s --narrow-movement --twin | FileCheck %s

// More parts than a kernel has code for.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = nn.concat {{.*}} -> tensor<64xf32>
// CHECK: %[[B:.*]] = nn.concat %arg0, %arg1 {{.*}} -> tensor<2xf32>
// CHECK: nn.concat %[[A]], %[[B]] {{.*}} -> tensor<66xf32>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<66xf32> {
  %a = nn.concat %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<66xf32>
  return %a : tensor<66xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: nn.split %arg0 {{.*}}sizes = array<i64: 66, 2>}
// CHECK: nn.split {{.*}} -> (tensor<3xf32>,
// CHECK: nn.split {{.*}} -> (tensor<1xf32>, tensor<1xf32>)
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<68xf32>) -> (tensor<3xf32>, tensor<1xf32>) {
  %a:66 = nn.split %x {axis = 0 : i64, sizes = array<i64: 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>} : (tensor<68xf32>) -> (tensor<3xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
  return %a#0, %a#65 : tensor<3xf32>, tensor<1xf32>
}

// -----

// Few parts stay.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.concat %arg0, %arg0
// CHECK-NEXT: return
func.func @main(%x: tensor<1xf32>) -> tensor<2xf32> {
  %a = nn.concat %x, %x {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
