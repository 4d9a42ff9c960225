#include "cli/print/ExplainPrint.h"

#include "support/Text.h"

namespace lathe::cli {
namespace {

using nlohmann::json;

std::string cyclesText(double cycles) { return fmt::format("{:.0f}", cycles); }

json candidateJson(const Candidate &candidate) {
  return {{"schedule", candidate.schedule.str()}, {"chosen", candidate.chosen},
          {"prior", candidate.byPrior},           {"rule", candidate.byRule},
          {"model", candidate.byModel},           {"predicted", predictionJson(candidate.prediction)}};
}

json algorithmJson(const ExploredAlgorithm &explored) {
  json declined = json::array();
  for (const DeclinedPoints &entry : explored.declined)
    declined.push_back({{"constraint", entry.constraint->id},
                        {"text", entry.constraint->text},
                        {"points", entry.points},
                        {"example", entry.example},
                        {"reason", entry.reason}});
  return {{"algorithm", explored.algorithm->str()}, {"points", explored.size.points}, {"tried", explored.size.tried},
          {"sampled", explored.size.sampled},       {"legal", explored.size.legal},   {"declined", declined}};
}

const Candidate &chosenOf(const KernelExplanation &kernel) {
  for (const Candidate &candidate : kernel.best)
    if (candidate.chosen)
      return candidate;
  throw std::logic_error("an explanation without the chosen schedule");
}

/// Who chooses the candidate: "prior, compiler". The rule's and the model's schedule are named "prior" if the prior
/// takes them, and otherwise by their own names.
std::string choiceOf(const Candidate &candidate) {
  std::string name = candidate.byPrior ? "prior" : candidate.byRule ? "rule" : candidate.byModel ? "model" : "";
  return name + (name.empty() || !candidate.chosen ? "" : ", ") + (candidate.chosen ? "compiler" : "");
}

std::string candidatesTable(const KernelExplanation &kernel, const TableStyle &style) {
  const std::vector<double> &levels = chosenOf(kernel).prediction.levels;
  std::vector<TableColumn> columns = {textColumn("schedule").shrink(44), numberColumn("", "cycles"),
                                      textColumn("bound by"), textColumn("choice of"), numberColumn("compute").drop(1)};
  for (size_t i = 0; i < levels.size(); ++i)
    columns.push_back(numberColumn(chosenOf(kernel).prediction.levelName(i)).drop(2));
  columns.push_back(numberColumn("start").drop(3));
  columns.push_back(numberColumn("fork and join").drop(4));
  Table table(std::move(columns));
  for (const Candidate &candidate : kernel.best) {
    const Prediction &prediction = candidate.prediction;
    std::vector<TableCell> cells = {candidate.schedule.str(), cyclesText(prediction.total()), prediction.bound(),
                                    choiceOf(candidate), cyclesText(prediction.compute)};
    for (size_t i = 0; i < levels.size(); ++i)
      cells.push_back(cyclesText(i < prediction.levels.size() ? prediction.levels[i] : 0));
    cells.push_back(cyclesText(prediction.start));
    cells.push_back(cyclesText(prediction.forkJoin));
    table.row(std::move(cells));
  }
  return table.str(style);
}

std::string algorithmsTable(const KernelExplanation &kernel, const TableStyle &style) {
  Table table({textColumn("algorithm"), numberColumn("points"), numberColumn("tried"), numberColumn("legal")});
  for (const ExploredAlgorithm &explored : kernel.algorithms)
    table.row({explored.algorithm->str(), fmt::format("{:.10g}", explored.size.points),
               fmt::format("{}{}", explored.size.tried, explored.size.sampled ? " at random" : ""),
               std::to_string(explored.size.legal)});
  return table.str(style);
}

std::string declinedTable(const KernelExplanation &kernel, const TableStyle &style) {
  Table table({textColumn("algorithm"), numberColumn("declined"), textColumn("constraint").shrink(20),
               textColumn("for example").shrink(20), textColumn("schedule").drop(1).shrink(16)});
  for (const ExploredAlgorithm &explored : kernel.algorithms)
    for (const DeclinedPoints &entry : explored.declined)
      table.row({explored.algorithm->str(), std::to_string(entry.points), entry.constraint->text, entry.reason,
                 entry.example});
  return table.rowCount() ? table.str(style) : "none was declined\n";
}

} // namespace

json predictionJson(const Prediction &prediction) {
  json levels = json::array();
  for (size_t i = 0; i < prediction.levels.size(); ++i)
    levels.push_back({{"level", prediction.levelName(i)}, {"cycles", prediction.levels[i]}});
  return {{"cycles", prediction.total()},         {"bound", prediction.bound()},
          {"compute_cycles", prediction.compute}, {"levels", levels},
          {"start_cycles", prediction.start},     {"fork_join_cycles", prediction.forkJoin}};
}

json explanationJson(const ModelOptions &model, const ExplainedNode &explained) {
  const Explanation &explanation = explained.explanation;
  json document = {{"model", model.model},     {"target", explained.target},   {"threads", model.threads},
                   {"node", explanation.node}, {"answer", explanation.answer}, {"kernel", nullptr}};
  if (!explanation.kernel)
    return document;
  const KernelExplanation &kernel = *explanation.kernel;
  json best = json::array(), algorithms = json::array();
  for (const Candidate &candidate : kernel.best)
    best.push_back(candidateJson(candidate));
  for (const ExploredAlgorithm &explored : kernel.algorithms)
    algorithms.push_back(algorithmJson(explored));
  document["kernel"] = {{"name", kernel.kernel},
                        {"nodes", kernel.nodes},
                        {"family", kernel.family},
                        {"task", kernel.task},
                        {"open_extents", kernel.openExtents},
                        {"origin", kernel.origin},
                        {"chosen", candidateJson(chosenOf(kernel))},
                        {"rank", kernel.rank},
                        {"candidates", kernel.candidates},
                        {"variations", kernel.variations},
                        {"best", best},
                        {"algorithms", algorithms}};
  return document;
}

std::string explanationText(const Explanation &explanation, const TableStyle &style) {
  std::string text = printable(fmt::format("{}: {}", explanation.node, explanation.answer)) + "\n";
  if (!explanation.kernel)
    return text;
  const KernelExplanation &kernel = *explanation.kernel;
  const Candidate &chosen = chosenOf(kernel);
  text += printable(kernel.task) + "\n";
  text += fmt::format("chosen by {}: {}\n", printable(kernel.origin), chosen.schedule.str());
  text +=
      fmt::format("predicted {} core cycles, bound by {}; of {} legal schedules {} are predicted to be faster\n",
                  cyclesText(chosen.prediction.total()), chosen.prediction.bound(), kernel.candidates, kernel.rank - 1);
  if (kernel.openExtents)
    text += "extents that are known at run time only count as 1\n";
  text += fmt::format("\nbest candidates, without parameters at their defaults\n{}\n", candidatesTable(kernel, style));
  int64_t tried = 0, legal = 0;
  for (const ExploredAlgorithm &explored : kernel.algorithms) {
    tried += explored.size.tried;
    legal += explored.size.legal;
  }
  text += fmt::format("schedules tried: {} of {} are legal; {} more that differ from the chosen one in one parameter\n"
                      "{}\n",
                      legal, tried, kernel.variations, algorithmsTable(kernel, style));
  return text + "declined\n" + declinedTable(kernel, style);
}

} // namespace lathe::cli
