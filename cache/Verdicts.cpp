#include "cache/Verdicts.h"

#include "support/CacheFolder.h"
#include "support/File.h"

#include <filesystem>
#include <fstream>

namespace lathe::cache {
namespace {

constexpr uintmax_t limit = 16 << 20; // bytes: some ten thousand verdicts

/// "" where no verdict can be kept.
std::string pathOf(const runtime::Model &package) {
  std::optional<uint64_t> content = package.contentHash();
  std::string folder = content ? cacheFolder("verdicts") : "";
  return folder.empty() ? "" : fmt::format("{}/{:016x}.json", folder, *content);
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

void keepVerdict(const runtime::Model &package, const KeptVerdict &verdict) {
  std::string path = pathOf(package);
  if (path.empty())
    return;
  try {
    writeFile(path, toJson(verdict).dump());
    pruneOldest(std::filesystem::path(path).parent_path().string(), limit);
  } catch (const Error &) {
  }
}

std::optional<KeptVerdict> keptVerdict(const runtime::Model &package) {
  std::string path = pathOf(package);
  if (path.empty())
    return std::nullopt;
  markUsed(path);
  std::ifstream file(path);
  return verdictIn(nlohmann::json::parse(file, nullptr, false));
}

} // namespace lathe::cache
