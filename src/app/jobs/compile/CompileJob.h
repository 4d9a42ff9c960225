// The options of the job that compiles a model to a package.
#pragma once

#include "jobs/ModelOptions.h"

namespace lathe::jobs {

struct CompileJob {
  ModelOptions model;
  std::string output; // file of the package
  int threads = 1;    // of the compilation itself
};

void to_json(nlohmann::json &json, const CompileJob &job);
void from_json(const nlohmann::json &json, CompileJob &job);

} // namespace lathe::jobs
