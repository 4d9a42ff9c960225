// Explains the choice of a kernel's schedule: the candidates with the lowest predicted cost, and
// the schedules that were declined.
#pragma once

#include "codegen/space/SpaceSize.h"
#include "compile/Compile.h"

namespace lathe {

/// A legal schedule with its predicted cost.
struct Candidate {
  Schedule schedule;
  Prediction prediction;
  bool chosen = false;  // the compiler uses this schedule
  bool byPrior = false; // the prior chooses this schedule, even if the compiler was given another one
  // The prior, which chooses schedules without measuring, takes the better of two by predicted cost:
  bool byRule = false;  // the schedule of the hand rules
  bool byModel = false; // the schedule with the lowest predicted cost in the pruned space

  /// True for a candidate that an explanation always lists.
  bool notable() const { return chosen || byPrior || byRule || byModel; }
};

/// The points of a search space that violate one constraint.
struct DeclinedPoints {
  const Constraint *constraint = nullptr;
  int64_t points = 0;
  std::string example, reason; // the first of these points as a schedule, and why it is illegal
};

/// What was tried in the search space of one algorithm.
struct ExploredAlgorithm {
  const Algorithm *algorithm = nullptr;
  SpaceSize size; // size of the space; schedules that round operands are legal only with --precision bf16
  std::vector<DeclinedPoints> declined; // illegal points by constraint, most points first
};

/// How the kernel that computes a node is scheduled, and which schedules were compared.
struct KernelExplanation {
  std::string kernel;             // name of the kernel function
  std::vector<std::string> nodes; // source nodes that the kernel computes
  std::string task, family;       // text of the kernel's task (codegen/Task.h), and name of the kernel family
  bool openExtents = false;       // true if some extents are known at run time only; predictions count them as 1
  std::string origin;             // source of the chosen schedule, such as "the prior's rule" or "mine.txt, line 3"
  size_t candidates = 0;          // number of distinct legal schedules that were compared
  size_t variations = 0;          // number of candidates that differ from the chosen schedule in one parameter
  size_t rank = 0;                // place of the chosen schedule: 1 + number of candidates with a lower predicted cost
  /// Candidates with the lowest predicted cost, in rising order of cost; notable candidates are always included.
  std::vector<Candidate> best;
  std::vector<ExploredAlgorithm> algorithms; // the algorithms of the kernel's family
};

struct Explanation {
  std::string node;                        // name of the explained node as the caller gave it
  std::string answer;                      // a sentence that names the kernel, or says why no kernel computes the node
  std::optional<KernelExplanation> kernel; // empty: no kernel computes the node
};

/// Number of points that `explain` tries in the search space of each algorithm: 2000, or more until 1000 of them are
/// legal, but at most 100000. In some spaces few points are legal (one in a hundred for `winograd`).
inline constexpr Sampling explainSampling{.tried = 2000, .legal = 1000, .most = 100000};

/// Explains the schedule of the kernel that computes `node`, which is the name of a source node or of a kernel. Tries
/// points of the space of each algorithm (`explainSampling`) and every schedule that differs from the chosen one in
/// one parameter. Returns at most `most` candidates besides notable ones. Lowers the module to kernels level. Throws
/// Error for an unknown node, and for a node that several kernels compute.
Explanation explain(mlir::ModuleOp module, const CompileOptions &options, const std::string &node, size_t most = 10);

} // namespace lathe
