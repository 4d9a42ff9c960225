// RUN: lathe-opt %s --bind-extents --twin | FileCheck %s

// A kernel counts, the count becomes a symbol, and a kernel writes as many results.
// CHECK: %[[COUNTS:.*]] = nn.count_non_zero %arg0
// CHECK: nn.reduce_sum %[[COUNTS]]
// CHECK: nn.bind_extents {{.*}} {most = "24", symbols = "found.count"}
// CHECK: nn.non_zero_positions
// CHECK-SAME: -> tensor<2x?xi64>
// An operand that says how many there are becomes one of extents.
// CHECK: nn.bind_extents {{.*}} {most = "6", symbols = "best.k"}
// CHECK: nn.top_k
// Only the reference knows how many rows are distinct: its results have names.
// CHECK: nn.unique {{.*}} nn.extents = ["rows.extent", "", "rows.extent", "", "rows.extent"]
// CHECK-NOT: nn.non_zero %
// CHECK: twin: equal
func.func @main(%x: tensor<4x6xf32>, %k: tensor<1xi64>)
    -> (tensor<2x?xi64>, tensor<4x?xf32>, tensor<4x?xi64>, tensor<?x6xf32>) {
  %0 = nn.non_zero %x : (tensor<4x6xf32>) -> tensor<2x?xi64> loc("found")
  %v, %i = nn.top_k %x, %k : (tensor<4x6xf32>, tensor<1xi64>) -> (tensor<4x?xf32>, tensor<4x?xi64>) loc("best")
  %y:4 = nn.unique %x {axis = 0 : i64} : (tensor<4x6xf32>)
      -> (tensor<?x6xf32>, tensor<?xi64>, tensor<4xi64>, tensor<?xi64>) loc("rows")
  return %0, %v, %i, %y#0 : tensor<2x?xi64>, tensor<4x?xf32>, tensor<4x?xi64>, tensor<?x6xf32>
}
