// What a kernel family knows of one kernel function, as plain data: enough to list the values its schedules' parameters
// may take, to say whether a schedule is legal and to choose one without search. No MLIR.
//
// A family reads the facts once (codegen/Generate.h). One piece of code turns facts and a schedule into a plan; `legal`
// and `generate` both use it, so they agree.
#pragma once

#include "codegen/target/Target.h"
#include "schedule/Algorithms.h"
#include "support/Dim.h"
#include "support/ElementType.h"
#include "support/Error.h"
#include "support/Precision.h"

#include <memory>

namespace lathe {

/// Thrown by a plan for a schedule that is not legal: the constraint of the schedule's algorithm that it breaks
/// (Algorithm::constraints, by id) and what breaks it.
struct Illegal {
  const char *constraint;
  std::string reason;
};

template <class... Args>
[[noreturn]] void illegal(const char *constraint, fmt::format_string<Args...> format, Args &&...args) {
  throw Illegal{constraint, fmt::format(format, std::forward<Args>(args)...)};
}

/// An argument or result of a kernel.
struct TensorFacts {
  ElementType type = ElementType::invalid;
  Dims dims;
  int64_t block = 0; // channels in a block of the layout; 0: row-major
  bool constant = false;
};

/// The values worth trying for one parameter of an algorithm on one kernel: they depend on the kernel's shapes and the
/// target's registers and instructions, never on measured rates. Not every combination is legal.
struct Knob {
  const Parameter *parameter;
  std::vector<int64_t> numbers;    // of a number, ascending
  std::vector<const char *> words; // of a word

  size_t size() const { return parameter->kind == Parameter::Kind::word ? words.size() : numbers.size(); }
  /// Sets the parameter of `schedule` to value number `index`.
  void apply(Schedule &schedule, size_t index) const;
};

class KernelFacts {
public:
  virtual ~KernelFacts() = default;

  std::string family; // KernelFamily::name
  std::vector<TensorFacts> inputs, outputs;
  // What the kernel is compiled for.
  Target target;
  int threads = 1;
  bool exactMath = false, smallMemory = false;
  Precision precision = Precision::fp32; // the prior chooses for

  /// The schedule chosen without search. Throws Illegal where none is legal.
  virtual Schedule prior() const = 0;
  /// Throws Illegal for a schedule of an algorithm of the family that is not legal for this kernel.
  virtual void require(const Schedule &schedule) const = 0;
  /// Values for every parameter of `algorithm`, one of the family's, in the order of its declaration.
  std::vector<Knob> knobs(const Algorithm &algorithm) const;

protected:
  /// Candidates for a number whose declared range is too long to list; may hold values out of range and duplicates,
  /// which knobs() drops. Empty: the whole range.
  virtual std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const = 0;
};

/// Whether a schedule is legal for a kernel, and which constraint it breaks where it is not.
struct Legality {
  const Constraint *broken = nullptr;
  std::string reason; // "px=30 oc=4 needs more than 32 registers"

  explicit operator bool() const { return !broken; }
};

/// Throws Error for a schedule that schedule/Algorithms.h does not declare.
Legality legal(const KernelFacts &facts, const Schedule &schedule);

/// The constraint that every schedule of another family breaks.
extern const Constraint ofItsFamily;

// ---- Candidates ----

/// 1, 2, 4, ... up to `most`.
std::vector<int64_t> powersOfTwo(int64_t most);
/// 1, 2, 3, ... up to `most`.
std::vector<int64_t> upTo(int64_t most);
/// The sizes that cut `extent` into 1, 2, 3, ... even pieces, each size once and at most `count` of them.
std::vector<int64_t> evenSizes(int64_t extent, int64_t count = 16);
/// Every divisor of `value` up to `most`.
std::vector<int64_t> divisors(int64_t value, int64_t most);

} // namespace lathe
