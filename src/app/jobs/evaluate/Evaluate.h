// Decisions of a classifier on pictures and arrays, beside their classes and beside the decisions of another model.
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
  Arguments command;              // of `lathe evaluate`, as the store keeps them
  std::string against, confusion; // the other model, package or runtime; the file of a picture; "": none
  uint64_t seed = 0;              // of random crops
};

struct Evaluation {
  std::vector<std::string> labels, names; // of the classes; `names` are short
  std::optional<evaluate::Confusion> confusion;
  evaluate::Accuracy accuracy, otherAccuracy;
  size_t pictures = 0, changed = 0;
  nlohmann::json decisions = nlohmann::json::array();
  lab::Summary latency; // of our package, in seconds
  std::vector<evaluate::SkippedFile> skipped;
  PictureOptions shown; // as the models got the pictures
  std::string kept;     // Recording::line
};

/// Does the job and writes the picture of the confusion matrix. Throws Error with the place for samples that the model cannot take.
Evaluation evaluatePictures(const EvaluateJob &job);

} // namespace lathe::jobs
