#include "ops/Registry.h"

namespace lathe {

InferResult inferUnary(const Attrs &, const InferInputs &in) { return {TensorInfo{in[0]->type, in[0]->dims, std::nullopt}}; }

InferResult inferBinary(const Attrs &, const InferInputs &in) {
  require(in[0]->type == in[1]->type, "binary_c1: operands are {} and {}, expected the same type", name(in[0]->type),
          name(in[1]->type));
  return {TensorInfo{in[0]->type, broadcast(in[0]->dims, in[1]->dims), std::nullopt}};
}

} // namespace lathe
