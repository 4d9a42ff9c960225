// Interface to the reference operators, which run the parts of a plan that were not compiled.
//
// References are a separate library (liblathe_references.so beside the runtime), loaded with the
// first plan that needs it. A program that links references statically registers them with
// `setReferenceProvider`; then nothing is loaded.
#pragma once

#include "runtime/Tensor.h"

#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace lathe::runtime {

/// Runs body(begin, end) for equal parts of [0, count), each on its own thread.
using ParallelFor = std::function<void(int64_t count, const std::function<void(int64_t begin, int64_t end)> &body)>;

/// One operator with decoded attributes, as its reference implementation. Immutable; may run on several threads at
/// once.
class ReferenceOperator {
public:
  virtual ~ReferenceOperator() = default;
  /// Runs the reference operator. `inputs` are null for absent optional operands. Outputs that are tensors with the
  /// right extents are written in place; an undefined output is replaced by a tensor with the extents that the shape
  /// function, or the operator itself, determines.
  virtual void run(std::span<const Value *const> inputs, std::span<Value> outputs,
                   const ParallelFor &parallel) const = 0;
};

class ReferenceProvider {
public:
  virtual ~ReferenceProvider() = default;
  /// Makes the reference operator for `op` with encoded attributes (encodeAttrs of ops/Attrs.h). Throws Error for an
  /// unknown operator and for malformed attributes.
  virtual std::unique_ptr<ReferenceOperator> prepare(std::string_view op, std::span<const uint8_t> attrs) const = 0;
};

/// Registers `provider`, which makes reference operators; it must have static storage duration.
void setReferenceProvider(const ReferenceProvider *provider);

/// Returns the registered provider of reference operators, else the provider in liblathe_references.so. Throws Error
/// if there is none.
const ReferenceProvider &referenceProvider();

/// Version of the classes in this header and of Value. A references library with another version is rejected.
inline constexpr uint32_t referenceAbi = 1;

/// Registers the reference operators that are linked into the program. Defined in library lathe_reference_library.
void registerReferences();

} // namespace lathe::runtime
