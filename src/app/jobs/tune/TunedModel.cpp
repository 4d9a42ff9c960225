#include "jobs/tune/TunedModel.h"

#include "jobs/Common.h"
#include "lab/machine/Disturbance.h"
#include "store/ContentKey.h"

#include <fstream>

namespace lathe::jobs {

using nlohmann::json;

bool TunedModel::kept() const { return gained() && !report.at("undone").get<bool>(); }

bool TunedModel::gained() const {
  if (!tuned())
    return false;
  const json &tasks = report.at("tasks");
  return report.value("graph", json::object()).value("kept", false) ||
         std::any_of(tasks.begin(), tasks.end(), [](const json &task) { return !task.at("gain").is_null(); });
}

int64_t TunedModel::trials() const {
  int64_t all = 0;
  for (const json &task : report.at("tasks"))
    all += task.at("trials").get<int64_t>();
  return all;
}

int64_t TunedModel::failedTrials() const { return report.at("failed_trials").get<int64_t>(); }

json TunedModel::times(bool tuned) const {
  const json &time = report.at("comparison").at("sides").at(tuned && kept() ? 0 : 1).at("time");
  json result;
  for (const char *key : {"mean_ms", "median_ms", "max_ms", "min_ms", "std_ms"})
    result[key] = time.at(key);
  return result;
}

const json &TunedModel::speedup() const { return report.at("comparison").at("peers").at(0); }

json TunedModel::peerRatio(bool tuned) const {
  const json &document = tuned && kept() ? after : before;
  return document.is_null() ? json() : document.at("peers").at(0);
}

bool TunedModel::disturbed() const {
  auto isDisturbed = [](const json &document) {
    return !document.is_null() && document.value("other_processors", 0.0) > lab::disturbingProcessors;
  };
  return (tuned() && isDisturbed(report.at("comparison"))) || isDisturbed(before) || isDisturbed(after);
}

json toJson(const TunedModel &model) {
  json document = {{"model", model.model}, {"tuning_s", model.tuningSeconds}, {"seconds", model.seconds}};
  if (!model.failure.empty())
    document["failure"] = model.failure;
  if (!model.tuned())
    return document;
  document["finished"] = model.finished;
  document["before"] = model.times(false);
  document["after"] = model.times(true);
  document["speedup"] = model.speedup();
  document["kept"] = model.kept();
  document["trials"] = model.trials();
  document["failed_trials"] = model.failedTrials();
  document["disturbed"] = model.disturbed();
  document["onnxruntime"] = {{"before", model.peerRatio(false)}, {"after", model.peerRatio(true)}};
  document["reports"] = {{"tune", model.report}, {"before", model.before}, {"after", model.after}};
  return document;
}

TunedModels::TunedModels(std::filesystem::path folder, json identity)
    : place(std::move(folder)), identity(std::move(identity)) {
  std::error_code error;
  std::filesystem::create_directories(place, error);
  require(!error, "{}: cannot create the folder for finished models: {}", place.string(), error.message());
}

std::filesystem::path TunedModels::fileOf(const std::string &model) const {
  std::string name = model;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_')
      c = '-';
  constexpr size_t most = 80; // characters: file systems limit names
  name = name.substr(name.size() - std::min(name.size(), most));
  return place / fmt::format("{}-{}.json", name, store::documentKey({model, identity.at("settings")}).substr(0, 16));
}

TunedModel TunedModels::read(const std::string &model, const std::string &content) const {
  TunedModel result;
  result.model = model;
  std::ifstream file(fileOf(model));
  json document = json::parse(file, nullptr, false);
  if (!document.is_object() || document.value("identity", json()) != identity ||
      document.value("content", "") != content)
    return result;
  result.tuningSeconds = document.value("tuning_s", 0.0);
  result.seconds = document.value("seconds", 0.0);
  result.finished = document.value("finished", "");
  for (auto &[key, part] : {std::pair{"tune", &result.report}, {"before", &result.before}, {"after", &result.after}})
    if (document.contains(key))
      *part = document[key];
  return result;
}

void TunedModels::write(const TunedModel &model, const std::string &content) const {
  json document = {{"identity", identity},
                   {"content", content},
                   {"tuning_s", model.tuningSeconds},
                   {"seconds", model.seconds},
                   {"finished", model.finished}};
  for (auto &[key, part] : {std::pair{"tune", &model.report}, {"before", &model.before}, {"after", &model.after}})
    if (!part->is_null())
      document[key] = *part;
  writeFile(fileOf(model.model).string(), document.dump(-1, ' ', false, json::error_handler_t::replace));
}

void TunedModels::remove(const std::string &model) const {
  std::error_code ignored;
  std::filesystem::remove(fileOf(model), ignored);
}

} // namespace lathe::jobs
