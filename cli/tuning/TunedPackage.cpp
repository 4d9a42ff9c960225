#include "cli/tuning/TunedPackage.h"

#include "cli/Self.h"
#include "lab/judging/Verdict.h"

#include <fstream>

namespace lathe::cli {

void compileWith(const ModelFlags &model, const CompileOptions &options,
                 const std::map<std::string, std::string> &schedules, const std::string &path) {
  CompileOptions compiling = options;
  auto lookUp = [&](const std::string &task) -> std::optional<TaskSchedules::Entry> {
    auto found = schedules.find(task);
    if (found == schedules.end())
      return std::nullopt;
    return TaskSchedules::Entry{found->second, "lathe tune"};
  };
  compiling.schedules = {std::make_shared<TaskSchedules>("lathe tune", lookUp)};
  Source source = loadSource(model);
  compile(*source.module, compiling, path);
}

static nlohmann::json jsonOf(const std::string &path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, false);
}

std::string verifyTuned(const ModelFlags &model, const std::string &tuned) {
  std::string verdict = (temporaryFolder() / "verdict.json").string();
  Arguments verify{"verify", model.model, "--package", tuned, "--threads", std::to_string(model.threads),
                   "--json", verdict,     quietFlag()};
  for (const std::string &flag : model.graphArguments())
    verify.push_back(flag);
  runSelf(verify);
  return fmt::format("verified: relative error {:.1e}", jsonOf(verdict).at("relative_error").get<double>());
}

TunedComparison compareTuned(const ModelFlags &model, const std::string &tuned, const std::string &untuned,
                             double seconds) {
  TunedComparison result;
  std::string times = (temporaryFolder() / "times.json").string();
  runSelf({"compare", tuned, "--with", untuned, "--threads", std::to_string(model.threads), "--max-seconds",
           fmt::format("{:.1f}", seconds), "--no-store", "--json", times, quietFlag()});
  result.comparison = jsonOf(times);
  const nlohmann::json &peer = result.comparison.at("peers").at(0);
  result.slower = peer.value("verdict", "") == name(lab::Verdict::slower);
  result.ratio = peer.value("ratio", 0.0);
  return result;
}

std::string TunedComparison::speedText(const std::string &other) const {
  const nlohmann::json &peer = comparison.at("peers").at(0);
  if (!peer.contains("ratio"))
    return "the outputs of both do not agree";
  return fmt::format("{:.3f} times the {} one's speed ({:.3f} to {:.3f}), {}", peer.value("ratio", 0.0), other,
                     peer.value("ratio_low", 0.0), peer.value("ratio_high", 0.0), peer.value("verdict", ""));
}

Table TunedComparison::sides() const {
  Table table({textColumn("package"), numberColumn("median", "ms"), numberColumn("mean", "ms"),
               numberColumn("min", "ms"), numberColumn("max", "ms"), numberColumn("std", "ms")});
  const char *names[] = {"tuned", "untuned"};
  for (size_t i : {1, 0}) {
    const nlohmann::json &time = comparison.at("sides").at(i).at("time");
    auto cell = [&](const char *key) { return fmt::format("{:.3f}", time.at(key).get<double>()); };
    table.row({names[i], cell("median_ms"), cell("mean_ms"), cell("min_ms"), cell("max_ms"), cell("std_ms")});
  }
  return table;
}

} // namespace lathe::cli
