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

// -----

// A mask computed from positions is a constant, though it is much larger than they are.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.equal
// CHECK-NOT: nn.where
// CHECK: %[[MASK:.*]] = nn.constant {{.*}} : tensor<160x160xf32>
// CHECK-NEXT: nn.add %arg0, %[[MASK]]
// CHECK: twin: equal
func.func @main(%x: tensor<160x160xf32>) -> tensor<160x160xf32> {
  %start = nn.constant {value = dense<0> : tensor<i64>} : tensor<i64>
  %limit = nn.constant {value = dense<160> : tensor<i64>} : tensor<i64>
  %step = nn.constant {value = dense<1> : tensor<i64>} : tensor<i64>
  %p = nn.range %start, %limit, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<160xi64>
  %row = nn.reshape %p {shape = array<i64: 1, 160>} : (tensor<160xi64>) -> tensor<1x160xi64>
  %column = nn.reshape %p {shape = array<i64: 160, 1>} : (tensor<160xi64>) -> tensor<160x1xi64>
  %ahead = nn.less %column, %row : (tensor<160x1xi64>, tensor<1x160xi64>) -> tensor<160x160xi1>
  %no = nn.constant {value = dense<-100.0> : tensor<f32>} : tensor<f32>
  %yes = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %mask = nn.where %ahead, %no, %yes : (tensor<160x160xi1>, tensor<f32>, tensor<f32>) -> tensor<160x160xf32>
  %y = nn.add %x, %mask : (tensor<160x160xf32>, tensor<160x160xf32>) -> tensor<160x160xf32>
  return %y : tensor<160x160xf32>
}
