// Converts words of a command line to columns.
#include "lab/ops/OpsLab.h"

#include <algorithm>

namespace lathe::lab {

std::vector<OpsColumn> opsColumns(const std::string &op, const std::vector<std::string> &words,
                                  const OpsLabOptions &options, const std::vector<std::string> &schedules) {
  std::vector<OpsColumn> columns;
  for (auto &word : words) {
    size_t colon = word.find(':');
    std::string provider = word.substr(0, colon);
    auto spec = findProvider(provider);
    require(spec.done(), "provider '{}': {}", provider, spec.done() ? "" : spec.reason());
    if (!options.via.empty())
      *spec = viaCommand(*spec, options.via, options.viaDirectory);
    auto worker = ProviderWorker::start(*spec, options.limits, options.timeouts);
    require(worker.ok(), "provider '{}': {}", provider, worker.ok() ? "" : worker.failure().message());
    auto variants = worker->variants(op);
    OpsColumn asked{*spec, "", "", worker->platform(), worker->version(), "", worker->caches()};
    worker->quit();
    if (variants.empty()) {
      asked.lacks = fmt::format("{} has no {}", provider, op);
      variants = {"auto"};
    }
    bool all = colon != std::string::npos && word.substr(colon + 1) == "all";
    if (colon != std::string::npos && !all) {
      std::string variant = word.substr(colon + 1);
      require(std::find(variants.begin(), variants.end(), variant) != variants.end(),
              "provider '{}' has no variant '{}' of {}, expected {} or all", provider, variant, op,
              fmt::join(variants, ", "));
      variants = {variant};
    } else if (!all && provider == knownProviders().front()) {
      variants.resize(1); // the default variant
    }
    for (auto &variant : variants)
      for (auto &schedule : worker->takesSchedules() ? schedules : std::vector<std::string>{""}) {
        OpsColumn column = asked;
        column.variant = variant;
        column.schedule = schedule;
        require(
            std::none_of(columns.begin(), columns.end(), [&](auto &other) { return other.name() == column.name(); }),
            "provider '{}' is given twice", column.name());
        columns.push_back(std::move(column));
      }
  }
  return columns;
}

} // namespace lathe::lab
