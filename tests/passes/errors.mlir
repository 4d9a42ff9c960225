// RUN: not lathe-opt %s --simplify 2>&1 | FileCheck %s
// RUN: not lathe-opt %s --no-such-pass 2>&1 | FileCheck %s
// RUN: not lathe-opt /nowhere/x.mlir 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not lathe-opt %S/dead-code.mlir --no-such-pass 2>&1 | FileCheck %s --check-prefix=PASS

// One line, with the place.
// CHECK: lathe-opt: {{.*}}errors.mlir:12:8: 'nn.conv' op conv_c2: x has 3 channels, expected 2
// FILE: lathe-opt: /nowhere/x.mlir: No such file or directory
// PASS: lathe-opt: no pass is called 'no-such-pass'
func.func @main(%x: tensor<1x3x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant {value = dense<0.5> : tensor<1x2x1x1xf32>} : tensor<1x2x1x1xf32>
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x3x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x4xf32>
  return %y : tensor<1x1x4x4xf32>
}
