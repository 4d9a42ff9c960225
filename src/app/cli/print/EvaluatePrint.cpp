#include "cli/print/EvaluatePrint.h"

#include "support/Text.h"

namespace lathe::cli {

using nlohmann::json;

namespace {

double percent(size_t part, size_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string classText(const Evaluation &evaluation, size_t index) {
  return index < evaluation.names.size() ? printable(evaluation.names[index]) : std::to_string(index);
}

Table classTable(const Evaluation &evaluation) {
  Table table({textColumn("class").shrink(12), numberColumn("pictures"), numberColumn("decided"), numberColumn("right"),
               numberColumn("precision"), numberColumn("recall"), numberColumn("F1")});
  for (size_t index : evaluation.confusion->present()) {
    evaluate::ClassFigures figures = evaluation.confusion->figures(index);
    table.row({classText(evaluation, index), std::to_string(figures.count), std::to_string(figures.decided),
               std::to_string(figures.right), fmt::format("{:.3f}", figures.precision()),
               fmt::format("{:.3f}", figures.recall()), fmt::format("{:.3f}", figures.f1())});
  }
  return table;
}

/// One row a class, one column a decision.
std::string confusionTable(const Evaluation &evaluation, const TableStyle &style) {
  std::vector<size_t> present = evaluation.confusion->present();
  std::vector<TableColumn> columns{textColumn("class \\ decision").shrink(12)};
  for (size_t index : present)
    columns.push_back(numberColumn(classText(evaluation, index)));
  Table table(columns);
  for (size_t label : present) {
    std::vector<TableCell> cells{classText(evaluation, label)};
    for (size_t decision : present)
      cells.push_back(std::to_string(evaluation.confusion->of(label, decision)));
    table.row(cells);
  }
  return table.str(style);
}

} // namespace

std::string evaluationText(const Evaluation &evaluation, const EvaluateJob &flags, const TableStyle &style) {
  std::string text;
  const lab::Summary &latency = evaluation.latency;
  const evaluate::Accuracy &accuracy = evaluation.accuracy;
  if (evaluation.confusion) {
    constexpr size_t mostColumns = 16;
    text += classTable(evaluation).str(style);
    if (evaluation.confusion->present().size() <= mostColumns)
      text += "\n" + confusionTable(evaluation, style);
    text += fmt::format("\ntop-1 {:.2f} %, top-5 {:.2f} % of {}\n", percent(accuracy.top1, accuracy.labelled),
                        percent(accuracy.top5, accuracy.labelled),
                        counted(static_cast<int64_t>(accuracy.labelled), "picture"));
  } else {
    text += fmt::format("{} without classes\n", counted(static_cast<int64_t>(evaluation.pictures), "picture"));
  }
  if (!flags.against.empty()) {
    text += fmt::format("decisions that {} changes: {} of {} ({:.2f} % agree)\n", flags.against, evaluation.changed,
                        evaluation.pictures, percent(evaluation.pictures - evaluation.changed, evaluation.pictures));
    if (const evaluate::Accuracy &other = evaluation.otherAccuracy; other.labelled)
      text += fmt::format("{}: top-1 {:.2f} %, top-5 {:.2f} %\n", flags.against, percent(other.top1, other.labelled),
                          percent(other.top5, other.labelled));
  }
  text += fmt::format("latency: median {}, p05 {}, p95 {}, p99 {}, max {}\n", secondsText(latency.median),
                      secondsText(latency.p05), secondsText(latency.p95), secondsText(latency.p99),
                      secondsText(latency.max));
  return text + evaluation.shown.rangeText() + skippedText(evaluation.skipped) + evaluation.kept;
}

json evaluationJson(const Evaluation &evaluation, const EvaluateJob &flags) {
  json document{{"model", flags.model.model},
                {"pictures", evaluation.pictures},
                {"latency", lab::toJson(evaluation.latency)},
                {"decisions", evaluation.decisions}};
  if (evaluation.confusion) {
    document["labelled"] = evaluation.accuracy.labelled;
    document["top1"] = evaluation.accuracy.top1;
    document["top5"] = evaluation.accuracy.top5;
    document["classes"] = cli::toJson(classTable(evaluation));
    json matrix = json::array();
    std::vector<size_t> present = evaluation.confusion->present();
    for (size_t label : present)
      for (size_t decision : present)
        if (size_t count = evaluation.confusion->of(label, decision))
          matrix.push_back({{"class", label}, {"decision", decision}, {"count", count}});
    document["confusion"] = matrix;
  }
  if (!flags.against.empty()) {
    document["against"] = flags.against;
    document["changed"] = evaluation.changed;
    if (evaluation.otherAccuracy.labelled) {
      document["other_top1"] = evaluation.otherAccuracy.top1;
      document["other_top5"] = evaluation.otherAccuracy.top5;
    }
  }
  document["pixel_range"] = evaluation.shown.pixelRange();
  document["skipped"] = skippedJson(evaluation.skipped);
  return document;
}

} // namespace lathe::cli
