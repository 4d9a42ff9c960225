// The job of `lathe evaluate`: a classifier's decisions on pictures and arrays, compared with the known classes and
// with the decisions of another model.
#pragma once

#include "evaluate/Decisions.h"
#include "jobs/Recording.h"
#include "jobs/samples/PictureOptions.h"
#include "jobs/samples/Pictures.h"
#include "lab/judging/Statistics.h"

namespace lathe::jobs {

struct EvaluateJob {
  ModelOptions model;
  PictureOptions pictures;
  DataOptions data;
  RecordOptions record;
  Arguments command; // command line of `lathe evaluate` as the store records it
  // name of another model, package or runtime to compare with; file for a picture of the confusion matrix; "": none
  std::string against, confusion;
  uint64_t seed = 0; // seed of the random crops
};

struct Evaluation {
  std::vector<std::string> labels, names; // labels of the classes and their short names
  std::optional<evaluate::Confusion> confusion;
  evaluate::Accuracy accuracy, otherAccuracy;
  size_t pictures = 0, changed = 0;
  nlohmann::json decisions = nlohmann::json::array();
  lab::Summary latency; // latency of our package, in seconds
  std::vector<evaluate::SkippedFile> skipped;
  PictureOptions shown; // how the pictures were prepared for the models
  std::string kept;     // line that says where the results were stored (Recording::line)
};

/// Classifies the samples, and writes the picture of the confusion matrix. Throws Error with the place in the job for
/// samples that the model cannot take.
Evaluation evaluatePictures(const EvaluateJob &job);

} // namespace lathe::jobs
