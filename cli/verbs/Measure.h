// What bench and profile share: a context with bound inputs, the totals of its plan, and whether its outputs can be
// trusted.
#pragma once

#include "cli/Inputs.h"
#include "runtime/Context.h"

namespace lathe::cli {

/// A model ready to run again and again.
struct Prepared {
  std::string package; // its file
  std::shared_ptr<const runtime::Model> model;
  std::unique_ptr<runtime::Context> context;
  std::string inputText;       // "data 1x3x224x224, random"
  double flops = 0, bytes = 0; // of the plan's kernels
};

/// Loads (compiling first where needed), binds inputs and runs once.
Prepared prepare(const ModelFlags &model, const InputFlags &inputs);

/// Why the outputs of the last run make its time meaningless ("prob: not finite"), or "".
std::string mistrusted(const Prepared &prepared);

/// "verified 2026-05-01: relative error 3.1e-07", or "unverified (lathe verify MODEL)".
struct Verification {
  bool judged = false, verified = false;
  bool mistrusted = false; // judged, and nothing follows from it
  std::string text;
};
Verification verificationOf(const runtime::Model &package);
/// Likewise; a package that nobody has judged is verified first on the same inputs, in a process of its own, where
/// there is a model to judge it by.
Verification checkedFirst(const ModelFlags &model, const InputFlags &inputs, const Prepared &prepared);

/// Seconds from calling a kernel that does nothing on `threads` slots until all of them have done it: with one, what a
/// call costs beside the kernel; with more, a fork and join. The median of many, with slots still spinning from the
/// call before, as in a run.
double callSeconds(int threads);

/// Largest resident set of this process so far, in bytes.
uint64_t peakResidentBytes();

} // namespace lathe::cli
