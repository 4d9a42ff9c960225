#include "cli/print/store/StorePrint.h"

#include "lab/StoreRecords.h"
#include "lab/judging/Statistics.h"
#include "report/Rows.h"
#include "support/Text.h"

namespace lathe::cli {
namespace {

using nlohmann::json;

/// "top1 0.75, top5 1"; without the counts of a confusion matrix.
std::string figuresText(const std::map<std::string, double> &figures) {
  std::string text;
  for (const auto &[name, figure] : figures)
    if (!name.starts_with("confusion "))
      text += fmt::format("{}{} {:.6g}", text.empty() ? "" : ", ", name, figure);
  return text;
}

/// Describes the machine and the user who measured.
std::string machineText(const store::Platform &platform, const store::Experiment &e) {
  if (e.kind == store::ExperimentKind::imported)
    return fmt::format("{}; measured by another program, {}", platform.cpu, shownName(store::PointStatus::notVerified));
  return fmt::format("{}, {}, {}, {}{}; lathe {} ({})", platform.cpu, counted(platform.cores, "core"),
                     counted(platform.hardwareThreads, "hardware thread"), platform.kernel,
                     platform.virtualized ? ", virtual machine (" + platform.hypervisor + ")" : "", e.version, e.build);
}

/// A line for the labels of the experiment, and one for those of its platform.
std::string labelLines(const std::vector<store::Label> &labels, const store::Experiment &e) {
  std::string lines;
  for (auto [target, key] :
       {std::pair{store::LabelTarget::experiment, e.uuid}, {store::LabelTarget::platform, e.platform}})
    if (std::string text = labelText(indexOf(labels, target)[key]); !text.empty())
      lines += fmt::format("{}: {}\n", name(target), printable(text));
  return lines;
}

} // namespace

std::string labelText(const store::Labels &labels) {
  std::string text = labels.name;
  for (const std::string &tag : labels.tags)
    text += (text.empty() ? "#" : " #") + tag;
  return labels.note.empty() ? text : text.empty() ? labels.note : text + ": " + labels.note;
}

ListedExperiments::ListedExperiments()
    : table({textColumn("id"), textColumn("started").drop(1), textColumn("kind"), numberColumn("points"),
             numberColumn("passed").drop(2), textColumn("CPU").drop(3).shrink(12), textColumn("labels").shrink(12),
             textColumn("command").shrink(20)}) {}

void ListedExperiments::add(const store::ExperimentSummary &summary, const store::Labels &labels) {
  const store::Experiment &e = summary.experiment;
  bool isImported = e.kind == store::ExperimentKind::imported;
  table.row({e.uuid.substr(0, 8), e.started.substr(0, 19) + "Z",
             isImported ? fmt::format("{} ({})", name(e.kind), shownName(store::PointStatus::notVerified))
                        : std::string(name(e.kind)),
             std::to_string(summary.points), std::to_string(summary.passed), summary.cpu, labelText(labels),
             e.command + (!e.finished.empty() ? ""
                          : summary.owner     ? fmt::format(" (measured by process {})", summary.owner->pid)
                                              : " (not finished)")});
  json document = store::toJson(e);
  document["points"] = summary.points;
  document["passed"] = summary.passed;
  document["cpu"] = summary.cpu;
  document.update(toJson(labels));
  documents.push_back(std::move(document));
}

ListedPoints::ListedPoints()
    : table({textColumn("operator").drop(1), textColumn("problem").shrink(20), textColumn("provider").shrink(12),
             textColumn("setting").drop(2).shrink(8), textColumn("status"), numberColumn("samples").drop(3),
             numberColumn("median", "ms"), numberColumn("min", "ms").drop(4), textColumn("figures").shrink(12)}) {}

void ListedPoints::add(const store::Point &point, bool document) {
  lab::Summary time = lab::summarize(lab::secondsOf(point));
  auto ms = [&](double seconds) { return time.count ? millisecondsText(seconds) : ""; };
  report::Row row;
  row.provider = point.provider;
  row.variant = point.variant;
  row.setting = point.setting;
  row.status = store::PointStatus::passed; // the status column says which points are not verified
  table.row({point.problem.op, point.problem.text, report::scheduledColumnOf(row), report::settingText(point.setting),
             std::string(shownName(point.status)), std::to_string(time.count), ms(time.median), ms(time.min),
             figuresText(point.figures)});
  if (!document)
    return;
  json &added = documents.emplace_back(store::toJson(point));
  added.erase("samples");
  if (time.count)
    added["time"] = lab::toJson(time);
}

std::string experimentText(const store::Experiment &e, const store::Platform &platform,
                           const std::vector<store::Label> &labels) {
  std::string text = fmt::format("{} ({}), {} to {}\n{}\n{}\n{}", e.uuid, name(e.kind), e.started,
                                 e.finished.empty() ? "(not finished)" : e.finished, printable(e.command),
                                 printable(machineText(platform, e)), labelLines(labels, e));
  if (e.disturbance.otherProcessors)
    text += fmt::format("others kept {:.2f} processors busy\n", *e.disturbance.otherProcessors);
  return text;
}

} // namespace lathe::cli
