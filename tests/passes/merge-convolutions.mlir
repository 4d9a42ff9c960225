// RUN: lathe-opt %s --merge-convolutions --twin | FileCheck %s
// RUN: lathe-opt %s --merge-convolutions --assign-layout --form-kernels --twin | FileCheck %s --check-prefix=KERNELS

// One reads the whole of it, and each convolution its part, without a copy. The channels that fill whole blocks come first.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = nn.constant {{.*}}tensor<40x16x1x1xf32>
// CHECK: %[[B:.*]] = nn.constant {{.*}}tensor<40xf32>
// CHECK: %[[C:.*]] = nn.conv %{{.*}}, %[[W]], %[[B]]
// CHECK: %[[R:.*]] = nn.relu %[[C]]
// CHECK-DAG: %[[SECOND:.*]] = nn.slice %[[R]] {axes = array<i64: 1>, ends = array<i64: 32>{{.*}}starts = array<i64: 0>
// CHECK-DAG: %[[FIRST:.*]] = nn.slice %[[R]] {axes = array<i64: 1>, ends = array<i64: 40>{{.*}}starts = array<i64: 32>
// CHECK-NOT: nn.relu
// CHECK: nn.max_pool %[[FIRST]]
// CHECK: nn.max_pool %[[SECOND]]
// CHECK: twin: equal
// KERNELS-LABEL: func.func @main
// KERNELS: nn.slice {{.*}}nn.in_place
// KERNELS: nn.slice {{.*}}nn.in_place
// KERNELS-NOT: nn.slice
// KERNELS: twin: equal
func.func @main(%x: tensor<1x16x6x6xf32>) -> (tensor<1x8x3x3xf32>, tensor<1x32x3x3xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<8x16x1x1xf32>} : tensor<8x16x1x1xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<32x16x1x1xf32>} : tensor<32x16x1x1xf32>
  %b = nn.constant {value = dense<0.75> : tensor<32xf32>} : tensor<32xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x6x6xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x6x6xf32>
  %c = nn.conv %x, %v, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x6x6xf32>, tensor<32x16x1x1xf32>, tensor<32xf32>) -> tensor<1x32x6x6xf32>
  %d = nn.relu %a : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  %e = nn.relu %c : (tensor<1x32x6x6xf32>) -> tensor<1x32x6x6xf32>
  %f = nn.max_pool %d {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x8x6x6xf32>) -> tensor<1x8x3x3xf32>
  %g = nn.max_pool %e {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x32x6x6xf32>) -> tensor<1x32x3x3xf32>
  return %f, %g : tensor<1x8x3x3xf32>, tensor<1x32x3x3xf32>
}

// -----

// Other pads.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x3x3xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x6x6xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x6x6xf32>) -> tensor<1x16x3x3xf32>
  return %pa, %pb : tensor<1x16x4x4xf32>, tensor<1x16x3x3xf32>
}

// -----

// Other strides.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x2x2xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x4x4xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x4x4xf32>) -> tensor<1x16x2x2xf32>
  return %pa, %pb : tensor<1x16x4x4xf32>, tensor<1x16x2x2xf32>
}

// -----

// Other dilations, with the pads that keep the extents.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, pads = array<i64: 2, 2, 2, 2>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pa, %pb : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// Other kernels.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x1x1xf32>} : tensor<16x16x1x1xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pa, %pb : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// Other inputs.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>, %z: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %z, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pa, %pb : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// Groups.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x8x3x3xf32>} : tensor<16x8x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x8x3x3xf32>} : tensor<16x8x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 2 : i64} : (tensor<1x16x8x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 2 : i64} : (tensor<1x16x8x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pa, %pb : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// Weights that another operator reads.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pa, %pb : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// Weights that are computed.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>, %v: tensor<16x16x3x3xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pa, %pb : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// A result of the model.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x8x8xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pa, %b : tensor<1x16x4x4xf32>, tensor<1x16x8x8xf32>
}

// -----

// A view that is a result of the model.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x1024xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %f = nn.reshape %b {shape = array<i64: 1, 1024>} : (tensor<1x16x8x8xf32>) -> tensor<1x1024xf32>
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pa, %f : tensor<1x16x4x4xf32>, tensor<1x1024xf32>
}

// -----

// Other activations.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %c = nn.relu %a : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %pc = nn.max_pool %c {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pc, %pb : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// Activations with other limits.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %high = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %top = nn.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %c = nn.min %a, %high : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %d = nn.min %b, %top : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %pc = nn.max_pool %c {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pd = nn.max_pool %d {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pc, %pd : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// The kernel of the convolution also computes a sum.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %c = nn.add %a, %x : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %pc = nn.max_pool %c {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pc, %pb : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// They write into a concatenation.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x32x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %c = nn.concat %a, %b {axis = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x32x8x8xf32>
  %pc = nn.max_pool %c {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x32x8x8xf32>) -> tensor<1x32x4x4xf32>
  return %pc : tensor<1x32x4x4xf32>
}

// -----

// Three of them, with equal limits.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv {{.*}}tensor<48x16x3x3xf32>
// CHECK-NOT: nn.conv
// CHECK: nn.min
// CHECK-NOT: nn.min
// CHECK: nn.slice
// CHECK: nn.slice
// CHECK: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %u = nn.constant {value = dense<0.125> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %high = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %e = nn.conv %x, %u {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %c = nn.min %a, %high : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %d = nn.min %b, %high : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %f = nn.min %e, %high : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %pc = nn.max_pool %c {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pd = nn.max_pool %d {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pf = nn.max_pool %f {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pc, %pd, %pf : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// Convolutions of one node.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32> loc("n")
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32> loc("n")
  %pa = nn.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %pb = nn.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %pa, %pb : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// They write into a concatenation of views.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: twin: equal
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x2048xf32>) {
  %w = nn.constant {value = dense<0.25> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %v = nn.constant {value = dense<-0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %fa = nn.reshape %a {shape = array<i64: 1, 1024>} : (tensor<1x16x8x8xf32>) -> tensor<1x1024xf32>
  %fb = nn.reshape %b {shape = array<i64: 1, 1024>} : (tensor<1x16x8x8xf32>) -> tensor<1x1024xf32>
  %c = nn.concat %fa, %fb {axis = 1 : i64} : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x2048xf32>
  %d = nn.softmax %c {axis = -1 : i64} : (tensor<1x2048xf32>) -> tensor<1x2048xf32>
  return %d : tensor<1x2048xf32>
}
