// The door to the reference operators: what runs the parts of a plan that were not compiled.
//
// References are a library of their own (liblathe_references.so beside the runtime), loaded when the first plan that
// needs it is; a program that links them statically registers them with `setReferenceProvider` and nothing is ever
// loaded.
#pragma once

#include "runtime/Tensor.h"

#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace lathe::runtime {

/// Runs body(begin, end) over a static split of [0, count).
using ParallelFor = std::function<void(int64_t count, const std::function<void(int64_t begin, int64_t end)> &body)>;

/// One operator with its attributes decoded. Immutable; may run on several threads at once.
class ReferenceOperator {
public:
  virtual ~ReferenceOperator() = default;
  /// `inputs`: null where an optional operand is absent. `outputs`: tensors allocated with the right extents are
  /// written in place; an undefined one is replaced by what the operator's shape function (or the operator itself)
  /// gives.
  virtual void run(std::span<const Value *const> inputs, std::span<Value> outputs,
                   const ParallelFor &parallel) const = 0;
};

class ReferenceProvider {
public:
  virtual ~ReferenceProvider() = default;
  /// Throws Error for an unknown operator or malformed attributes (ops/Attrs.h encodeAttrs).
  virtual std::unique_ptr<ReferenceOperator> prepare(std::string_view op, std::span<const uint8_t> attrs) const = 0;
};

/// Makes `provider` (of static storage duration) answer from now on.
void setReferenceProvider(const ReferenceProvider *provider);

/// The registered provider, else the one of liblathe_references.so. Throws Error when there is none.
const ReferenceProvider &referenceProvider();

/// Raised when the classes above, or Value, change: a references library of another build is refused.
inline constexpr uint32_t referenceAbi = 1;

/// For programs that link the references: registers them. Defined in library lathe_reference_library.
void registerReferences();

} // namespace lathe::runtime
