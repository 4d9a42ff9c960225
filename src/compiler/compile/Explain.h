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
  bool chosen = false;  // the compiler chose it
  bool byPrior = false; // the prior chose it, even if the compiler was given another schedule
  bool byRule = false;  // the hand rules' schedule: one of the two that the prior chooses from
  bool byModel = false; // the other one: the schedule with the lowest predicted cost of the pruned space

  /// True for a candidate that is always shown.
  bool notable() const { return chosen || byPrior || byRule || byModel; }
};

/// Points of a space that one constraint declined.
struct DeclinedPoints {
  const Constraint *constraint = nullptr;
  int64_t points = 0;
  std::string example, reason; // the first of these schedules, and why it is illegal
};

/// The points of one algorithm's space that were tried.
struct ExploredAlgorithm {
  const Algorithm *algorithm = nullptr;
  SpaceSize size; // without --precision bf16, schedules that round operands to bf16 do not count as legal
  std::vector<DeclinedPoints> declined; // most points first
};

/// How the kernel that computes a node is scheduled.
struct KernelExplanation {
  std::string kernel;             // name of the function
  std::vector<std::string> nodes; // source nodes that the kernel computes
  std::string task, family;       // codegen/Task.h, KernelFamily::name
  bool openExtents = false;       // some extents are known at run time only; predictions are for extent 1
  std::string origin;             // source of the chosen schedule: "the prior's rule", "mine.txt, line 3"
  size_t candidates = 0;          // distinct legal schedules that were compared
  size_t variations = 0;          // of them, legal schedules that differ from the chosen one in one parameter
  size_t rank = 0;                // 1 + number of candidates with a lower predicted cost than the chosen one
  std::vector<Candidate> best;    // lowest predicted cost first; notable ones are always included
  std::vector<ExploredAlgorithm> algorithms; // of the family
};

struct Explanation {
  std::string node;                        // as the caller gave it
  std::string answer;                      // sentence that names the kernel, or says why no kernel computes the node
  std::optional<KernelExplanation> kernel; // empty: no kernel computes the node
};

/// Limits for the points that are tried in the space of each algorithm. More are drawn where few points are legal (one
/// in a hundred for `winograd`).
inline constexpr Sampling explainSampling{.tried = 2000, .legal = 1000, .most = 100000};

/// Explains the kernel that computes `node`, which is the name of a source node or of a kernel.
/// Tries points of the space of each algorithm (`explainSampling`) and every schedule that differs
/// from the chosen one in one parameter. Returns at most `most` candidates besides notable ones.
/// Lowers the module to kernels
/// level. Throws Error for an unknown node, and for a node that several kernels compute.
Explanation explain(mlir::ModuleOp module, const CompileOptions &options, const std::string &node, size_t most = 10);

} // namespace lathe
