#include "cli/print/measure/EvaluatePrint.h"

#include "support/Text.h"

namespace lathe::cli {

using nlohmann::json;

namespace {

double percent(size_t part, size_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Table classTable(const Evaluation &evaluation) {
  Table table({textColumn("class").shrink(12), numberColumn("pictures"), numberColumn("decided"), numberColumn("right"),
               numberColumn("precision"), numberColumn("recall"), numberColumn("F1")});
  for (size_t index : evaluation.confusion->present()) {
    evaluate::ClassFigures figures = evaluation.confusion->figures(index);
    table.row({className(evaluation.names, index), std::to_string(figures.count), std::to_string(figures.decided),
               std::to_string(figures.right), fmt::format("{:.3f}", figures.precision()),
               fmt::format("{:.3f}", figures.recall()), fmt::format("{:.3f}", figures.f1())});
  }
  return table;
}

} // namespace

std::string className(const std::vector<std::string> &names, size_t index) {
  return index < names.size() ? printable(names[index]) : std::to_string(index);
}

Table confusionTable(const evaluate::Confusion &confusion, const std::vector<std::string> &names, TableColumn corner) {
  std::vector<size_t> present = confusion.present();
  std::vector<TableColumn> columns{std::move(corner)};
  for (size_t decision : present)
    columns.push_back(numberColumn(className(names, decision)));
  Table table(columns);
  for (size_t label : present) {
    std::vector<TableCell> cells{className(names, label)};
    for (size_t decision : present)
      cells.emplace_back(std::to_string(confusion.of(label, decision)));
    table.row(cells);
  }
  return table;
}

std::string evaluationText(const Evaluation &evaluation, const EvaluateJob &flags, const TableStyle &style) {
  std::string text;
  const lab::Summary &latency = evaluation.latency;
  const evaluate::Accuracy &accuracy = evaluation.accuracy;
  if (evaluation.confusion) {
    constexpr size_t mostColumns = 16;
    text += classTable(evaluation).str(style);
    if (evaluation.confusion->present().size() <= mostColumns)
      text += "\n" + confusionTable(*evaluation.confusion, evaluation.names, textColumn("class \\ decision").shrink(12))
                         .str(style);
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
