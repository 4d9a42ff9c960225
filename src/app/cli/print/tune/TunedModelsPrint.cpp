#include "cli/print/tune/TunedModelsPrint.h"

#include "cli/flags/Options.h"
#include "lab/machine/Disturbance.h"
#include "lab/machine/Machine.h"
#include "support/Text.h"

#include <cmath>
#include <set>

namespace lathe::cli {

using nlohmann::json;

namespace {

/// "2026-11-23 20:15" of a time of store::timeNow().
std::string minuteText(const std::string &time) {
  std::string text = time.substr(0, 16);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text;
}

/// "1.052 (1.044 to 1.060) faster"; "" for null. `judged` has the keys of lab::toJson(JudgedRatio).
std::string ratioText(const json &judged) {
  if (judged.is_null())
    return "";
  return fmt::format("{:.3f} ({:.3f} to {:.3f}{}) {}", judged.at("ratio").get<double>(),
                     judged.at("ratio_low").get<double>(), judged.at("ratio_high").get<double>(),
                     judged.at("confidence").is_null() ? ", range" : "", judged.at("verdict").get<std::string>());
}

std::string milliseconds(const json &times, const char *key) {
  return fmt::format("{:.3f}", times.at(key).get<double>());
}

std::string minutes(const TunedModel &model) { return fmt::format("{:.1f}", model.tuningSeconds / 60); }

/// The ratio without its interval, for narrow tables.
std::string ratioNumber(const json &judged) {
  return judged.is_null() ? "" : fmt::format("{:.3f}", judged.at("ratio").get<double>());
}

size_t gainedTasks(const TunedModel &model) {
  const json &tasks = model.report.at("tasks");
  return size_t(std::count_if(tasks.begin(), tasks.end(), [](const json &task) { return !task.at("gain").is_null(); }));
}

/// A table in Markdown; numbers are aligned to the right.
std::string markdown(const Table &table) {
  auto line = [](const auto &cells, auto &&text) {
    std::string result = "|";
    for (const auto &cell : cells)
      result += " " + text(cell) + " |";
    return result + "\n";
  };
  auto escaped = [](const TableCell &cell) {
    std::string text;
    for (char c : printable(cell.text))
      text += c == '|' ? std::string("\\|") : std::string(1, c);
    return text;
  };
  std::string result = line(table.columnList(), [](const TableColumn &column) { return column.heading(); }) + "|";
  for (const TableColumn &column : table.columnList())
    result += column.alignsRight ? "---:|" : "---|";
  result += "\n";
  for (const std::vector<TableCell> &row : table.cells())
    result += line(row, escaped);
  return result;
}

Table timesTable(const std::vector<TunedModel> &models) {
  Table table({textColumn("network"), textColumn("package"), numberColumn("mean", "ms"), numberColumn("median", "ms"),
               numberColumn("max", "ms"), numberColumn("min", "ms"), numberColumn("std", "ms"),
               textColumn("ONNX Runtime / Lathe")});
  for (const TunedModel &model : models) {
    if (!model.tuned()) {
      table.row({model.model, "not tuned", "", "", "", "", "", ""});
      continue;
    }
    for (bool tuned : {false, true}) {
      std::string name = tuned ? "" : model.model + (model.disturbed() ? " (disturbed)" : "");
      std::vector<TableCell> cells{name, tuned ? "after" : "before"};
      json times = model.times(tuned);
      for (const char *key : {"mean_ms", "median_ms", "max_ms", "min_ms", "std_ms"})
        cells.emplace_back(tuned && !model.kept() ? "as before" : milliseconds(times, key));
      cells.emplace_back(tuned && !model.kept() ? "as before" : ratioText(model.peerRatio(tuned)));
      table.row(std::move(cells));
    }
  }
  return table;
}

/// The ratio of the tuned package, and whether it was kept. Without a faster schedule two equal packages were compared.
std::string speedupText(const TunedModel &model) {
  return ratioText(model.speedup()) + (model.kept()     ? ""
                                       : model.gained() ? "; nothing is kept"
                                                        : "; no schedule is faster");
}

Table searchesTable(const std::vector<TunedModel> &models) {
  Table table({textColumn("network"), textColumn("before / after, in turns"), numberColumn("tasks"),
               numberColumn("faster tasks"), numberColumn("trials"), numberColumn("failed trials"),
               numberColumn("minutes"), textColumn("ended because")});
  for (const TunedModel &model : models)
    if (model.tuned())
      table.row({model.model, speedupText(model), std::to_string(model.report.at("tasks").size()),
                 std::to_string(gainedTasks(model)), std::to_string(model.trials()),
                 std::to_string(model.failedTrials()), minutes(model), model.report.at("ended").get<std::string>()});
  return table;
}

/// The versions of ONNX Runtime for all models: "onnxruntime 1.19.2".
std::string peerVersions(const std::vector<TunedModel> &models) {
  std::set<std::string> versions;
  for (const TunedModel &model : models)
    for (const json *document : {&model.before, &model.after})
      if (!document->is_null())
        versions.insert(document->at("sides").at(1).at("version").get<std::string>());
  return fmt::format("{}", fmt::join(versions, " and "));
}

std::string head(const TuneAllOptions &all, const TunedAll &tuned) {
  const std::vector<TunedModel> &models = tuned.models;
  const lab::MachineCeilings &machine = lab::machineCeilings();
  std::string versions = peerVersions(models);
  std::string text = fmt::format("- **Machine**: {}, {}, {}; measured peak {:.0f} GFLOPS fp32 on one thread.\n",
                                 machine.cpu.empty() ? "unknown processor" : machine.cpu,
                                 counted(machine.hardwareThreads, "hardware thread"), machine.kernel,
                                 machine.gflops(ElementType::f32, 1));
  text += fmt::format("- **Versions**: Lathe {}, build {}{}.\n", tuned.build.version, tuned.build.key,
                      versions.empty() ? "" : "; ONNX Runtime " + versions);
  std::set<std::string> dates;
  int64_t disturbed = 0;
  for (const TunedModel &model : models)
    if (model.tuned()) {
      dates.insert(minuteText(model.finished));
      disturbed += model.disturbed();
    }
  if (!dates.empty())
    text += fmt::format(
        "- **Measured**: {} to {} UTC; {}, {} of tuning a network{}.\n", *dates.begin(), *dates.rbegin(),
        counted(all.common.threads, "thread"), all.budget > 0 ? waitText(all.budget) : "no limit",
        tuned.noPeer.empty() ? fmt::format(", {} of timing beside ONNX Runtime", waitText(all.maxSeconds)) : "");
  if (disturbed)
    text += fmt::format("- **The machine was disturbed** during {} of {}, which are marked: other programs kept more "
                        "than {:g} processors busy.\n",
                        disturbed, counted(int64_t(models.size()), "network"), lab::disturbingProcessors);
  return text;
}

constexpr const char *introduction =
    R"(# What does tuning gain for whole networks?

`lathe tune --all` searched schedules for each network, one network after another (docs/tuning.md).
*before* is the package with the default schedules, *after* the package with those that the search
kept. Both were timed in turns, and each in turns with ONNX Runtime: its time over Lathe's, above 1
where Lathe is faster, with a 95 % interval and a verdict (docs/measuring.md). Trials are those of
all tasks of a network, tasks that it shares with an earlier network included.

)";

} // namespace

/// One line about a model: "1.052 (1.044 to 1.060) faster, 9.9 min", or why it was not tuned.
static std::string outcomeText(const TunedModel &model) {
  if (!model.tuned())
    return "not tuned: " + model.failure;
  return fmt::format("{}, {} min", speedupText(model), minutes(model));
}

/// One row a model, in the order of the list.
static Table tunedModels(const std::vector<TunedModel> &models) {
  Table table({textColumn("model").shrink(14), numberColumn("before", "ms"), numberColumn("after", "ms"),
               numberColumn("speedup"), textColumn("interval").drop(4), textColumn("verdict").drop(1),
               numberColumn("ORT / before").drop(3), numberColumn("ORT / after").drop(2), numberColumn("tasks").drop(6),
               numberColumn("faster").drop(7), numberColumn("trials").drop(1), numberColumn("failed").drop(5),
               numberColumn("min of tuning").drop(1)});
  for (const TunedModel &model : models) {
    if (!model.tuned()) {
      table.row({model.model, "not tuned"});
      continue;
    }
    const json &speedup = model.speedup();
    table.row(
        {model.model, milliseconds(model.times(false), "median_ms"), milliseconds(model.times(true), "median_ms"),
         ratioNumber(speedup),
         fmt::format("{:.3f} to {:.3f}", speedup.at("ratio_low").get<double>(), speedup.at("ratio_high").get<double>()),
         speedup.at("verdict").get<std::string>(), ratioNumber(model.peerRatio(false)),
         ratioNumber(model.peerRatio(true)), std::to_string(model.report.at("tasks").size()),
         std::to_string(gainedTasks(model)), std::to_string(model.trials()), std::to_string(model.failedTrials()),
         minutes(model)});
  }
  return table;
}

std::string finishedText(size_t i, size_t count, const TunedModel &model, bool done,
                         std::optional<double> secondsLeft) {
  std::string text = done ? fmt::format("tuned before, {} UTC (--again tunes it again)", minuteText(model.finished))
                          : outcomeText(model);
  if (secondsLeft.value_or(0) > 0)
    text += fmt::format("; about {} left", waitText(*secondsLeft));
  return fmt::format("[{}/{}] {}: {}\n", i + 1, count, printable(model.model), printable(text));
}

/// Geometric mean of the speedups of models that were tuned, 1 where nothing is kept; nothing if none was tuned.
static std::optional<double> meanSpeedup(const std::vector<TunedModel> &models) {
  double sum = 0;
  int64_t count = 0;
  for (const TunedModel &model : models)
    if (model.tuned()) {
      sum += model.kept() ? std::log(model.speedup().at("ratio").get<double>()) : 0;
      ++count;
    }
  return count ? std::optional(std::exp(sum / double(count))) : std::nullopt;
}

/// Lines below the table: what has no figures and why.
static std::vector<std::string> tunedModelsNotes(const std::vector<TunedModel> &models, const std::string &noPeer) {
  std::vector<std::string> notes;
  for (const TunedModel &model : models) {
    if (!model.tuned())
      notes.push_back(fmt::format("{} was not tuned: {}", model.model, model.failure));
    if (noPeer.empty())
      for (auto &[when, reason] : {std::pair{"before", &model.beforeReason}, {"after", &model.afterReason}})
        if (!reason->empty())
          notes.push_back(fmt::format("{}, {}, has no ratio to ONNX Runtime: {}", model.model, when, *reason));
  }
  if (!noPeer.empty())
    notes.push_back("No ratios to ONNX Runtime: " + noPeer);
  return notes;
}

std::string tunedModelsText(const TunedAll &tuned, const TableStyle &style) {
  std::string text = tunedModels(tuned.models).str(style);
  if (std::optional<double> mean = meanSpeedup(tuned.models))
    text += fmt::format("geometric mean of the speedups: {:.3f}; 1 where nothing is kept\n", *mean);
  for (const std::string &note : tunedModelsNotes(tuned.models, tuned.noPeer))
    text += printable(note) + "\n";
  return text + fmt::format("kept in {}, and finished models in {}\n", printable(tuned.store), printable(tuned.folder));
}

json tunedModelsJson(const TuneAllOptions &all, const TunedAll &tuned) {
  json list = json::array();
  for (const TunedModel &model : tuned.models)
    list.push_back(toJson(model));
  std::optional<double> mean = meanSpeedup(tuned.models);
  return {{"models", list},
          {"mean_speedup", mean ? json(*mean) : json()},
          {"threads", all.common.threads},
          {"budget_s", all.budget},
          {"max_seconds", all.maxSeconds},
          {"no_onnxruntime", tuned.noPeer},
          {"build", tuned.build.key},
          {"store", tuned.store}};
}

std::string tunedModelsPage(const TuneAllOptions &all, const TunedAll &tuned) {
  const std::vector<TunedModel> &models = tuned.models;
  std::string text = fmt::format("<!-- Written by `{}`; do not edit. -->\n", all.command) + introduction;
  text += head(all, tuned) + "\n## Times\n\n" + markdown(timesTable(models)) + "\n## Searches\n\n";
  if (std::optional<double> mean = meanSpeedup(models)) {
    int64_t tuned = std::count_if(models.begin(), models.end(), [](const TunedModel &model) { return model.tuned(); });
    text += fmt::format("Geometric mean of the speedups: {:.3f} over {}; 1 where nothing is kept.\n\n", *mean,
                        counted(tuned, "network"));
  }
  text += markdown(searchesTable(models));
  std::string reasons;
  for (const std::string &note : tunedModelsNotes(models, tuned.noPeer))
    reasons += fmt::format("- {}\n", printable(note));
  return text + (reasons.empty() ? "" : "\n## No figures\n\n" + reasons);
}

} // namespace lathe::cli
