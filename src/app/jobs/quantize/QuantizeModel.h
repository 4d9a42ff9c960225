// A float model to an int8 model in ONNX's QDQ form.
#pragma once

#include "jobs/Recording.h"
#include "jobs/samples/Samples.h"
#include "quantize/Quantize.h"

namespace lathe::jobs {

struct QuantizeJob {
  ModelOptions model;
  SampleOptions samples;
  quantize::Options quantization;
  RecordOptions record;
  Arguments command;                                       // of `lathe quantize`, as the store keeps them
  std::string output;                                      // file
  std::string method = "minmax", activationType = "uint8"; // words of `quantization`, for the store
  std::string biasCorrection = "measured", weights;
  std::vector<std::string> excluded;
};

struct Quantized {
  quantize::Report report;
  std::string kept; // Recording::line
};

/// Does the job and writes the file. Throws Error for a file or samples that do not fit the model.
Quantized quantizeModel(QuantizeJob job);

} // namespace lathe::jobs
