#include "Times.h"

#include "codegen/target/Target.h"
#include "support/Error.h"

#include <ctime>
#include <fstream>

namespace lathe::study {

void predict(TimedKernel &kernel, const KernelFacts &facts) {
  for (TimedSchedule &one : kernel.schedules)
    one.prediction = facts.predict(readSchedule(one.schedule));
}

Json toJson(const TimedKernel &kernel) {
  Json schedules = Json::array();
  for (const TimedSchedule &one : kernel.schedules)
    schedules.push_back({{"schedule", one.schedule},
                         {"seconds", one.seconds},
                         {"halves", one.halves},
                         {"cycles", one.prediction.total()},
                         {"compute", one.prediction.compute},
                         {"levels", one.prediction.levels},
                         {"start", one.prediction.start}});
  return {{"task", kernel.label},      {"family", kernel.family}, {"text", kernel.text},   {"threads", kernel.threads},
          {"kernels", kernel.kernels}, {"wrong", kernel.wrong},   {"schedules", schedules}};
}

std::vector<TimedKernel> kernelsIn(const Json &document) {
  std::vector<TimedKernel> kernels;
  for (const Json &task : document.at("tasks")) {
    TimedKernel kernel{task.at("task"), task.at("family"), task.at("text")};
    kernel.threads = task.value("threads", 1);
    kernel.kernels = task.value("kernels", 1);
    kernel.wrong = task.at("wrong");
    for (const Json &one : task.at("schedules"))
      kernel.schedules.push_back({one.at("schedule"), one.at("seconds"), {one.at("halves")[0], one["halves"][1]}, {}});
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

Json readJson(const std::string &path) {
  std::ifstream file(path);
  require(file.good(), "{}: cannot be read", path);
  return Json::parse(file);
}

void TimesFiles::addTo(CLI::App &command) {
  command.add_option("--json", json, "Write the times to this file");
  command.add_option("--replay", replay, "Measure nothing: predict again what this file has the times of");
}

void TimesFiles::write(const Json &kernels, const Target &target, Json more) const {
  if (json.empty())
    return;
  more.update({{"cpu", target.str()}, {"date", int64_t(std::time(nullptr))}, {"tasks", kernels}});
  std::ofstream file(json);
  file << more.dump(1);
  require(file.good(), "{}: cannot be written", json);
}

} // namespace lathe::study
