// What the verbs bench and profile share: a context with bound inputs, totals of its plan, and the verdict on its
// outputs.
#pragma once

#include "jobs/Inputs.h"
#include "runtime/Context.h"

#include <functional>

namespace lathe::jobs {

/// A loaded model whose inputs are bound, ready to be measured.
struct Prepared {
  std::string package; // path of the package
  std::shared_ptr<const runtime::Model> model;
  std::unique_ptr<runtime::Context> context;
  std::string inputText;       // the inputs as text, such as "data 1x3x224x224, random"
  std::string extents;         // values of the symbols, such as "N=8"; "" without symbols
  std::string variant;         // variant of the package that runs (jobs/Variants.h); "" for the general plan
  double flops = 0, bytes = 0; // total operations and bytes of the plan's kernels
};

/// Compiles the model if necessary, loads it, binds the inputs and runs once.
Prepared prepare(const ModelOptions &model, const InputOptions &inputs);
/// The first half of `prepare`: returns a context without inputs. `beforeContext` is called when the model is compiled
/// and loaded: the context's threads and memory come behind it.
Prepared load(const ModelOptions &model, const std::function<void()> &beforeContext = [] {});
/// The second half of `prepare`: binds the inputs and runs once. May be called again for other extents.
void bindAndRun(Prepared &prepared, const InputOptions &inputs, const std::vector<std::string> &shapes);

/// The reason why the outputs of the last run are not trusted, such as "prob: not finite"; "": no reason.
std::string mistrusted(const Prepared &prepared);

/// The verdict on a model's outputs, also as text: "verified 2026-05-01: relative error 3.1e-07", or "unverified
/// (lathe verify MODEL)".
struct Verification {
  bool judged = false, verified = false;
  bool mistrusted = false; // the outputs are right but prove nothing, for example because they are constant
  std::string text;
};
/// Returns the stored verdict on `package`, which was compiled from `model`; if only a package is given, the model
/// whose name the package states counts.
Verification verificationOf(const ModelOptions &model, const runtime::Model &package);
/// Returns the verdict like verificationOf, but first verifies a package without a verdict, on the same inputs in
/// another process, if its model is available. If `says` is false, that process prints only progress and errors.
Verification checkedFirst(const ModelOptions &model, const InputOptions &inputs, const Prepared &prepared,
                          bool says = true);

/// Returns the median time, in seconds, of a call of an empty kernel on `threads` slots: for one slot the cost of a
/// call, for more the cost of a fork and join. The slots still spin from the previous call, as in a run.
double callSeconds(int threads);

/// The peak resident memory of this process, in bytes.
uint64_t peakResidentBytes();

} // namespace lathe::jobs
