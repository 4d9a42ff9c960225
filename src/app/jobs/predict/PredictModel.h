// The job of `lathe predict`: the latency of a model from predictions, without running it.
#pragma once

#include "compile/predict/Predict.h"
#include "jobs/ModelOptions.h"
#include "predict/Latency.h"

namespace lathe::jobs {

struct PredictJob {
  ModelOptions model;
  std::string points; // archive to learn from; "": the shipped one for the kind of machine
};

struct PredictedModel {
  PlanPrediction plan;
  std::vector<size_t> kernels;          // indices of the instructions whose cycles are predicted
  std::vector<std::string> unpredicted; // what else runs: "2 nms", "a loop"
  double clockHz = 0;                   // 0: unknown, so the times below are 0, too
  /// Without points of the kind of machine: the times of the cost model alone.
  predict::Latency latency;
  double costModelSeconds = 0;
  double peakSeconds = 0;    // all operations at the peak of fp32
  bool machineKnown = false; // points of this kind of machine were used
  std::string pointsFile;    // name of the archive for this kind of machine
  std::string basis;         // what the prediction and its interval follow from, as a sentence

  double cycles() const; // of the cost model, streams included
};

/// Predicts a run with the clock of the machine's facts. Nothing is run or measured.
PredictedModel predictModel(const PredictJob &job);

} // namespace lathe::jobs
