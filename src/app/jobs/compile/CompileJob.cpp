#include "jobs/compile/CompileJob.h"

#include <nlohmann/json.hpp>

namespace lathe::jobs {

void to_json(nlohmann::json &json, const CompileJob &job) {
  json = {{"model", job.model}, {"output", job.output}, {"threads", job.threads}};
}

void from_json(const nlohmann::json &json, CompileJob &job) {
  json.at("model").get_to(job.model);
  json.at("output").get_to(job.output);
  json.at("threads").get_to(job.threads);
}

} // namespace lathe::jobs
