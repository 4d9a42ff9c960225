#include "ops/Registry.h"

namespace lathe {

InferResult inferReshape(const ReshapeAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  Dims target = toDims(a.shape);
  if (in.size() > 1 && in[1]) {
    if (in[1]->contents) {
      target = *in[1]->contents;
    } else {
      // The rank is known, the extents are not.
      require(in[1]->rank() == 1 && in[1]->dims[0].isConstant(), "reshape: the shape operand must have a static length");
      return {TensorInfo{x.type, Dims(in[1]->dims[0].constant(), unknownDim()), std::nullopt}};
    }
  }
  Dims result;
  Dim known = 1;
  int inferred = -1;
  for (size_t i = 0; i < target.size(); ++i) {
    Dim extent = target[i];
    if (extent == Dim(0) && !a.allow_zero) {
      require(i < x.rank(), "reshape_c3: shape copies extent {} of x, which has rank {}", i, x.rank());
      extent = x.dims[i];
    }
    if (extent == Dim(-1)) {
      require(inferred < 0, "reshape_c2: shape has more than one -1");
      inferred = static_cast<int>(i);
      result.push_back(1);
      continue;
    }
    known = known * extent;
    result.push_back(extent);
  }
  Dim total = product(x.dims);
  if (inferred >= 0) {
    if (total.isConstant() && known.isConstant())
      require(known.constant() != 0 && total.constant() % known.constant() == 0,
              "reshape_c1: {} elements do not divide into {}", total.str(), str(target));
    result[inferred] = floorDiv(total, known);
  } else if (total.isConstant() && known.isConstant()) {
    require(total == known, "reshape_c1: x has {} elements, shape {} has {}", total.str(), str(result), known.str());
  }
  return {TensorInfo{x.type, result, x.contents}};
}

} // namespace lathe
