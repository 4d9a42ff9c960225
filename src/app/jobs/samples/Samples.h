// Samples for calibration and evaluation, from files, pictures or random numbers.
#pragma once

#include "jobs/samples/PictureOptions.h"
#include "runtime/Model.h"
#include "runtime/Tensor.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lathe::jobs {

struct SampleOptions {
  std::string path;  // path of a folder, CSV file or .npz file; "": random numbers
  int64_t most = 32; // largest number of samples
  int64_t crops = 0; // number of random crops in all from the pictures of the folder; 0: whole pictures
  uint64_t seed = 0; // seed of random numbers and crops
  PictureOptions pictures;
  std::vector<std::string> shapes; // extents of inputs, as ModelOptions::shapes
};

/// Loads samples: returns the inputs of each sample, one value per port. An .npz file has an array for every input,
/// with all samples one after the other along the first axis; arrays of classes beside them are ignored. In a folder,
/// its folders of classes, or the first column of a CSV file, each file is a sample: a picture or an .npy file for a
/// model with one input, an .npz file for any model. `progress` (may be empty) is called with the number of samples
/// that were read and the number of all samples. `names` (may be null) receives the file of each sample; it stays
/// empty for random numbers. Throws Error with the file if its content does not fit the ports.
std::vector<std::vector<Value>> loadSamples(std::span<const runtime::Port> ports, const SampleOptions &flags,
                                            const std::function<void(size_t, size_t)> &progress,
                                            std::vector<std::string> *names = nullptr);

} // namespace lathe::jobs
