// RUN: lathe-opt %s --widen-integer --twin | FileCheck %s

// The zero point of the activations is the kernel's, those of constant weights are subtracted at once.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.sub
// CHECK: %[[W:.*]] = nn.constant {value = dense<{{.*}}-129, 126{{.*}}7, -5{{.*}}tensor<2x1x2xi16>
// CHECK: nn.conv_integer %{{.*}}, %[[W]], %{{[a-z0-9_]*}} {dilations = array<i64: 2>{{.*}}pads = array<i64: 1, 0>{{.*}}strides = array<i64: 1>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x1x4xui8>) -> tensor<1x2x3xi32> {
  %w = nn.constant {value = dense<[[[-128, 127]], [[5, -7]]]> : tensor<2x1x2xi8>} : tensor<2x1x2xi8>
  %xz = nn.constant {value = dense<131> : tensor<ui8>} : tensor<ui8>
  %wz = nn.constant {value = dense<[1, -2]> : tensor<2xi8>} : tensor<2xi8>
  %y = nn.conv_integer %x, %w, %xz, %wz {strides = array<i64: 1>, dilations = array<i64: 2>, pads = array<i64: 1, 0>, operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<1x1x4xui8>, tensor<2x1x2xi8>, tensor<ui8>, tensor<2xi8>) -> tensor<1x2x3xi32>
  return %y : tensor<1x2x3xi32>
}

// -----

// Groups stay; nothing is subtracted where there is no zero point; weights may be computed.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.sub
// CHECK: nn.conv %{{.*}}group = 2
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x2x3x3xi8>, %w: tensor<4x1x2x2xi8>) -> tensor<1x4x2x2xi32> {
  %y = nn.conv_integer %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, group = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x3x3xi8>, tensor<4x1x2x2xi8>) -> tensor<1x4x2x2xi32>
  return %y : tensor<1x4x2x2xi32>
}

// -----

// A zero point a row stands before the row, one a column above the column.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.matmul_integer
// CHECK: nn.reshape %{{.*}}shape = array<i64: -1, 1>
// CHECK: nn.matmul %{{.*}} -> tensor<2x3x2xi32>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%a: tensor<2x3x4xui8>, %b: tensor<4x2xi8>, %az: tensor<3xui8>, %bz: tensor<2xi8>) -> tensor<2x3x2xi32> {
  %y = nn.matmul_integer %a, %b, %az, %bz {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<2x3x4xui8>, tensor<4x2xi8>, tensor<3xui8>, tensor<2xi8>) -> tensor<2x3x2xi32>
  return %y : tensor<2x3x2xi32>
}

// -----

// Vectors, and a symbolic number of rows.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.matmul_integer
// CHECK: nn.matmul %{{.*}} -> tensor<?xi32>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%a: tensor<?x4xui8> {nn.dims = ["N", "4"]}, %b: tensor<4xui8>, %bz: tensor<1xui8>) -> tensor<?xi32> {
  %y = nn.matmul_integer %a, %b, %bz {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<?x4xui8>, tensor<4xui8>, tensor<1xui8>) -> tensor<?xi32>
  return %y : tensor<?xi32>
}

// -----

// One constant matrix has a kernel, too. What is left of it without its zero points fits bytes.
// CHECK-LABEL: func.func @main
// CHECK: %[[B:.*]] = nn.constant {value = dense<{{.*}}-1, 4{{.*}}1, 6{{.*}}tensor<2x2xi8>
// CHECK: nn.matmul_integer %{{.*}}, %[[B]] {
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%a: tensor<3x2xui8>) -> tensor<3x2xi32> {
  %b = nn.constant {value = dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>} : tensor<2x2xi8>
  %bz = nn.constant {value = dense<[2, -2]> : tensor<2xi8>} : tensor<2xi8>
  %y = nn.matmul_integer %a, %b, %bz {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<3x2xui8>, tensor<2x2xi8>, tensor<2xi8>) -> tensor<3x2xi32>
  return %y : tensor<3x2xi32>
}

// -----

// Groups of any width have kernels.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.conv %
// CHECK: nn.conv_integer %{{.*}}group = 2
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x2x4xui8>) -> tensor<1x2x3xi32> {
  %w = nn.constant {value = dense<[[[-128, 127]], [[5, -7]]]> : tensor<2x1x2xi8>} : tensor<2x1x2xi8>
  %y = nn.conv_integer %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, group = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x4xui8>, tensor<2x1x2xi8>) -> tensor<1x2x3xi32>
  return %y : tensor<1x2x3xi32>
}

// -----

// Weights that need nine bits without their zero point keep it, both as i8.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W:.*]] = nn.constant {value = dense<{{.*}}-128, 127{{.*}}2, 3{{.*}}tensor<2x1x2xi8>
// CHECK-DAG: %[[Z:.*]] = nn.constant {value = dense<3> : tensor<i8>}
// CHECK: nn.conv_integer %{{.*}}, %[[W]], %{{.*}}, %[[Z]] {
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x1x4xui8>) -> tensor<1x2x4xi32> {
  %w = nn.constant {value = dense<[[[0, 255]], [[130, 131]]]> : tensor<2x1x2xui8>} : tensor<2x1x2xui8>
  %xz = nn.constant {value = dense<9> : tensor<ui8>} : tensor<ui8>
  %wz = nn.constant {value = dense<131> : tensor<ui8>} : tensor<ui8>
  %y = nn.conv_integer %x, %w, %xz, %wz {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 0>, operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<1x1x4xui8>, tensor<2x1x2xui8>, tensor<ui8>, tensor<ui8>) -> tensor<1x2x4xi32>
  return %y : tensor<1x2x4xi32>
}

// -----

// Kernels of groups take one channel a lane, of 16 bits.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv_integer %{{.*}}group = 2{{.*}}tensor<2x1x2xi16>
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%x: tensor<1x2x4xui8>) -> tensor<1x2x3xi32> {
  %w = nn.constant {value = dense<[[[0, 255]], [[130, 131]]]> : tensor<2x1x2xui8>} : tensor<2x1x2xui8>
  %wz = nn.constant {value = dense<131> : tensor<ui8>} : tensor<ui8>
  %y = nn.conv_integer %x, %w, %wz {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, group = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<1x2x4xui8>, tensor<2x1x2xui8>, tensor<ui8>) -> tensor<1x2x3xi32>
  return %y : tensor<1x2x3xi32>
}

// -----

// Constants of a matrix product, as kernels take them, stay.
// CHECK-LABEL: func.func @main
// CHECK: nn.matmul_integer %{{.*}}, %{{.*}}, %{{.*}} {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<3x2xui8>, tensor<2x2xi8>, tensor<i8>)
// CHECK: twin: equal (max rel 0.0e+00)
func.func @main(%a: tensor<3x2xui8>) -> tensor<3x2xi32> {
  %b = nn.constant {value = dense<[[-128, 2], [3, 127]]> : tensor<2x2xi8>} : tensor<2x2xi8>
  %bz = nn.constant {value = dense<5> : tensor<i8>} : tensor<i8>
  %y = nn.matmul_integer %a, %b, %bz {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<3x2xui8>, tensor<2x2xi8>, tensor<i8>) -> tensor<3x2xi32>
  return %y : tensor<3x2xi32>
}
