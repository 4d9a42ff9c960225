// Consecutive runs of a model with states between them, for the flags --steps and --state.
#pragma once

#include "jobs/Inputs.h"
#include "runtime/Context.h"

namespace lathe::jobs {

/// A state: an output of a run that is an input of the next run.
struct StatePair {
  size_t input = 0, output = 0; // index of the input port; index of the output port
  int64_t max = 0;              // room for growth of the state (Context::keepState)
};

struct StepOptions {
  int64_t steps = 1;
  std::vector<std::string> states; // values of --state: "past=present", "past_*=present_*:max=1024"

  /// True if the user asked for anything but one run without states.
  bool given() const { return steps != 1 || !states.empty(); }
};

/// Returns the states that --state names, with every input that a `*` matches. Throws Error for a text of another
/// form, for names that are not ports, and for a port in two pairs.
std::vector<StatePair> statePairs(std::span<const runtime::Port> inputs, std::span<const runtime::Port> outputs,
                                  const std::vector<std::string> &texts);

/// Sets the inputs of consecutive steps. A given input with one more axis than the model's input, and one position per
/// step along it, has a value for each step; other given inputs have the same value in all steps. Filled inputs are
/// filled again for each step. States that are not given start with the real number zero.
class StepInputs {
public:
  StepInputs(std::span<const runtime::Port> ports, std::vector<StatePair> pairs, const InputOptions &flags,
             const std::vector<std::string> &shapes, int64_t steps);

  /// Sets the inputs of step number `step` in `context`, which keeps the states. The first step also sets given
  /// states; later steps set all inputs except states.
  void set(runtime::Context &context, int64_t step) const;

private:
  std::span<const runtime::Port> ports;
  std::vector<StatePair> pairs;
  InputOptions flags;
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, Value> given;
  int64_t steps;

  bool isState(size_t port) const;
  std::map<std::string, int64_t> knownExtents(const runtime::Context &context, int64_t step) const;
  const Value *valueOf(const runtime::Port &port, int64_t step, Value &part) const;
};

} // namespace lathe::jobs
