// The facts that a kernel family reads from a kernel function, as plain data without MLIR. They suffice to list the
// candidate values of parameters, to decide whether a schedule is legal, and to choose one without search.
//
// A family reads the facts once (codegen/Generate.h). `legal` and `generate` both convert facts and a schedule to a
// plan with the same code, so they agree.
#pragma once

#include "codegen/space/Prediction.h"
#include "codegen/target/KernelOptions.h"
#include "codegen/target/Target.h"
#include "schedule/Algorithms.h"
#include "support/Dim.h"
#include "support/ElementType.h"
#include "support/Error.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace lathe {

struct LoopNest;

/// Thrown when a plan is made of an illegal schedule: the id of the violated constraint of the algorithm
/// (Algorithm::constraints) and the reason.
struct Illegal {
  const char *constraint;
  std::string reason;
};

template <class... Args>
[[noreturn]] void illegal(const char *constraint, fmt::format_string<Args...> format, Args &&...args) {
  throw Illegal{constraint, fmt::format(format, std::forward<Args>(args)...)};
}

/// Facts about an argument or result of a kernel.
struct TensorFacts {
  ElementType type = ElementType::invalid;
  Dims dims;
  int64_t block = 0; // channels per block in the blocked layout; 0: row-major
  bool constant = false;
};

/// Candidate values of one schedule parameter for one kernel: a dimension of the search space. They depend on the
/// shapes of the kernel and on the registers and instructions of the target, never on measured rates. Not every
/// combination of values is legal.
struct Knob {
  const Parameter *parameter;
  std::vector<int64_t> numbers;    // candidate values if the parameter is a number, ascending
  std::vector<const char *> words; // candidate values if the parameter is a word

  size_t size() const { return parameter->kind == Parameter::Kind::word ? words.size() : numbers.size(); }
  /// Sets the knob's parameter in `schedule` to value number `index`.
  void apply(Schedule &schedule, size_t index) const;
};

/// What a caller prescribes about a schedule: the algorithm, and optionally parameter m of `winograd` (outputs per
/// tile and axis).
struct AlgorithmChoice {
  std::string algorithm; // name of the algorithm, such as "winograd"; its current version is meant
  std::optional<int64_t> m = {};
};

class KernelFacts : public KernelOptions {
public:
  virtual ~KernelFacts() = default;

  std::string family; // name of the kernel family (KernelFamily::name)
  std::vector<TensorFacts> inputs, outputs;
  Target target;
  /// Values of extent symbols that facts and cost predictions assume if the family needs numbers; the code still takes
  /// any values. `inputs` and `outputs` have these values, too.
  std::map<std::string, int64_t> assumed;

  /// Chooses a schedule for the kernel without search. Throws Illegal if no schedule is legal.
  virtual Schedule prior() const = 0;
  /// Chooses a schedule like prior(), but only among schedules of the given algorithm. Throws Illegal if none is
  /// legal. The implementation in this class serves families with one algorithm.
  virtual Schedule priorOf(const AlgorithmChoice &choice) const;
  /// Throws Illegal unless the schedule is legal for this kernel. Its algorithm must belong to the family.
  virtual void require(const Schedule &schedule) const = 0;
  /// Predicts the time of a run of the kernel with a legal schedule. The implementation in this class counts the
  /// traffic of all operands and results, which no schedule avoids; families add what they compute and what their
  /// schedules read again.
  virtual Prediction predict(const Schedule &schedule) const;
  /// The nests of loops of the kernel that run one after the other with a legal schedule (codegen/cost/LoopNest.h);
  /// the nest with most of the work is first. At least one.
  virtual std::vector<LoopNest> loopNests(const Schedule &schedule) const;
  /// Extents of the kernel's problem, indexed by LoopAxis: the same for all schedules. In this class: rows are the
  /// elements of the results, reduction the operand elements for each of them.
  virtual std::array<double, 5> problemExtents() const;
  /// Returns a knob for every parameter of `algorithm`, which belongs to the family, in the order of declaration.
  std::vector<Knob> knobs(const Algorithm &algorithm) const;

protected:
  /// Candidates for a parameter that is a number, if its declared range is too long to list. They may have duplicates
  /// and values out of range, which knobs() removes. Empty: the whole range.
  virtual std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const = 0;
  /// False for a word that `parameter` cannot have in any schedule of this kernel on the target.
  virtual bool allowsWord(const Parameter &, std::string_view) const { return true; }
};

/// Result of the function `legal`: the schedule is legal, or it violates a constraint.
struct Legality {
  const Constraint *broken = nullptr;
  std::string reason; // why the schedule is illegal: "px=30 oc=4 needs more than 32 registers"

  explicit operator bool() const { return !broken; }
};

/// Decides whether a schedule is legal for a kernel. Throws Error for a schedule that schedule/Algorithms.h does not
/// declare.
Legality legal(const KernelFacts &facts, const Schedule &schedule);

/// The constraint that a schedule of another kernel family violates.
extern const Constraint ofItsFamily;

// ---- Candidates ----

/// Returns 1, 2, 4, ... up to `most`.
std::vector<int64_t> powersOfTwo(int64_t most);
/// Returns 1, 2, 3, ... up to `most`.
std::vector<int64_t> upTo(int64_t most);
/// Returns sizes of pieces ceil(extent / n) for divisions into n = 1, 2, 3, ... pieces, in descending order, without
/// duplicates. Beyond 8 pieces every size is at most half the previous one. Returns the first `count` sizes.
std::vector<int64_t> evenSizes(int64_t extent, int64_t count = 16);
/// Returns every divisor of `value` up to `most`.
std::vector<int64_t> divisors(int64_t value, int64_t most);

/// Largest number of vectors in a row of a register block: with more vectors, the block has too few rows.
inline constexpr int64_t mostVectors = 8;
/// Candidates for the number of rows of a register block of at least one vector, for a kernel with `rows` rows.
std::vector<int64_t> blockRows(const Target &target, int64_t rows);
/// True for a parameter whose values its declaration lists: a switch or a word.
inline bool listsItself(const Parameter &parameter) { return parameter.most - parameter.least < 8; }

} // namespace lathe
