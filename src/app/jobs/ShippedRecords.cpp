#include "jobs/ShippedRecords.h"

#include "jobs/Self.h"
#include "jobs/Terminal.h"
#include "schedule/Algorithms.h"
#include "store/ContentKey.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>

namespace lathe::jobs {

bool isSet(const char *variable) {
  const char *value = std::getenv(variable);
  return value && *value;
}

void sayWithoutRecords(const std::string &records, const Error &error) {
  sayOnce("LATHE_NO_RECORDS_SAID", fmt::format("lathe: compiles without {}: {}", records, error.what()));
}

std::vector<std::string> shippedArchives() {
  std::vector<std::string> archives;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(shippedFolder("records"), ignored))
    if (entry.path().extension() == ".jsonl")
      archives.push_back(entry.path().string());
  std::sort(archives.begin(), archives.end());
  return archives;
}

std::string archiveName(const std::string &machine) {
  constexpr size_t digits = 8;
  return fmt::format("{}-{}.jsonl", machine.substr(0, machine.find(' ')), store::contentKey(machine).substr(0, digits));
}

std::string shippedIdentity() {
  std::string text;
  for (const std::string &archive : shippedArchives()) {
    struct stat status;
    if (::stat(archive.c_str(), &status) == 0)
      text += fmt::format("{} {} {}.{}\n", archive, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  return text;
}

bool isDeclared(const std::string &schedule) {
  try {
    readSchedule(schedule);
    return true;
  } catch (const Error &) {
    return false;
  }
}

ShippedRecords::ShippedRecords(const std::string &machine) {
  std::string archive = (std::filesystem::path(shippedFolder("records")) / archiveName(machine)).string();
  std::error_code ignored;
  if (std::filesystem::exists(archive, ignored))
    index.emplace(archive);
}

std::optional<ShippedRecords> ShippedRecords::ofMachine(const std::string &machine) {
  if (isSet(noRecordsVariable))
    return std::nullopt;
  try {
    return ShippedRecords(machine);
  } catch (const Error &error) {
    sayWithoutRecords("the tuning records that came with it", error);
    return std::nullopt;
  }
}

std::optional<store::TuningRecord> ShippedRecords::find(const std::string &task) const {
  std::optional<store::TuningRecord> record = index ? index->find(task) : std::nullopt;
  bool isUsed = record && record->verdict == store::TuningVerdict::faster && isDeclared(record->schedule);
  return isUsed ? record : std::nullopt;
}

} // namespace lathe::jobs
