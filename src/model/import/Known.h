// What is known at compile time about values of a graph: symbolic extents, and contents of small tensors.
#pragma once

#include "ir/Bridge.h"
#include "runtime/Tensor.h"

#include <optional>
#include <unordered_map>

namespace lathe::source {

class KnownValues {
public:
  /// Symbolic extents of a value, and its contents if it is a small integer tensor. References stay valid.
  const TensorInfo &info(mlir::Value value);
  void setInfo(mlir::Value value, TensorInfo info) { infos[value.getAsOpaquePointer()] = std::move(info); }
  /// Removes what is known about a value that is erased, because a new value may get its address.
  void forget(mlir::Value value) {
    infos.erase(value.getAsOpaquePointer());
    tensors.erase(value.getAsOpaquePointer());
  }
  /// Elements of a small tensor that depends only on constants and static extents, computed by the references; null for
  /// other values.
  const Tensor *contents(mlir::Value value) { return contents(value, 0); }

private:
  std::unordered_map<void *, TensorInfo> infos; // key: the opaque pointer of the value
  std::unordered_map<void *, std::optional<Tensor>> tensors;

  const Tensor *contents(mlir::Value value, int level);
  std::optional<Tensor> evaluate(mlir::Value value, int level);
};

} // namespace lathe::source
