#include "tune/model/MeasuredTasks.h"

#include "ir/Context.h"
#include "ir/ModelText.h"
#include "lab/judging/Statistics.h"
#include "store/Outcomes.h"

namespace lathe::tune {
namespace {

std::optional<MeasuredSchedule> measuredSchedule(const store::TuningRecord &record) {
  if (record.searcher.empty()) // a record of `ops bench`, which measures with other caches
    return std::nullopt;
  MeasuredSchedule one;
  for (int64_t sample : leadingOutcome(record).samples)
    if (sample > 0)
      one.seconds.push_back(double(sample) * 1e-9);
  if (one.seconds.empty())
    return std::nullopt;
  if (store::isInCompany(record.task)) // as Measurement::best
    one.seconds = {lab::median(one.seconds)};
  try {
    one.schedule = readSchedule(record.schedule);
  } catch (const Error &) { // a schedule of another version
    return std::nullopt;
  }
  return one;
}

/// "znver4 ... vector-width=256 L1=32K/1": ",vector-width=256"
std::string widthOption(const std::string &key) {
  constexpr std::string_view name = " vector-width=";
  size_t at = key.find(name);
  return at == std::string::npos ? "" : "," + key.substr(at + 1, key.find(' ', at + 1) - at - 1);
}

} // namespace

std::vector<MeasuredTask> MeasuredTasks::read(const std::string &family) {
  std::vector<MeasuredTask> tasks;
  for (store::TunedTask &stored :
       store.tunedTasks({.family = family, .statuses = {store::PointStatus::passed}, .withKernel = true})) {
    store::TuningTask &task = stored.task;
    std::optional<std::string> text = store::taskWithoutCompany(task.text, company);
    std::optional<TaskParts> parts = text ? partsOfTask(*text) : std::nullopt;
    if (!parts)
      continue;
    task.text = *text;
    std::map<std::string, MeasuredTask> platforms;
    for (const store::TuningRecord &record : stored.records) {
      std::optional<MeasuredSchedule> one = measuredSchedule(record);
      if (!one)
        continue;
      MeasuredTask &measured = platforms[record.platform];
      measured.schedules.push_back(std::move(*one));
      Origin &origin = origins[groupOf(task.text, record.platform)];
      if (origin.experiment.empty())
        origin = {task.text, task.kernel, *parts, record.platform, record.experiment};
    }
    for (auto &[platform, measured] : platforms) {
      measured.label = task.text;
      measured.group = groupOf(task.text, platform);
      tasks.push_back(std::move(measured));
    }
  }
  return tasks;
}

void MeasuredTasks::addFacts(std::vector<MeasuredTask> &tasks) {
  if (tasks.empty())
    return;
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  for (MeasuredTask &task : tasks) {
    task.facts = factsOf(*context, origins.at(task.group));
    std::erase_if(task.schedules,
                  [&](const MeasuredSchedule &one) { return !task.facts || !legal(*task.facts, one.schedule); });
  }
  std::erase_if(tasks, [](const MeasuredTask &task) { return task.schedules.empty(); });
}

std::shared_ptr<const KernelFacts> MeasuredTasks::factsOf(mlir::MLIRContext &context, const Origin &origin) {
  const Target *target = targetOf(origin);
  if (!target)
    return nullptr;
  try { // the store may come from another program
    auto module = nn::parseModelText(context, origin.kernel, store.path() + ", kernel");
    auto functions = module->getOps<mlir::func::FuncOp>();
    if (functions.empty())
      return nullptr;
    KernelProblem problem{
        {.threads = origin.parts.threads, .precision = origin.parts.precision, .relaxedMath = origin.parts.relaxedMath},
        *functions.begin(),
        *target};
    if (taskOf(problem) != origin.task)
      return nullptr;
    Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problem);
    return facts ? std::shared_ptr<const KernelFacts>(std::move(*facts)) : nullptr;
  } catch (const Error &) {
    return nullptr;
  }
}

const Target *MeasuredTasks::targetOf(const Origin &origin) {
  if (origin.platform == platform && origin.parts.target == here.key())
    return &here;
  auto [found, isNew] = elsewhere.try_emplace({origin.parts.target, origin.experiment});
  if (isNew)
    found->second = targetElsewhere(origin.parts.target, origin.experiment);
  return found->second ? &*found->second : nullptr;
}

std::optional<Target> MeasuredTasks::targetElsewhere(const std::string &key, const std::string &experiment) {
  if (experiment.empty())
    return std::nullopt;
  nlohmann::json settings = store.experiment(experiment).settings;
  if (!settings.contains("machine"))
    return std::nullopt;
  // Tries the machine's own target, then the target of the CPU in the key.
  for (const std::string &cpu : {std::string("machine"), key.substr(0, key.find(' '))})
    try {
      MachineFacts machine = parseMachineFacts(settings["machine"].dump(), "settings");
      Target target = Target::parse(cpu + widthOption(key), &machine);
      if (target.key() == key)
        return target;
    } catch (const Error &) { // this version does not know this machine
    }
  return std::nullopt;
}

} // namespace lathe::tune
