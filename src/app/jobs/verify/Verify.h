// Compares a package with the reference operators, on given and on random inputs.
#pragma once

#include "cache/Verdicts.h"
#include "jobs/Source.h"
#include "jobs/Steps.h"
#include "verify/Verification.h"

#include <functional>

namespace lathe::jobs {

struct VerifyJob {
  ModelOptions model; // the judge; its `package` is judged, "": the model is compiled
  InputOptions inputs;
  StepOptions stepping;
  verify::Options compared;
  int seeds = 2;        // random sets of inputs
  bool sameZoo = false; // demand of a zoo network that its weights and extents are those of the package
};

/// A compared set of inputs, or one of its steps.
struct VerifiedSet {
  std::string title; // "random, seed 1", "given inputs, step 3"
  verify::SetResult result;
  std::string extractCommand; // that cuts the diverging kernel out of the model; "": there is none
};

struct Verified {
  std::string package; // file
  Precision precision = Precision::fp32;
  std::vector<VerifiedSet> sets; // up to the first that differs
  lab::Difference worst;         // as in verify::Verdict
  cache::KeptVerdict verdict;
};

/// The model to judge `package` by when none is named: the zoo network that it says it was compiled from. Throws Error
/// if it says another model.
std::string modelOfPackage(const std::string &package, const ModelOptions &flags);

/// Does the job, and keeps the verdict for other verbs if it is by the default bounds. `told` is called after each set.
Verified verifyModel(VerifyJob job, const std::function<void(const VerifiedSet &)> &told);

} // namespace lathe::jobs
