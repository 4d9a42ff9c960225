// Correlations of times with features of problems and schedules.
#pragma once

#include "report/Rows.h"

#include <map>
#include <span>

namespace lathe::report {

/// Pearson's coefficient of two lists of equal length; nothing for lists of fewer than three values and for constant
/// lists.
std::optional<double> pearson(std::span<const double> x, std::span<const double> y);
/// Spearman's coefficient of two lists: Pearson's coefficient of the ranks.
std::optional<double> spearman(std::span<const double> x, std::span<const double> y);
/// The rank of each value in the list, from 1; equal values share the mean of their ranks.
std::vector<double> ranks(std::span<const double> values);

/// Known features of a row by name: threads, input_elements, output_elements, in_channels,
/// out_channels, kernel_area, flops, bytes, flops_per_byte, and every numeric parameter of its
/// schedule ("direct px", "winograd m", ...) if the implementation is a schedule.
std::map<std::string, double> featuresOf(const Row &row);

struct Correlation {
  std::string context; // operator and provider of the rows; also the platform if there are several
  std::string feature;
  size_t points = 0;
  std::optional<double> pearson; // Pearson's coefficient of logarithms, over the points where the feature is positive
  std::optional<double> spearman;
};

/// Correlations of times with each feature that varies, for each operator, provider, platform, kind of experiment and
/// cache state with three points or more.
std::vector<Correlation> correlations(const std::vector<Row> &rows);

nlohmann::json toJson(const Correlation &correlation);

} // namespace lathe::report
