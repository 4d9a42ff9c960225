// All operators. A new family adds its file here.
#ifndef LATHE_OPS
#define LATHE_OPS
include "ir/Nn.td"
include "ops/attention/Attention.td"
include "ops/conv/Conv.td"
include "ops/elementwise/Elementwise.td"
include "ops/indexed/Indexed.td"
include "ops/matmul/Matmul.td"
include "ops/movement/Movement.td"
include "ops/norm/Norm.td"
include "ops/pool/Pool.td"
include "ops/quantize/Quantize.td"
include "ops/recurrent/Recurrent.td"
include "ops/reduce/Reduce.td"
include "ops/resize/Resize.td"
include "ops/sample/Sample.td"
include "ops/scan/Scan.td"
include "ops/selection/Selection.td"
include "ops/shape/Shape.td"
include "ops/strings/Strings.td"
include "ops/values/Values.td"
#endif
