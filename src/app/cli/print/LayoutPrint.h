// The layout report: remaining conversions, their cost, and operators that keep the layout of the model.
#pragma once

#include "cli/flags/ModelFlags.h"
#include "compile/Compile.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace lathe::cli {

struct LayoutReport {
  const CompileReport &report;
  std::string choice; // layout that the user chose with --layout
  int level;          // level that the user chose with -O
  // converts predicted cycles to time; nothing: the package is for another machine, so no times
  std::optional<double> clockGhz;
};

inline constexpr const char *layoutsHelp =
    "List the layout conversions that are left with their predicted costs, and every operator that keeps the layout of "
    "the model with the reason";

/// Makes the layout report of a compilation by `flags`. `timed`: measures the clock if the package is for this
/// machine.
LayoutReport layoutReport(const CompileReport &report, const ModelOptions &flags, bool timed);

/// The layout report as two tables, each after a line with its sum.
std::string layoutText(const LayoutReport &layouts, const TableStyle &style);
nlohmann::json layoutJson(const LayoutReport &layouts);
/// A layout conversion as text: "conv1: FROM -> TO for pool1 (max_pool), 4096 bytes, 812 cycles predicted".
std::string conversionText(const LayoutConversion &conversion);

} // namespace lathe::cli
