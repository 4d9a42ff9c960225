// Flags of `lathe quantize`.
#pragma once

#include "cli/flags/RunFlags.h"
#include "jobs/quantize/QuantizeModel.h"

namespace lathe::cli {

/// The flags of `lathe quantize`: the job, and values that are turned into it after parsing.
struct QuantizeFlags {
  QuantizeJob job;
  bool perTensor = false;
  std::optional<int64_t> block;

  void add(Options &options);

private:
  void addCalibration(Options &options);
  void addWeights(Options &options);
  void addWeightsAlone(Options &options);
  void readWeights(Options &options);
};

} // namespace lathe::cli
