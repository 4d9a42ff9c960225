#include "SearchLog.h"

#include "store/ContentKey.h"
#include "support/Error.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace lathe::study {

using Json = nlohmann::json;

static std::string hashOf(const std::string &task) { return store::contentKey(task).substr(0, 16); }

SearchLog::SearchLog(const std::string &path) {
  if (std::filesystem::exists(path))
    read(path);
  file.open(path, std::ios::app);
  require(file.good(), "{}: cannot be written", path);
}

void SearchLog::read(const std::string &path) {
  std::ifstream input(path);
  uintmax_t whole = 0;
  for (std::string line; std::getline(input, line);) {
    if (input.eof()) // without an end of line: torn
      break;
    whole += line.size() + 1;
    try {
      Json json = Json::parse(line);
      if (json.contains("speed")) {
        finals[json.at("task")] = {json.at("schedules"), json.at("seconds"), json.at("speed")};
        continue;
      }
      Measurement one{json.at("schedule"), store::pointStatus(json.at("status").get<std::string>()),
                      json.value("reason", ""), json.value("seconds", std::vector<double>())};
      one.build = json.value("build", 0.0);
      one.run = json.value("run", 0.0);
      measured[json.at("task")][one.schedule] = one;
    } catch (const Json::exception &error) {
      fail("{}: a line is not of `search`: {}", path, error.what());
    }
  }
  if (whole < std::filesystem::file_size(path))
    std::filesystem::resize_file(path, whole);
}

const Measurement *SearchLog::find(const std::string &task, const std::string &schedule) const {
  const auto &all = of(task);
  auto found = all.find(schedule);
  return found == all.end() ? nullptr : &found->second;
}

const std::map<std::string, Measurement> &SearchLog::of(const std::string &task) const {
  static const std::map<std::string, Measurement> none;
  auto found = measured.find(hashOf(task));
  return found == measured.end() ? none : found->second;
}

void SearchLog::add(const std::string &task, const Measurement &one) {
  Json json = {{"task", hashOf(task)}, {"schedule", one.schedule}, {"status", std::string(name(one.status))}};
  if (!one.reason.empty())
    json["reason"] = one.reason;
  if (!one.seconds.empty())
    json["seconds"] = one.seconds;
  json["build"] = one.build;
  json["run"] = one.run;
  file << json.dump() << "\n" << std::flush;
  measured[hashOf(task)][one.schedule] = one;
}

const TurnsOfTask *SearchLog::turns(const std::string &task) const {
  auto found = finals.find(hashOf(task));
  return found == finals.end() ? nullptr : &found->second;
}

void SearchLog::setTurns(const std::string &task, const TurnsOfTask &turns) {
  Json json = {
      {"task", hashOf(task)}, {"schedules", turns.schedules}, {"seconds", turns.seconds}, {"speed", turns.speed}};
  file << json.dump() << "\n" << std::flush;
  finals[hashOf(task)] = turns;
}

} // namespace lathe::study
