#include "cache/Verdicts.h"

#include "support/CacheFolder.h"
#include "support/File.h"

#include <filesystem>
#include <fstream>

namespace lathe::cache {
namespace {

constexpr uintmax_t verdictBytes = 16 << 20; // bytes: some ten thousand verdicts
constexpr size_t mostModels = 16;            // whose verdicts one package keeps

/// Returns "" if no verdict can be kept.
std::string pathOf(const runtime::Model &package) {
  std::optional<uint64_t> content = package.contentHash();
  std::string folder = content ? cacheFolder("verdicts") : "";
  return folder.empty() ? "" : fmt::format("{}/{:016x}.json", folder, *content);
}

/// The verdicts of a package, the newest at the end; an empty list for a damaged file.
nlohmann::json verdictsAt(const std::string &path) {
  std::ifstream file(path);
  nlohmann::json verdicts = nlohmann::json::parse(file, nullptr, false);
  return verdicts.is_array() ? verdicts : nlohmann::json::array();
}

std::string keyOf(uint64_t model) { return fmt::format("{:016x}", model); }

bool has(const nlohmann::json &entry, const char *member, const std::string &value) {
  return entry.is_object() && entry.contains(member) && entry[member] == value;
}

/// The newest verdict whose `member` is `value`, preferably one that passed: a package that computes one of the models
/// is right.
std::optional<KeptVerdict> lastVerdict(const runtime::Model &package, const char *member, const std::string &value) {
  std::string path = pathOf(package);
  if (path.empty())
    return std::nullopt;
  markUsed(path);
  nlohmann::json verdicts = verdictsAt(path);
  std::optional<KeptVerdict> found;
  for (const nlohmann::json &entry : verdicts)
    if (std::optional<KeptVerdict> verdict = has(entry, member, value) ? verdictIn(entry) : std::nullopt;
        verdict && (!found || verdict->passed || !found->passed))
      found = verdict;
  return found;
}

} // namespace

nlohmann::json toJson(const KeptVerdict &verdict) {
  return {{"passed", verdict.passed},
          {"date", verdict.date},
          {"summary", verdict.summary},
          {"mistrusted", verdict.mistrusted}};
}

std::optional<KeptVerdict> verdictIn(const nlohmann::json &document) {
  try {
    return KeptVerdict{document.at("passed").get<bool>(), document.at("date").get<std::string>(),
                       document.at("summary").get<std::string>(), document.at("mistrusted").get<std::string>()};
  } catch (const nlohmann::json::exception &) {
    return std::nullopt;
  }
}

void keepVerdict(const runtime::Model &package, const Judge &judge, const KeptVerdict &verdict) {
  std::string path = pathOf(package);
  if (path.empty())
    return;
  try {
    nlohmann::json kept = nlohmann::json::array(), added = toJson(verdict);
    added["model"] = keyOf(judge.model);
    added["source"] = judge.source;
    for (const nlohmann::json &entry : verdictsAt(path))
      if (!has(entry, "model", keyOf(judge.model)))
        kept.push_back(entry);
    kept.push_back(std::move(added));
    if (kept.size() > mostModels)
      kept.erase(kept.begin());
    writeFile(path, kept.dump());
    pruneOldest(std::filesystem::path(path).parent_path().string(), verdictBytes);
  } catch (const Error &) {
  } catch (const nlohmann::json::exception &) { // a name that is invalid UTF-8
  }
}

std::optional<KeptVerdict> keptVerdict(const runtime::Model &package, uint64_t model) {
  return lastVerdict(package, "model", keyOf(model));
}

std::optional<KeptVerdict> keptVerdict(const runtime::Model &package) {
  return lastVerdict(package, "source", package.source());
}

} // namespace lathe::cache
