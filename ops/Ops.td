// All operators. A new family adds its file here.
#ifndef LATHE_OPS
#define LATHE_OPS
include "ir/Nn.td"
include "ops/conv/Conv.td"
include "ops/elementwise/Elementwise.td"
include "ops/shape/Shape.td"
#endif
