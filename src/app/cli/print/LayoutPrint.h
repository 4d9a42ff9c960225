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
  std::string choice;             // value of --layout
  int level;                      // value of -O
  std::optional<double> clockGhz; // converts predicted cycles to time; nothing: another machine, no times
};

inline constexpr const char *layoutsHelp =
    "List the layout conversions that are left with their predicted costs, and every operator that keeps the layout of "
    "the model with the reason";

/// The report of a compilation by `flags`. `timed`: measures the clock if the package is for this machine.
LayoutReport layoutReport(const CompileReport &report, const ModelOptions &flags, bool timed);

/// The report as two tables, each after a line with its sum.
std::string layoutText(const LayoutReport &layouts, const TableStyle &style);
nlohmann::json layoutJson(const LayoutReport &layouts);
/// A conversion as text: "conv1: FROM -> TO for pool1 (max_pool), 4096 bytes, 812 cycles predicted".
std::string conversionText(const LayoutConversion &conversion);

} // namespace lathe::cli
