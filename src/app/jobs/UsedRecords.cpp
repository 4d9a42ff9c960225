#include "jobs/UsedRecords.h"

#include "jobs/Terminal.h"
#include "lab/StoreRecords.h"
#include "runtime/plan/Program.h"
#include "store/ContentKey.h"
#include "store/Outcomes.h"
#include "store/ReadOnly.h"
#include "support/Text.h"
#include "support/archive/RecordArchive.h"

#include <cstdlib>
#include <filesystem>

namespace lathe::jobs {

static constexpr std::string_view originPrefix = "the record of ", shippedSuffix = " shipped with lathe",
                                  companySuffix = ", in company";
static constexpr std::string_view graphPrefix = "graph/1 | ", teamPrefix = "team/1 | ", streamPrefix = "streams/1 | ";

std::string graphTask(const std::string &task, BatchOrder order) {
  return std::string(graphPrefix) + task + (order == BatchOrder::images ? " | image by image" : "");
}

std::string teamTask(const std::string &task) { return std::string(teamPrefix) + task; }

std::string streamTask(const std::string &plan, int threads, const std::string &target) {
  return fmt::format("{}{} | {} | {}", streamPrefix, plan, counted(threads, "thread"), target);
}

/// The records in a company of tasks whose text begins with `prefix`.
static TimeRecords timeRecords(store::Store &store, const std::string &platform, const std::string &company,
                               std::string_view prefix) {
  TimeRecords records;
  store::TuningFilter filter;
  filter.part = prefix;
  filter.platform = platform;
  for (store::TuningRecord &record : store.tuning(filter))
    if (auto task = store::taskWithoutCompany(record.task, company); task && task->starts_with(prefix)) {
      if (record.seconds) // times of the run that compared: times of several days make another choice
        record.seconds = leadingOutcome(record).seconds;
      records[{*task, record.schedule}] = std::move(record);
    }
  return records;
}

TimeRecords graphRecords(store::Store &store, const std::string &platform, const std::string &company) {
  return timeRecords(store, platform, company, graphPrefix);
}

TimeRecords teamRecords(store::Store &store, const std::string &platform) {
  return timeRecords(store, platform, "", teamPrefix);
}

static std::string storeOf(const ModelOptions &flags) {
  return flags.store.empty() ? store::defaultStorePath() : flags.store;
}

UsedRecords::UsedRecords(const ModelOptions &flags) {
  if (!flags.takesRecords() || isSet(noRecordsVariable))
    return;
  archives = shippedIdentity();
  if (!flags.store.empty()) {
    store::Location place(flags.store);
    require(place.mayExist(), "--store {}: does not exist: nothing was kept there yet", place.text());
    read(flags.store, flags);
    return;
  }
  if (!isSet("XDG_DATA_HOME") && !isSet("HOME"))
    return;
  std::error_code ignored;
  if (!std::filesystem::exists(storeOf(flags), ignored))
    return;
  try {
    read(storeOf(flags), flags);
  } catch (const Error &error) {
    sayWithoutRecords("tuning records", error);
  }
}

void UsedRecords::Book::add(const std::string &task, Entry entry) {
  entries[task] = std::move(entry);
  if (std::optional<std::string> closed = withoutOpenExtents(task))
    openTasks[*closed] = task;
}

const UsedRecords::Entry *UsedRecords::Book::find(const std::string &task) const {
  auto found = entries.find(task);
  return found == entries.end() ? nullptr : &found->second;
}

const UsedRecords::Entry *UsedRecords::Book::findOther(const std::string &task) const {
  if (std::optional<std::string> closed = withoutOpenExtents(task))
    if (const Entry *entry = find(*closed))
      return entry;
  auto open = openTasks.find(task);
  return open == openTasks.end() ? nullptr : find(open->second);
}

void UsedRecords::read(const std::string &path, const ModelOptions &flags) {
  const std::string &company = flags.company;
  const bool withStreams = flags.streams == "auto";
  store::Store store = store::openForReading(path);
  std::string name = store.connection().location().name();
  std::string platform = lab::platformHere().key();
  bool graphs = false;
  for (store::ChosenSchedule &chosen : store.chosenSchedules(platform)) {
    std::optional<std::string> task = store::taskWithoutCompany(chosen.task, company);
    bool isTogether = task && !company.empty();
    if (!task)
      task = store::taskWithoutCompany(chosen.task, "");
    if (!task) // in other company
      continue;
    if (task->starts_with(graphPrefix)) {
      graphs |= chosen.platform == platform;
      continue;
    }
    Entry entry = {chosen.schedule, fmt::format("{}{} in {}{}", originPrefix, chosen.measured.substr(0, 10),
                                                printable(name), isTogether ? companySuffix : "")};
    if (task->starts_with(streamPrefix)) {
      if (withStreams && !isTogether)
        streamEntries[*task] = std::move(entry);
      continue;
    }
    // A default schedule matters if records that come later in `find` differ.
    if (!chosen.schedule.empty() || isTogether || !archives.empty())
      (isTogether ? together : alone).add(*task, std::move(entry));
  }
  if (withStreams)
    for (auto &[key, record] : teamRecords(store, platform))
      if (record.seconds)
        teamTimes[key] = *record.seconds;
  if (graphs)
    readTimes(store, platform, company);
  if (times.empty() && graphs && !company.empty())
    readTimes(store, platform, "");
}

void UsedRecords::readTimes(store::Store &store, const std::string &platform, const std::string &company) {
  for (auto &[key, record] : graphRecords(store, platform, company))
    if (record.seconds && record.verdict == store::TuningVerdict::faster)
      times[key] = *record.seconds;
}

void UsedRecords::addShipped(const std::string &machine) {
  if (!archives.empty())
    shipped = ShippedRecords::ofMachine(machine);
}

std::optional<double> UsedRecords::seconds(const std::string &task, const std::string &schedule,
                                           BatchOrder order) const {
  auto found = times.find({graphTask(task, order), schedule});
  return found == times.end() ? std::nullopt : std::optional(found->second);
}

std::optional<UsedRecords::Entry> UsedRecords::streams(const std::string &task) const {
  auto found = streamEntries.find(task);
  return found == streamEntries.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> UsedRecords::teamSeconds(const std::string &task, const std::string &schedule) const {
  auto found = teamTimes.find({teamTask(task), schedule});
  return found == teamTimes.end() ? std::nullopt : std::optional(found->second);
}

std::optional<UsedRecords::Entry> UsedRecords::findShipped(const std::string &task) const {
  std::optional<store::TuningRecord> record = shipped ? shipped->find(task) : std::nullopt;
  if (!record)
    return std::nullopt;
  return Entry{record->schedule, fmt::format("{}{}{}", originPrefix, record->measured.substr(0, 10), shippedSuffix)};
}

std::optional<UsedRecords::Entry> UsedRecords::find(const std::string &task) const {
  auto used = [](const Entry &entry) { return entry.schedule.empty() ? std::nullopt : std::optional(entry); };
  for (const Entry *entry : {together.find(task), together.findOther(task), alone.find(task)})
    if (entry)
      return used(*entry);
  if (std::optional<Entry> entry = findShipped(task))
    return entry;
  if (const Entry *entry = alone.findOther(task))
    return used(*entry);
  std::optional<std::string> closed = withoutOpenExtents(task);
  return closed ? findShipped(*closed) : std::nullopt;
}

std::string UsedRecords::digest() const {
  if (empty())
    return "";
  store::ContentHasher hasher;
  hasher.update({archives.c_str(), archives.size() + 1});
  for (auto *entries : {&alone.entries, &together.entries, &streamEntries})
    for (auto &[task, entry] : *entries)
      for (const std::string &text : {task, entry.schedule, entry.origin})
        hasher.update({text.c_str(), text.size() + 1});
  for (auto *all : {&times, &teamTimes})
    for (auto &[key, seconds] : *all)
      for (const std::string &text : {key.first, key.second, fmt::format("{}", seconds)})
        hasher.update({text.c_str(), text.size() + 1});
  return hasher.digest();
}

void RecordUse::add(const std::string &kernel, const std::string &schedule, const std::string &origin) {
  ++all;
  if (!origin.starts_with(originPrefix))
    return;
  ++kernels;
  shipped += origin.ends_with(shippedSuffix);
  inCompany += origin.ends_with(companySuffix);
  digest = store::contentKey(digest + "\n" + kernel + "\n" + schedule);
}

void RecordUse::addGraph(const runtime::Plan &plan) {
  std::string graph;
  bool measured = plan.measuredChoices > 0;
  for (const runtime::Instruction *instruction : plan.instructions)
    if (auto *call = std::get_if<runtime::CallKernel>(&instruction->operation)) {
      const runtime::KernelInfo &kernel = plan.kernels[call->kernel];
      graph += fmt::format("{} {} {} {}", kernel.name, kernel.schedule, call->callSeconds, call->imagesSeconds);
      for (uint32_t value : call->buffers)
        graph += fmt::format(" {}", plan.values[value].block);
      graph += "\n";
      measured |= call->callSeconds > 0;
    }
  if (measured)
    digest = store::contentKey(digest + "\n" + graph);
}

std::string RecordUse::line(const ModelOptions &flags) const {
  if (!kernels && flags.company.empty())
    return "";
  std::string where = !shipped             ? "in " + storeOf(flags)
                      : shipped == kernels ? "shipped with lathe"
                                           : fmt::format("in {}, or {} shipped with lathe", storeOf(flags), shipped);
  std::string kinds = flags.company.empty()
                          ? ""
                          : fmt::format(": {} in this company, {} of kernels alone", inCompany, kernels - inCompany);
  return fmt::format("{} of {} have schedules of records {}{} (--no-records compiles without)", kernels,
                     counted(int64_t(all), "kernel"), where, kinds);
}

RecordUse recordUse(const runtime::Model &package) {
  RecordUse use;
  for (const runtime::Plan &plan : package.program().plans) {
    for (const runtime::KernelInfo &kernel : plan.kernels)
      use.add(kernel.name, kernel.schedule, kernel.origin);
    use.addGraph(plan);
  }
  return use;
}

RecordUse recordUse(const std::map<std::string, int> &origins) {
  RecordUse use;
  for (auto &[origin, count] : origins)
    for (int i = 0; i < count; ++i)
      use.add("", "", origin);
  return use;
}

} // namespace lathe::jobs
