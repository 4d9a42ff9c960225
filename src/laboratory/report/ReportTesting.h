// Hand-made rows of measurements for tests of reports.
#pragma once

#include "report/Rows.h"

#include <gtest/gtest.h>

namespace lathe::report {

/// The text of a convolution problem for tests: 3x3, with an input of `batch` x `in` x 8 x 8 and `out` output
/// channels.
inline std::string convText(int in, int out, int batch = 1) {
  return lab::Problem::parse(fmt::format("conv x={}x{}x8x8 w={}x{}x3x3:const strides=1,1 dilations=1,1 pads=1,1,1,1",
                                         batch, in, out, in))
      .str();
}

/// A test experiment of the kind given on platform "p", with these settings.
inline store::Experiment ofKind(store::ExperimentKind kind, nlohmann::json settings = nlohmann::json::object()) {
  store::Experiment experiment;
  experiment.kind = kind;
  experiment.platform = "p";
  experiment.settings = std::move(settings);
  return experiment;
}

/// A test row in which every sample takes `seconds`; 0: a failed row.
inline Row rowOf(const std::string &problem, const std::string &provider, double seconds, int threads = 1,
                 const std::string &experiment = "e") {
  store::Point point;
  point.experiment = experiment;
  point.problem.op = problem.substr(0, problem.find(' '));
  point.problem.text = problem;
  size_t colon = provider.find(':');
  point.provider = provider.substr(0, colon);
  point.variant = colon == provider.npos ? "" : provider.substr(colon + 1);
  point.setting.threads = threads;
  point.measured = "2026-01-01T00:00:00.000000Z";
  point.repro = "lathe ops bench";
  if (seconds > 0) {
    point.status = store::PointStatus::passed;
    store::Sample sample;
    sample.wallNs = std::llround(seconds * 1e9);
    point.starts.assign(6, 2); // enough for a verdict
    point.rounds.assign(12, {sample, sample});
  } else {
    point.status = store::PointStatus::failed;
    point.reason = "wrong";
  }
  return rowOf(point, ofKind(store::ExperimentKind::ops));
}

} // namespace lathe::report
