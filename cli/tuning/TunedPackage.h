// The tuned package of a model beside the untuned one.
#pragma once

#include "cli/CompilerVerbs.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

#include <map>

namespace lathe::cli {

/// Compiles the package of the model with these schedules (by the text of their tasks) and the prior's for all other kernels.
void compileWith(const ModelFlags &model, const CompileOptions &options,
                 const std::map<std::string, std::string> &schedules, const std::string &path);

struct TunedComparison {
  std::string verification;  // of the tuned package
  bool slower = false;       // the verdict on the tuned package
  double ratio = 0;          // untuned time / tuned time; 0: the outputs do not agree
  nlohmann::json comparison; // of `lathe compare`, the tuned package first

  /// "1.052 times the untuned one's speed (1.044 to 1.060), faster"; `other`: what is not tuned, in words.
  std::string speedText(const std::string &other = "untuned") const;
  /// Times of both packages side by side.
  Table sides() const;
};

/// Verifies the tuned package against the references and returns a line about it. Throws ChildFailed, and says why, if the
/// outputs are wrong.
std::string verifyTuned(const ModelFlags &model, const std::string &tuned);
/// Times both packages in turns for about `seconds`. Throws ChildFailed, and says why, if their outputs differ.
TunedComparison compareTuned(const ModelFlags &model, const std::string &tuned, const std::string &untuned,
                             double seconds);

} // namespace lathe::cli
