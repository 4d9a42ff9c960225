// Collects the run-time extents of a kernel before its code is generated.
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "support/Dim.h"

namespace lathe {

/// The list of extents that the code of a kernel needs at run time. Every extent that is not constant becomes one
/// entry of GeneratedKernel::dims. An entry is a whole expression ("N*196"): the plan evaluates it and the code only
/// loads it.
class RunTimeDims {
public:
  /// Adds `dim` to the run-time extents of the kernel. Call it before the KernelBuilder is made.
  const Dim &need(const Dim &dim) {
    if (!dim.isConstant() && !indexOf(dim))
      dims.push_back(dim);
    return dim;
  }
  mlir::Value value(KernelBuilder &k, const Dim &dim) const {
    return dim.isConstant() ? k.constant(dim.constant()) : k.dim(*indexOf(dim));
  }
  const Dims &list() const { return dims; }

private:
  Dims dims;
  std::optional<unsigned> indexOf(const Dim &dim) const {
    for (unsigned i = 0; i < dims.size(); ++i)
      if (dims[i] == dim)
        return i;
    return std::nullopt;
  }
};

} // namespace lathe
