// RUN: lathe-opt %s --fold-unpacked --dead-code --twin | FileCheck %s
// RUN: lathe-opt %s --optimize-graph --form-kernels --twin | FileCheck %s --check-prefix=KERNELS

// Weights of bytes that a product reads stay bytes; their zero points become numbers.
// CHECK-LABEL: func.func @main
// CHECK: %[[ZERO:.*]] = nn.constant {value = dense<3.000000e+00> : tensor<1xf32>}
// CHECK: %[[NUMBERS:.*]] = nn.cast {{.*}} : (tensor<64x96xi8>)
// CHECK-NEXT: nn.sub %[[NUMBERS]], %[[ZERO]]
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.matmul
// CHECK: twin: equal
// KERNELS-LABEL: func.func @main
// KERNELS-COUNT-1: call @
// KERNELS: func.func private {{.*}}tensor<64x96xi8> {nn.constant}{{.*}}nn.family = "contraction"
// KERNELS: nn.cast
// KERNELS: nn.matmul
// KERNELS-NEXT: nn.relu
// KERNELS: twin: equal
func.func @main(%x: tensor<2x64xf32>) -> tensor<2x96xf32> {
  %w = nn.constant {value = dense<5> : tensor<64x96xi8>} : tensor<64x96xi8>
  %s = nn.constant {value = dense<0.125> : tensor<96xf32>} : tensor<96xf32>
  %z = nn.constant {value = dense<3> : tensor<1xi8>} : tensor<1xi8>
  %0 = nn.cast %z {to = f32} : (tensor<1xi8>) -> tensor<1xf32>
  %1 = nn.cast %w {to = f32} : (tensor<64x96xi8>) -> tensor<64x96xf32>
  %2 = nn.sub %1, %0 : (tensor<64x96xf32>, tensor<1xf32>) -> tensor<64x96xf32>
  %3 = nn.mul %2, %s : (tensor<64x96xf32>, tensor<96xf32>) -> tensor<64x96xf32>
  %4 = nn.matmul %x, %3 : (tensor<2x64xf32>, tensor<64x96xf32>) -> tensor<2x96xf32>
  %y = nn.relu %4 : (tensor<2x96xf32>) -> tensor<2x96xf32>
  return %y : tensor<2x96xf32>
}

// -----

// Few weights, and those that two products read, become numbers.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.cast
// CHECK: twin: equal
// KERNELS-LABEL: func.func @main
// KERNELS: twin: equal
func.func @main(%x: tensor<2x64xf32>) -> (tensor<2x96xf32>, tensor<2x96xf32>, tensor<2x8xf32>) {
  %w = nn.constant {value = dense<5> : tensor<64x96xi8>} : tensor<64x96xi8>
  %s = nn.constant {value = dense<0.125> : tensor<1xf32>} : tensor<1xf32>
  %1 = nn.cast %w {to = f32} : (tensor<64x96xi8>) -> tensor<64x96xf32>
  %2 = nn.mul %1, %s : (tensor<64x96xf32>, tensor<1xf32>) -> tensor<64x96xf32>
  %y = nn.matmul %x, %2 : (tensor<2x64xf32>, tensor<64x96xf32>) -> tensor<2x96xf32>
  %3 = nn.relu %x : (tensor<2x64xf32>) -> tensor<2x64xf32>
  %z = nn.matmul %3, %2 : (tensor<2x64xf32>, tensor<64x96xf32>) -> tensor<2x96xf32>
  %v = nn.constant {value = dense<5> : tensor<64x8xi8>} : tensor<64x8xi8>
  %4 = nn.cast %v {to = f32} : (tensor<64x8xi8>) -> tensor<64x8xf32>
  %5 = nn.mul %4, %s : (tensor<64x8xf32>, tensor<1xf32>) -> tensor<64x8xf32>
  %u = nn.matmul %x, %5 : (tensor<2x64xf32>, tensor<64x8xf32>) -> tensor<2x8xf32>
  return %y, %z, %u : tensor<2x96xf32>, tensor<2x96xf32>, tensor<2x8xf32>
}
