// One convolution to be timed alone: the laboratory's first kind of problem, and the lists they come from.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::lab {

/// A two-dimensional fp32 convolution in logical order N, C, H, W; who runs it chooses the layout in memory.
struct ConvProblem {
  int64_t batch = 1, groups = 1;
  int64_t inChannels = 1, inHeight = 1, inWidth = 1;
  int64_t outChannels = 1, outHeight = 1, outWidth = 1;
  int64_t kernelHeight = 1, kernelWidth = 1, strideHeight = 1, strideWidth = 1;
  int64_t padTop = 0, padLeft = 0;               // padding below and to the right follows from the output's extents
  int64_t dilationHeight = 1, dilationWidth = 1; // 1: dense
  bool bias = true, relu = true;                 // fused: what nearly every convolution of a network has

  /// benchdnn's syntax, with its defaults (a width is the height's, stride 1, padding 0, dilation 0 for dense) but for
  /// a batch (`mb`) of 1: "ic64ih56oc64kh3ph1", "g32mb1ic32ih112oc32oh56kh3sh2ph1dh0". Underscores and a name
  /// (n"conv1") are skipped; a missing output extent is computed. Throws Error naming what is wrong.
  static ConvProblem parse(const std::string &text);
  /// The same syntax, everything that is not a default, so that equal problems have equal texts. Neither says bias and
  /// relu.
  std::string str() const;

  /// Padding needed below and to the right for the output's extents; never negative.
  int64_t padBottom() const;
  int64_t padRight() const;
  std::vector<int64_t> inputDims() const { return {batch, inChannels, inHeight, inWidth}; }
  std::vector<int64_t> weightDims() const { return {outChannels, inChannels / groups, kernelHeight, kernelWidth}; }
  std::vector<int64_t> outputDims() const { return {batch, outChannels, outHeight, outWidth}; }
  /// Nominal operations (a multiply-accumulate is two, padding counts).
  double flops() const;
  /// "3x3", "1x1", "depthwise", "strided" or "other": how results are grouped. The first two have stride 1, one group
  /// and no dilation; "strided" is every other stride.
  std::string kind() const;

  /// Throws Error unless all extents are positive and fit each other; `where` begins the message.
  void check(const std::string &where) const;
};

nlohmann::json toJson(const ConvProblem &problem);
/// Throws nlohmann::json::exception for missing fields, Error for extents that do not fit.
ConvProblem convProblemFromJson(const nlohmann::json &document);

/// A problem as a list has it. Equal problems of several layers or suites are one entry.
struct ListedProblem {
  ConvProblem problem;
  std::string name;                // the first one's
  std::vector<std::string> suites; // that have it
  int64_t count = 0;               // how often it occurs in them, together
};

/// Problems of a CSV list (columns of /shared/problems/conv2d.csv by name) whose suite is in `suites`: a name, or a
/// name with `*` at its end. Throws Error: no such file, a malformed line, a suite without problems (with those there
/// are).
std::vector<ListedProblem> readConvProblems(const std::string &path, const std::vector<std::string> &suites);

} // namespace lathe::lab
