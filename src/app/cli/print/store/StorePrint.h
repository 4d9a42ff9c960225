// Text and JSON of `lathe store`.
#pragma once

#include "cli/flags/Options.h"
#include "store/Store.h"

namespace lathe::cli {

/// "name #tag #tag: note", what there is of it; "" without labels.
std::string labelText(const store::Labels &labels);

/// Experiments as a table and as JSON, one row each.
struct ListedExperiments {
  Table table;
  nlohmann::json documents = nlohmann::json::array();

  ListedExperiments();
  void add(const store::ExperimentSummary &summary, const store::Labels &labels);
};

/// Points of one experiment as a table and as JSON with their times, one row each.
struct ListedPoints {
  Table table;
  nlohmann::json documents = nlohmann::json::array();

  ListedPoints();
  void add(const store::Point &point, bool document); // `document`: also as JSON
};

/// When, how and where an experiment was measured, with its labels and those of its platform.
std::string experimentText(const store::Experiment &e, const store::Platform &platform,
                           const std::vector<store::Label> &labels);

} // namespace lathe::cli
