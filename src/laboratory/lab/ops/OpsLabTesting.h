// What tests of the operator laboratory share: columns of a provider that does as it is told, and short measurements.
#pragma once

#include "lab/ops/OpsLab.h"

namespace lathe::lab {

/// A column of FakeProvider.py, which behaves as `how` says.
inline OpsColumn fake(const std::string &how, const std::string &provider = "fake",
                      const std::string &variant = "auto") {
  OpsColumn column;
  column.provider.name = provider;
  column.provider.command.argv = {"/usr/bin/python3", LATHE_SOURCE_DIR "/src/laboratory/lab/ops/FakeProvider.py"};
  if (!how.empty())
    column.provider.command.argv.push_back(how);
  column.variant = variant;
  return column;
}

/// Options for one start of three short rounds.
inline OpsLabOptions quick() {
  OpsLabOptions options;
  options.minRounds = options.maxRounds = 3;
  options.minStarts = options.maxStarts = 1;
  options.roundSeconds = 0.005;
  return options;
}

/// Options with enough starts for a verdict.
inline OpsLabOptions enoughStarts() {
  OpsLabOptions options = quick();
  options.minRounds = options.maxRounds = 9;
  options.minStarts = options.maxStarts = 3;
  return options;
}

/// A convolution, by its short text.
inline ListedProblem problem(const std::string &text = "mb2g2ic4ih6oc6kh3ph1sh2") {
  return {parseProblem("conv2d", text), "conv2d", text, text, {}, 1};
}

} // namespace lathe::lab
