// The job of `lathe quantize`: converts a float model to an int8 model in ONNX's QDQ form (QuantizeLinear and
// DequantizeLinear).
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
  Arguments command;                                       // command line of `lathe quantize` as the store records it
  std::string output;                                      // path of the file to write
  std::string method = "minmax", activationType = "uint8"; // choices in `quantization` as words, for the store
  std::string biasCorrection = "measured", weights;
  std::vector<std::string> excluded;
};

struct Quantized {
  quantize::Report report;
  std::string kept; // line that says where the results were stored (Recording::line)
};

/// Quantizes the model and writes the file. Throws Error for a file that cannot be read or for samples that do not fit
/// the model.
Quantized quantizeModel(QuantizeJob job);

} // namespace lathe::jobs
