// Which features of problems and schedules the times follow.
#pragma once

#include "report/Rows.h"

#include <map>
#include <span>

namespace lathe::report {

/// Pearson's coefficient of two lists of equal length; none for fewer than three values or where one is constant.
std::optional<double> pearson(std::span<const double> x, std::span<const double> y);
/// Spearman's: Pearson's of the ranks, equal values sharing the mean of theirs.
std::optional<double> spearman(std::span<const double> x, std::span<const double> y);
/// From 1; equal values share the mean of their ranks.
std::vector<double> ranks(std::span<const double> values);

/// What a row's time may follow, by name: threads, input_elements, output_elements, in_channels, out_channels,
/// kernel_area, flops, bytes, flops_per_byte, and every numeric parameter of its schedule ("direct px", "winograd m",
/// ...) where the implementation is one. Only what is known.
std::map<std::string, double> featuresOf(const Row &row);

struct Correlation {
  std::string context; // platform where there are several, operator, provider
  std::string feature;
  size_t points = 0;
  std::optional<double> pearson; // of the logarithms, over the points whose feature is positive
  std::optional<double> spearman;
};

/// Of times with each feature that varies, over the rows of one operator and provider (and platform, kind and state of
/// the caches). At least three points.
std::vector<Correlation> correlations(const std::vector<Row> &rows);

nlohmann::json toJson(const Correlation &correlation);

} // namespace lathe::report
